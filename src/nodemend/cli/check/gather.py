"""Reads what `kubectl mend check` looks at. Writes nothing."""

from typing import Final

from nodemend.api import keys
from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy
from nodemend.api.group_versions import (
    ADMISSION_BINDING,
    ADMISSION_POLICY,
    LEASE,
    MANUAL_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from nodemend.api.lease import Lease
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.self_remediation import SelfRemediationTemplate
from nodemend.cli.agents import list_agents
from nodemend.cli.check.facts import (
    CallerFacts,
    CheckFacts,
    ClusterFacts,
    Templates,
)
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.leaders import look_at_leaders
from nodemend.cli.remediations import all_remediations
from nodemend.cli.reviews import ServedResources, ServerVersion, ask_served, ask_version
from nodemend.cli.self_fencing import is_of_self_fencing
from nodemend.controllers.checking.remedies import Asked, NotServed
from nodemend.controllers.checking.remedy_watch import find_kind
from nodemend.controllers.fresh_reads import project
from nodemend.decide.facts import Present, Seen
from nodemend.kube.api_outcome import Acknowledged
from nodemend.kube.api_request import Selection
from nodemend.kube.node_record import NodeRecord, NodeWire, node_records
from nodemend.kube.policy_fingerprint import fingerprint_binding, fingerprint_policy

ABILITIES: Final = {
    "view": (("list", NODE_HEALTH_CHECK), ("list", MANUAL_REMEDIATION), ("list", NODE), ("get", LEASE)),
    "pause": (("patch", REMEDIATION_POLICY),),
    "stop": (("delete", MANUAL_REMEDIATION),),
    "run": (("create", REMEDIATION_ORDER),),
    "override": (("create", REMEDIATION_ORDER), ("override", REMEDIATION_ORDER)),
    "confirm": (("patch", MANUAL_REMEDIATION), ("confirm", MANUAL_REMEDIATION)),
    "configure": (("patch", REMEDIATION_POLICY), ("configure", REMEDIATION_POLICY)),
}
"""What people may do with Nodemend, and the rights that each of it takes."""


async def gather(cluster: Cluster) -> CheckFacts:
    # The version first: whoever cannot read even that has no cluster, or no name in it.
    server = must_have(await cluster.ask(ask_version(), ServerVersion), "version of the API server")
    checks = await cluster.all(NODE_HEALTH_CHECK, NodeHealthCheck)
    namespace = cluster.system_namespace
    return CheckFacts(
        cluster=ClusterFacts(
            server=server,
            served=project(await cluster.ask(ask_served(NODE_HEALTH_CHECK), ServedResources), _names),
            policies=project(
                await cluster.all(ADMISSION_POLICY, AdmissionPolicy),
                lambda all_: {one.metadata.name: fingerprint_policy(one, namespace) for one in all_},
            ),
            bindings=project(
                await cluster.all(ADMISSION_BINDING, AdmissionBinding),
                lambda all_: {one.metadata.name: fingerprint_binding(one, namespace) for one in all_},
            ),
        ),
        caller=await _caller(cluster),
        leaders=await look_at_leaders(cluster),
        policy=await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy),
        checks=checks,
        templates=await _templates(cluster, checks.value if isinstance(checks, Present) else []),
        nodes=project(await cluster.all(NODE, NodeWire), _records),
        # Before the remediations: whose marker is seen is seen, too.
        agents=await list_agents(cluster),
        remediations=await all_remediations(cluster),
        locks=await cluster.all(LEASE, Lease, Selection(namespace=namespace)),
        system_namespace=namespace,
        now=cluster.now,
    )


async def _caller(cluster: Cluster) -> CallerFacts:
    name = await cluster.caller()
    abilities = {}
    for ability, rights in ABILITIES.items():
        abilities[ability] = all([await cluster.may(verb, resource) for verb, resource in rights])
    return CallerFacts(name, abilities)


async def _templates(cluster: Cluster, checks: list[NodeHealthCheck]) -> Templates:
    """Each once."""
    found: dict[TemplateReference, Seen[object] | NotServed] = {}
    for check in checks:
        for template in check.spec.templates:
            if template not in found:
                found[template] = await _template(cluster, template)
    return found


async def _template(cluster: Cluster, template: TemplateReference) -> Seen[object] | NotServed:
    asked = Asked(template.api_version, template.kind)
    kind = await find_kind(cluster.reader.client, asked, cluster.reader.deadline)
    if isinstance(kind, NotServed):
        return kind
    # Of ours it matters what they accept; of any other only that it is there.
    wire = SelfRemediationTemplate if is_of_self_fencing(template) else Acknowledged
    return await cluster.find(kind.template, template.name, wire, template.namespace)


def _names(served: ServedResources) -> frozenset[str]:
    return frozenset(resource.name for resource in served.resources)


def _records(wires: list[NodeWire]) -> list[NodeRecord]:
    record = node_records().project
    return [record(wire, None) for wire in wires]
