"""A cluster at one moment: all that a simulation starts from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from msgspec.structs import replace

from nodemend.api.group_versions import Resource
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.timestamps import parse_time
from nodemend.controllers.checking.remedies import Asked, NotServed, RemedyKind
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.remediation_record import RemediationRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Never changed: every simulation makes its own world of it."""

    source: str
    taken_at: datetime
    nodes: Mapping[str, NodeRecord]
    checks: tuple[NodeHealthCheck, ...]
    policy: RemediationPolicy | None
    kinds: Mapping[Asked, RemedyKind | NotServed]
    """What is known of the remedies that the checks name."""
    remediations: tuple[RemediationRecord, ...]
    etcd_hosts: frozenset[str] = frozenset()
    machine_checks: int = 0
    """How many MachineHealthChecks there are. They are not simulated, and that is said."""
    unread: tuple[str, ...] = ()
    """What could not be read, as sentences: the simulation is without it."""


def pause_ends(snapshot: Snapshot) -> Iterator[float]:
    """When pauses end by themselves, in whole seconds after the snapshot was taken."""
    pauses = [check.spec.pause for check in snapshot.checks]
    pauses.append(snapshot.policy.spec.pause if snapshot.policy is not None else None)
    for pause in pauses:
        try:
            until = parse_time(pause.until or "") if pause is not None else snapshot.taken_at
            left = (until - snapshot.taken_at).total_seconds()
        except (ValueError, TypeError):
            # An end that cannot be read is none.
            continue
        if left > 0:
            yield ceil(left)


def asked_by(checks: Iterable[NodeHealthCheck]) -> list[Asked]:
    """The kinds of templates that these checks name, some of them often."""
    return [
        Asked(template.api_version, template.kind) for check in checks for template in check.spec.templates
    ]


def guess_kind(asked: Asked) -> RemedyKind:
    """Where a kind lives, when there is no API server to ask. The plural is only a guess, and only a name."""
    group, _, version = asked.api_version.rpartition("/")
    kind = asked.kind.removesuffix("Template")
    return RemedyKind(
        template=Resource(group, version, asked.kind, f"{asked.kind.lower()}s"),
        remediation=Resource(group, version, kind, f"{kind.lower()}s"),
    )


def with_uid(node: NodeRecord) -> NodeRecord:
    """Nodes that somebody has written by hand have none, and would all be taken for one."""
    return node if node.uid else replace(node, uid=node.name)
