"""What a probe rests on: the objects around the node, its agent's Lease and its peers', its templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from nodemend.api.group_versions import (
    LEASE,
    MANUAL_REMEDIATION_TEMPLATE,
    METAL3_REMEDIATION_TEMPLATE,
    SELF_REMEDIATION_TEMPLATE,
    Resource,
)
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import ManualRemediationTemplate
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.power_cycle import Metal3RemediationTemplate
from nodemend.api.self_remediation import SelfRemediationTemplate
from nodemend.cli.agents import AgentSeen, read_agent
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.node_case import NodeCase, gather_case
from nodemend.cli.self_fencing import is_of_self_fencing
from nodemend.controllers.fresh_reads import project
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

AnyTemplate = ManualRemediationTemplate | Metal3RemediationTemplate | SelfRemediationTemplate
_OURS: Final[dict[Resource, type[AnyTemplate]]] = {
    MANUAL_REMEDIATION_TEMPLATE: ManualRemediationTemplate,
    METAL3_REMEDIATION_TEMPLATE: Metal3RemediationTemplate,
    SELF_REMEDIATION_TEMPLATE: SelfRemediationTemplate,
}


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    case: NodeCase
    node: Node
    agent: Seen[AgentSeen]
    peers: Mapping[str, Seen[AgentSeen]] = field(default_factory=dict)
    templates: Mapping[TemplateReference, Seen[SelfRemediationTemplate]] = field(default_factory=dict)
    """Those of self-fencing that its check names."""
    absent: frozenset[TemplateReference] = frozenset()
    """Those of our kinds that its check names, and that are not there."""

    @property
    def check(self) -> NodeHealthCheck | None:
        """The one that has it."""
        return next(iter(self.case.checks), None)


async def gather(cluster: Cluster, name: str) -> ProbeFacts:
    """Writes nothing. Raises CommandFailure where there is no such node, or it may not be seen."""
    case = await gather_case(cluster, name)
    node = must_have(case.node, f"node {name}")
    agent = project(case.agent, lambda lease: read_agent(lease, case.now))
    names = agent.value.peers if isinstance(agent, Present) else ()
    named = await _named(cluster, case)
    return ProbeFacts(
        case,
        node,
        agent,
        peers={peer: await _agent_of(cluster, peer) for peer in names},
        templates=_of_self_fencing(named),
        absent=frozenset(one for one, seen in named.items() if isinstance(seen, Absent)),
    )


async def _agent_of(cluster: Cluster, node: str) -> Seen[AgentSeen]:
    found = await cluster.find(LEASE, node, Lease, AGENT_NAMESPACE)
    return project(found, lambda lease: read_agent(lease, cluster.now))


async def _named(cluster: Cluster, case: NodeCase) -> dict[TemplateReference, Seen[AnyTemplate]]:
    """The templates of our kinds that its check names."""
    check = next(iter(case.checks), None)
    named = [remedy.template for remedy in check.spec.remedies] if check is not None else []
    return {
        one: await cluster.find(resource, one.name, kind, one.namespace)
        for one in named
        for resource, kind in _OURS.items()
        if (one.kind, one.api_version.partition("/")[0]) == (resource.kind, resource.group)
    }


def _of_self_fencing(
    named: Mapping[TemplateReference, Seen[AnyTemplate]],
) -> dict[TemplateReference, Seen[SelfRemediationTemplate]]:
    found: dict[TemplateReference, Seen[SelfRemediationTemplate]] = {}
    for one, seen in named.items():
        match seen:
            case Present(SelfRemediationTemplate() as template):
                found[one] = Present(template)
            case Absent() | Unreadable() if is_of_self_fencing(one):
                found[one] = seen
            case _:
                pass
    return found
