"""The remediations that ended last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from nodemend.api.node_health_check import NodeHealthCheck, PastRemediation
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.api.timestamps import parse_time

SHOWN_OF_PAST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRow:
    """One remediation that has ended, of a node or of machine/NAMESPACE/NAME.

    Times are in seconds, None where they are not written as such.
    """

    node: str
    kind: str
    outcome: str
    ended_ago: float | None
    took: float | None
    check: str
    ordered_by: str


def past_rows(
    checks: Sequence[NodeHealthCheck], policy: RemediationPolicy | None, now: datetime
) -> tuple[PastRow, ...]:
    """Of nodes from their checks, of Machines from the policy."""
    rows = [
        (one.ended, _past_row(one, one.node, check.metadata.name, one.ordered_by, now))
        for check in checks
        for one in check.status.history
    ]
    rows += [
        (one.ended, _past_row(one, f"machine/{one.machine}", f"mhc/{one.check}", "", now))
        for one in (policy.status.machine_history if policy is not None else ())
        if one.ended
    ]
    newest = sorted(rows, key=lambda found: found[0], reverse=True)[:SHOWN_OF_PAST]
    return tuple(row for _, row in newest)


def _past_row(
    one: PastRemediation | MachineRemediation, target: str, check: str, ordered_by: str, now: datetime
) -> PastRow:
    return PastRow(
        node=target,
        kind=one.kind,
        outcome=one.outcome,
        ended_ago=seconds_between(one.ended, now),
        took=seconds_between(one.began, _moment(one.ended)),
        check=check,
        ordered_by=ordered_by,
    )


def _moment(written: str) -> datetime | None:
    try:
        return parse_time(written)
    except ValueError:
        return None


def seconds_between(written: str, end: datetime | None) -> float | None:
    begin = _moment(written)
    return None if begin is None or end is None else (end - begin).total_seconds()
