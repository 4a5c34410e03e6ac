"""The remediations of every kind that the checks ask for, listed once."""

from collections.abc import Iterable
from dataclasses import dataclass

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.listed_objects import NOW_IN_VIEW
from nodemend.controllers.checking.remedies import Asked, NotServed, Remedies, RemedyKind
from nodemend.controllers.checking.remedy_watch import find_kind
from nodemend.decide.facts import Absent, Present
from nodemend.kube.remediation_record import RemediationWire


@dataclass(frozen=True, slots=True)
class ListedRemedies:
    """`unseen` says which kinds the caller may not see, and why."""

    remedies: Remedies
    unseen: tuple[str, ...]


async def look_at_remedies(cluster: Cluster, checks: Iterable[NodeHealthCheck]) -> Remedies:
    """For whoever can say nothing without all of them."""
    remedies = await _find_kinds(cluster, asked_by_nodes(checks))
    for kind in remedies.kinds.values():
        if isinstance(kind, RemedyKind):
            wires = await cluster.all(kind.remediation, RemediationWire)
            remedies.add(kind.remediation, must_have(wires, f"list of {kind.remediation}"), NOW_IN_VIEW)
    return remedies


async def look_at_visible_remedies(cluster: Cluster, asked: Iterable[Asked]) -> ListedRemedies:
    """For whoever can say something also without those that the caller may not see."""
    remedies = await _find_kinds(cluster, asked)
    unseen = []
    for named, kind in list(remedies.kinds.items()):
        if not isinstance(kind, RemedyKind):
            continue
        found = await cluster.all(kind.remediation, RemediationWire)
        if isinstance(found, Present):
            remedies.add(kind.remediation, found.value, NOW_IN_VIEW)
            continue
        why = "there is none" if isinstance(found, Absent) else found.why
        remedies.kinds[named] = NotServed(why, certain=False)
        unseen.append(f"{kind.remediation.kind} objects cannot be read: {why}.")
    return ListedRemedies(remedies, tuple(unseen))


def asked_by_nodes(checks: Iterable[NodeHealthCheck]) -> list[Asked]:
    return [
        Asked(template.api_version, template.kind) for check in checks for template in check.spec.templates
    ]


async def _find_kinds(cluster: Cluster, asked: Iterable[Asked]) -> Remedies:
    remedies = Remedies()
    for one in asked:
        if one not in remedies.kinds:
            remedies.kinds[one] = await find_kind(cluster.reader.client, one, cluster.reader.deadline)
    return remedies
