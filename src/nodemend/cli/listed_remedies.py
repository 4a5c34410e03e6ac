"""The remediations of every kind that the checks ask for, listed once."""

from collections.abc import Iterable

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.cli.cluster import Cluster, must_have
from nodemend.controllers.checking.remedies import Asked, Remedies, RemedyKind
from nodemend.controllers.checking.remedy_watch import find_kind
from nodemend.kube.remediation_record import RemediationWire

NOW_IN_VIEW = 0.0
"""The monotonic moment at which the view was read. There is only this one."""


async def look_at_remedies(cluster: Cluster, checks: Iterable[NodeHealthCheck]) -> Remedies:
    remedies = Remedies()
    for check in checks:
        for template in check.spec.templates:
            asked = Asked(template.api_version, template.kind)
            if asked not in remedies.kinds:
                remedies.kinds[asked] = await find_kind(cluster.reader.client, asked, cluster.reader.deadline)
    for kind in remedies.kinds.values():
        if isinstance(kind, RemedyKind):
            wires = await cluster.all(kind.remediation, RemediationWire)
            remedies.add(kind.remediation, must_have(wires, f"list of {kind.remediation}"), NOW_IN_VIEW)
    return remedies
