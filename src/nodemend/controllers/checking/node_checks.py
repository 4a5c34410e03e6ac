"""What a NodeHealthCheck says about nodes, for whoever asks the guard about one of them."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.controllers.pauses import in_force
from nodemend.decide.guard_facts import CheckFacts
from nodemend.decide.health_glance import Shown
from nodemend.decide.label_match import matches
from nodemend.decide.limits import Reading, parse_gate


def selecting(checks: Iterable[NodeHealthCheck], labels: Mapping[str, str]) -> list[NodeHealthCheck]:
    """The checks that select such a node. The first by name has it: one node, one owner."""
    mine = [check for check in checks if matches(check.spec.selector, labels)]
    return sorted(mine, key=lambda check: check.metadata.name) if len(mine) > 1 else mine


def check_facts(check: NodeHealthCheck, wall: datetime) -> CheckFacts:
    return CheckFacts(
        name=check.metadata.name,
        gate=parse_gate(check.spec.max_unhealthy),
        reading=Reading.SPARES_ONE,
        dry_run=check.spec.dry_run,
        pause=in_force(check.spec.pause, wall),
    )


def maintained_by(check: NodeHealthCheck, conditions: Iterable[Shown]) -> str:
    """The condition by which the node says that somebody works on it, or nothing."""
    shown = {condition.type: condition.status for condition in conditions}
    for awaited in check.spec.maintenance:
        if shown.get(awaited.type) == awaited.status:
            return f"{awaited.type}={ConditionStatus(awaited.status)}"
    return ""


def meets_threshold(check: NodeHealthCheck, conditions: Iterable[Shown]) -> bool:
    """Whether any threshold is met, for however short a time."""
    shown = {condition.type: condition.status for condition in conditions}
    return any(shown.get(one.type) == one.status for one in check.spec.thresholds)
