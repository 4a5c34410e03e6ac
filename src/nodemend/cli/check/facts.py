"""Reads the facts of `kubectl mend check`. Writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import (
    ADMISSION_BINDING,
    ADMISSION_POLICY,
    LEASE,
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.api.self_remediation import SelfRemediationTemplate
from nodemend.api.upstream_types import Lease
from nodemend.cli.agents import AgentInfo, is_of_self_fencing, list_agents
from nodemend.cli.cluster import (
    Cluster,
    LeaderView,
    ServedResources,
    ServerVersion,
    ask_served,
    ask_version,
    must_have,
    read_leaders,
)
from nodemend.cli.listing import AnyRemediation, all_remediations
from nodemend.guard.policies import PolicySeen
from nodemend.guard.policy_fingerprint import fingerprint_binding, fingerprint_policy
from nodemend.health.remediation_index import NotServed, find_kind, template_kind
from nodemend.kube.outcome import Acknowledged
from nodemend.kube.request import Selection
from nodemend.records.live_reads import project
from nodemend.records.node import NodeRecord, NodeWire, node_records
from nodemend.safety.facts import Absent, Present, ReadResult

_NONE: Final = Absent()


Templates = Mapping[TemplateReference, ReadResult[object] | NotServed]
"""The templates that checks name, each with the result of reading it."""


@dataclass(frozen=True, slots=True)
class CheckCommandFacts:
    """All facts, read one after another; `now` is the API server's clock at the end."""

    server: ServerVersion
    served: ReadResult[frozenset[str]]
    policies: ReadResult[Mapping[str, PolicySeen]]
    bindings: ReadResult[Mapping[str, str]]
    """Admission policies, and fingerprints of their bindings, both by name."""
    caller: str
    abilities: Mapping[str, bool]
    leaders: Sequence[LeaderView]
    policy: ReadResult[RemediationPolicy]
    checks: ReadResult[list[NodeHealthCheck]]
    templates: Templates
    nodes: ReadResult[list[NodeRecord]]
    remediations: ReadResult[list[AnyRemediation]]
    locks: ReadResult[list[Lease]]
    system_namespace: str
    now: datetime
    agents: ReadResult[list[AgentInfo]] = _NONE
    """The agent Leases of the nodes."""


ABILITIES: Final = {
    "view": (("list", NODE_HEALTH_CHECK), ("list", MANUAL_REMEDIATION), ("list", NODE), ("get", LEASE)),
    "pause": (("patch", REMEDIATION_POLICY),),
    "stop": (("delete", MANUAL_REMEDIATION),),
    "run": (("create", REMEDIATION_ORDER),),
    "override": (("create", REMEDIATION_ORDER), ("override", REMEDIATION_ORDER)),
    "confirm": (("patch", MANUAL_REMEDIATION), ("confirm", MANUAL_REMEDIATION)),
    "configure": (("patch", REMEDIATION_POLICY), ("configure", REMEDIATION_POLICY)),
}
"""Actions that users may take with Nodemend, and the rights that each of them needs."""


async def gather(cluster: Cluster) -> CheckCommandFacts:
    # Read the version first: without it there is no cluster, or it does not know the caller.
    server = must_have(await cluster.ask(ask_version(), ServerVersion), "version of the API server")
    checks = await cluster.all(NODE_HEALTH_CHECK, NodeHealthCheck)
    namespace = cluster.system_namespace
    return CheckCommandFacts(
        server=server,
        served=project(
            await cluster.ask(ask_served(NODE_HEALTH_CHECK), ServedResources),
            lambda served: frozenset(one.name for one in served.resources),
        ),
        policies=project(
            await cluster.all(ADMISSION_POLICY, AdmissionPolicy),
            lambda all_: {one.metadata.name: fingerprint_policy(one, namespace) for one in all_},
        ),
        bindings=project(
            await cluster.all(ADMISSION_BINDING, AdmissionBinding),
            lambda all_: {one.metadata.name: fingerprint_binding(one, namespace) for one in all_},
        ),
        caller=await cluster.caller(),
        abilities={
            ability: all([await cluster.may(verb, resource) for verb, resource in rights])
            for ability, rights in ABILITIES.items()
        },
        leaders=await read_leaders(cluster),
        policy=await cluster.policy(),
        checks=checks,
        templates=await _templates(cluster, checks.value if isinstance(checks, Present) else []),
        nodes=project(await cluster.all(NODE, NodeWire), _records),
        # Read before the remediations: no marker that is read here can belong to a remediation created after
        # that list.
        agents=await list_agents(cluster),
        remediations=await all_remediations(cluster),
        locks=await cluster.all(LEASE, Lease, Selection(namespace=namespace)),
        system_namespace=namespace,
        now=cluster.now,
    )


async def _templates(cluster: Cluster, checks: list[NodeHealthCheck]) -> Templates:
    """Read each template once."""
    found: dict[TemplateReference, ReadResult[object] | NotServed] = {}
    for check in checks:
        for template in check.spec.templates:
            if template not in found:
                found[template] = await _read_template(cluster, template)
    return found


async def _read_template(cluster: Cluster, template: TemplateReference) -> ReadResult[object] | NotServed:
    kind = await find_kind(cluster.reader.client, template_kind(template), cluster.reader.deadline)
    if isinstance(kind, NotServed):
        return kind
    # Of a self-fencing template the content matters; of any other kind only the existence.
    wire = SelfRemediationTemplate if is_of_self_fencing(template) else Acknowledged
    return await cluster.find(kind.template, template.name, wire, template.namespace)


def _records(wires: list[NodeWire]) -> list[NodeRecord]:
    record = node_records().project
    return [record(wire, None) for wire in wires]
