"""Nodes under a NodeHealthCheck, as the guard sees them."""

from datetime import datetime

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.node_exclusion import record_excluded_by
from nodemend.controllers.node_health_check.gather import Target
from nodemend.controllers.pauses import in_force
from nodemend.decide.guard_facts import CheckFacts
from nodemend.decide.limits import Reading, parse_gate


def ward_of(target: Target, wall: datetime) -> Ward:
    return Ward(
        name=target.node.name,
        labels=target.node.labels,
        check=check_facts(target.check, wall),
        excluded_by=record_excluded_by(target.node),
        maintained_by=maintained_by(target),
    )


def anybody_under(check: NodeHealthCheck, wall: datetime) -> Ward:
    """For questions that are about no node in particular."""
    return Ward(name="", labels={}, check=check_facts(check, wall))


def check_facts(check: NodeHealthCheck, wall: datetime) -> CheckFacts:
    return CheckFacts(
        name=check.metadata.name,
        gate=parse_gate(check.spec.max_unhealthy),
        reading=Reading.SPARES_ONE,
        dry_run=check.spec.dry_run,
        pause=in_force(check.spec.pause, wall),
    )


def maintained_by(target: Target) -> str:
    """The condition by which the node says that somebody works on it, or nothing."""
    for awaited in target.check.spec.maintenance:
        shown = target.node.condition(awaited.type)
        if shown is not None and shown.status == awaited.status:
            return f"{awaited.type}={ConditionStatus(awaited.status)}"
    return ""
