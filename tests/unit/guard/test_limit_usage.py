"""The usage of each limit."""

from dataclasses import replace

import pytest

from nodemend.api.remediation_policy import Mode
from nodemend.guard.state import (
    HEALTHY,
    CountScope,
    LimitUsage,
    StormScopeKind,
    TargetIndex,
    TargetState,
    TargetStatus,
    limit_usage_of_check,
    limit_usages_of_cluster,
)
from nodemend.safety.facts import DomainLimits
from nodemend.safety.guard import CheckFacts
from nodemend.safety.limits import Between, Count, LimitComparison, LimitSemantics, Percent, closed
from tests.unit.safety.worlds import allowing

SICK = TargetStatus(TargetState.UNHEALTHY)
POLICY = allowing(Mode.ACT, None, 10)


def indexed(**sick_of_total: tuple[int, int]) -> TargetIndex:
    """Unhealthy and total targets by failure domain."""
    target_index = TargetIndex()
    for domain, (sick, total) in sick_of_total.items():
        for number in range(total):
            entry = SICK if number < sick else HEALTHY
            target_index.upsert(f"{domain}-{number}", CountScope("workers", domain), entry)
    return target_index


@pytest.mark.parametrize("gate", [Count(0), Count(3), Percent(30), Percent(100), Between(1, 4)])
@pytest.mark.parametrize("reading", list(LimitSemantics))
def test_the_limit_is_the_fewest_that_close_the_guard(gate: LimitComparison, reading: LimitSemantics) -> None:
    usage = limit_usage_of_check(indexed(a=(0, 10)), CheckFacts("workers", gate, reading))
    assert usage is not None
    assert closed(gate, usage.limit, 10, reading)
    assert usage.limit == 1 or not closed(gate, usage.limit - 1, 10, reading)


def test_a_check_without_a_limit_has_no_room() -> None:
    assert limit_usage_of_check(indexed(a=(1, 10)), CheckFacts("workers")) is None


def test_the_cluster_and_sufficiently_large_domains_are_reported() -> None:
    limits = DomainLimits("zone", Percent(50), min_nodes=4, max_concurrent=1)
    policy = replace(POLICY, max_unhealthy=Count(5), domains=limits)
    usages = limit_usages_of_cluster(indexed(a=(2, 6), small=(1, 2), z=(0, 4)), policy, "")
    assert list(usages) == [
        LimitUsage(StormScopeKind.CLUSTER, "", unhealthy=3, limit=5),
        LimitUsage(StormScopeKind.DOMAIN, "a", unhealthy=2, limit=3),
        LimitUsage(StormScopeKind.DOMAIN, "z", unhealthy=0, limit=2),
    ]


def test_a_cluster_without_targets_has_none() -> None:
    assert list(limit_usages_of_cluster(TargetIndex(), POLICY, "")) == []
