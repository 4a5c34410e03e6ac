"""What a probe rests on: the objects around the node, its agent's Lease and its peers', its templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodemend.api.group_versions import LEASE, SELF_REMEDIATION_TEMPLATE
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.lease import Lease
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.self_remediation import SelfRemediationTemplate
from nodemend.cli.agents import AgentSeen, read_agent
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.node_case import NodeCase, gather_case
from nodemend.cli.self_fencing import is_of_self_fencing
from nodemend.controllers.fresh_reads import project
from nodemend.decide.facts import Present, Seen


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    case: NodeCase
    node: Node
    agent: Seen[AgentSeen]
    peers: Mapping[str, Seen[AgentSeen]] = field(default_factory=dict)
    templates: Mapping[TemplateReference, Seen[SelfRemediationTemplate]] = field(default_factory=dict)
    """Those of self-fencing that its check names."""

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
    return ProbeFacts(
        case,
        node,
        agent,
        peers={peer: await _agent_of(cluster, peer) for peer in names},
        templates=await _templates(cluster, case),
    )


async def _agent_of(cluster: Cluster, node: str) -> Seen[AgentSeen]:
    found = await cluster.find(LEASE, node, Lease, AGENT_NAMESPACE)
    return project(found, lambda lease: read_agent(lease, cluster.now))


async def _templates(
    cluster: Cluster, case: NodeCase
) -> dict[TemplateReference, Seen[SelfRemediationTemplate]]:
    check = next(iter(case.checks), None)
    named = [remedy.template for remedy in check.spec.remedies] if check is not None else []
    return {
        one: await cluster.find(SELF_REMEDIATION_TEMPLATE, one.name, SelfRemediationTemplate, one.namespace)
        for one in named
        if is_of_self_fencing(one)
    }
