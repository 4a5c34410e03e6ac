"""Nodes under a NodeHealthCheck, as the guard sees them."""

from datetime import datetime

from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.controllers.checking.node_checks import check_facts, maintained_by
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.node_exclusion import record_excluded_by
from nodemend.controllers.node_health_check.gather import Target


def ward_of(target: Target, wall: datetime) -> Ward:
    return Ward(
        name=target.node.name,
        labels=target.node.labels,
        check=check_facts(target.check, wall),
        excluded_by=record_excluded_by(target.node),
        maintained_by=maintained_by(target.check, target.node.conditions),
    )


def anybody_under(check: NodeHealthCheck, wall: datetime) -> Ward:
    """For questions that are about no node in particular."""
    return Ward(name="", labels={}, check=check_facts(check, wall))
