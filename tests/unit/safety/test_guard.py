"""Limits of the cluster."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.meta import Pause
from nodemend.api.remediation_policy import Mode
from nodemend.safety import guard_holds, holds
from nodemend.safety.facts import (
    Absent,
    DomainLimits,
    MachinePolicyFacts,
    PolicyFacts,
    Present,
    ReadResult,
    Unreadable,
)
from nodemend.safety.guard import (
    Allowed,
    CacheFreshness,
    CacheUnavailable,
    CheckFacts,
    ControlPlane,
    Domain,
    GuardFacts,
    HealthCounts,
    closes_at,
    guard,
    in_flight_guard,
    most_at_once,
    reasons,
    setting_at_once,
)
from nodemend.safety.holds import Hold, HoldReason
from nodemend.safety.limits import Between, Count, LimitSemantics, Percent
from tests.unit.safety.worlds import allowing

UNBOUND = guard_holds.PolicyNotInForce("nodemend-accounts", "it has no binding of its name")
PAUSE = Pause(reason="switch swap", by="anna")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Present(allowing(Mode.ACT, None, 1)), Allowed()),
        (Present(allowing(Mode.ACT, PAUSE, 9)), Hold(guard_holds.Paused("anna", "switch swap"))),
        (Present(allowing(Mode.DRY_RUN, None, 9)), Hold(guard_holds.DryRun(policy_exists=True))),
        (Present(replace(allowing(Mode.ACT, None, 1), problem=UNBOUND)), Hold(UNBOUND)),
        (Absent(), Hold(guard_holds.DryRun(policy_exists=False))),
        (Unreadable("500"), Hold(holds.CannotRead("the RemediationPolicy", "500"))),
    ],
)
def test_a_step_of_a_remediation_that_has_begun(
    policy: ReadResult[PolicyFacts], expected: Allowed | Hold
) -> None:
    assert in_flight_guard(policy) == expected


ACTING = PolicyFacts(
    Mode.ACT,
    None,
    max_concurrent=10,
    max_concurrent_percent=10,
    max_unhealthy=Percent(40),
    domains=DomainLimits("zone", Percent(50), min_nodes=4, max_concurrent=2),
    settle_time=300.0,
    min_interval=10.0,
    machines=MachinePolicyFacts(LimitSemantics.AT_LIMIT, delete=False, healthy_delay=0.0),
)
CALM = GuardFacts(
    policy=Present(ACTING),
    freshness=CacheFreshness(age=3.0, age_limit=90.0, error_free_for=20.0, calm_needed=20.0),
    check=CheckFacts("workers", Percent(50)),
    of_check=HealthCounts(total=10, unhealthy=1, remediating=0),
    of_cluster=HealthCounts(total=20, unhealthy=1, remediating=0),
    of_domain=Domain("zone-a", HealthCounts(total=4, unhealthy=1, remediating=0)),
    others=Present(0),
    control_plane=None,
    cooldown=0.0,
    since_last_start=10.0,
    excluded_by="",
    maintained_by="",
)


def a_policy(**changes: Any) -> dict[str, Any]:
    return {"policy": Present(replace(ACTING, **changes))}


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("all is calm", {}, None),
        ("our view is as old as it may be", {"freshness": CacheFreshness(90.0, 90.0, 20.0, 20.0)}, None),
        (
            "nothing is seen of its cluster",
            {"freshness": CacheUnavailable("it does not answer")},
            holds.CannotRead("the Nodes of its cluster", "it does not answer"),
        ),
        (
            "our view is too old",
            {"freshness": CacheFreshness(91.0, 90.0, 20.0, 20.0)},
            holds.CacheStale(91.0, 90.0),
        ),
        (
            "the policy cannot be read",
            {"policy": Unreadable("500")},
            holds.CannotRead("the RemediationPolicy", "500"),
        ),
        ("there is no policy", {"policy": Absent()}, guard_holds.DryRun(policy_exists=False)),
        ("dry run", a_policy(mode=Mode.DRY_RUN), guard_holds.DryRun(policy_exists=True)),
        ("paused", a_policy(pause=PAUSE), guard_holds.Paused("anna", "switch swap")),
        (
            "the check is on dry run",
            {"check": CheckFacts("workers", dry_run=True)},
            guard_holds.CheckDryRun("workers"),
        ),
        (
            "the check is paused",
            {"check": CheckFacts("workers", pause=PAUSE)},
            guard_holds.Paused("anna", "switch swap", "workers"),
        ),
        ("excluded", {"excluded_by": "example.com/x"}, guard_holds.Excluded("example.com/x")),
        ("in maintenance", {"maintained_by": "M=True"}, guard_holds.InMaintenance("M=True")),
        (
            "the API server failed just now",
            {"freshness": CacheFreshness(3.0, 90.0, 19.0, 20.0)},
            guard_holds.RecentApiErrors(19.0, 20.0),
        ),
        ("one sick node is no storm, even of two", {"of_cluster": HealthCounts(2, 1, 0)}, None),
        (
            "two of two are",
            {"of_cluster": HealthCounts(2, 2, 0)},
            guard_holds.TooManyUnhealthy("the cluster", 2, 2, "40%", 1),
        ),
        ("one below the cluster's limit", {"of_cluster": HealthCounts(20, 7, 0)}, None),
        (
            "at the cluster's limit",
            {"of_cluster": HealthCounts(20, 8, 0)},
            guard_holds.TooManyUnhealthy("the cluster", 8, 20, "40%", 7),
        ),
        (
            "at the domain's limit",
            {"of_domain": Domain("zone-a", HealthCounts(4, 2, 0))},
            guard_holds.TooManyUnhealthy("domain zone-a", 2, 4, "50%", 1),
        ),
        ("the domain is too small to judge", {"of_domain": Domain("zone-a", HealthCounts(3, 3, 0))}, None),
        ("no domain", {"of_domain": None}, None),
        (
            "domains have no limits",
            a_policy(domains=None) | {"of_domain": Domain("zone-a", HealthCounts(4, 4, 4))},
            None,
        ),
        (
            "at the check's limit",
            {"of_check": HealthCounts(10, 5, 0)},
            guard_holds.TooManyUnhealthy("check workers", 5, 10, "50%", 4),
        ),
        (
            "at the check's limit, which upstream still allows",
            {
                "of_check": HealthCounts(10, 5, 0),
                "check": CheckFacts("workers", Percent(50), LimitSemantics.ABOVE_LIMIT),
            },
            None,
        ),
        (
            "a limit that never allows anything",
            {"check": CheckFacts("workers", Count(1))},
            guard_holds.TooManyUnhealthy("check workers", 1, 10, "1", 0),
        ),
        (
            "a limit of none at all",
            {"check": CheckFacts("workers", Count(0))},
            guard_holds.TooManyUnhealthy("check workers", 1, 10, "0", 0),
        ),
        (
            "a range that is not reached",
            {"check": CheckFacts("workers", Between(2, 4))},
            guard_holds.TooFewUnhealthy("check workers", 1, 2),
        ),
        (
            "a range that is reached",
            {"check": CheckFacts("workers", Between(2, 4)), "of_check": HealthCounts(10, 2, 0)},
            None,
        ),
        (
            "a range that is left behind",
            {"check": CheckFacts("workers", Between(2, 4)), "of_check": HealthCounts(10, 5, 0)},
            guard_holds.TooManyUnhealthy("check workers", 5, 10, "[2-4]", 4),
        ),
        (
            "the check has no limit",
            {"check": CheckFacts("workers"), "of_check": HealthCounts(10, 10, 0)},
            None,
        ),
        ("a storm has just ended", {"cooldown": 1.0}, guard_holds.CoolingDown(1.0)),
        (
            "another control-plane node is under remediation",
            {"control_plane": ControlPlane(total=5, others_ready=4, busy="cp-2")},
            guard_holds.ControlPlaneBusy("cp-2"),
        ),
        ("two of three are left", {"control_plane": ControlPlane(3, 2, "")}, None),
        (
            "one of three would be left",
            {"control_plane": ControlPlane(3, 1, "")},
            guard_holds.QuorumAtRisk(1, 3),
        ),
        (
            "of two, one",
            {"control_plane": ControlPlane(2, 1, "")},
            guard_holds.QuorumAtRisk(1, 2),
        ),
        ("it is the only one", {"control_plane": ControlPlane(1, 0, "")}, guard_holds.QuorumAtRisk(0, 1)),
        ("a tenth of twenty is two: one is open", {"others": Present(1)}, None),
        (
            "a tenth of twenty is two: two are",
            {"others": Present(2)},
            guard_holds.TooManyAtOnce(2, 2, setting="maxConcurrentPercent"),
        ),
        (
            "the others cannot be read",
            {"others": Unreadable("500")},
            holds.CannotRead("the other remediations", "500"),
        ),
        (
            "the domain is busy",
            {"of_domain": Domain("zone-a", HealthCounts(10, 3, 2))},
            guard_holds.TooManyAtOnce(2, 2, "zone-a", "failureDomains.maxConcurrent"),
        ),
        ("the domain has room for one", {"of_domain": Domain("zone-a", HealthCounts(10, 3, 1))}, None),
        ("another has just begun", {"since_last_start": 9.0}, guard_holds.StartInterval(1.0)),
    ],
)
def test_guard(name: str, changes: dict[str, Any], expected: HoldReason | None) -> None:
    facts = replace(CALM, **changes)
    assert guard(facts) == (Allowed() if expected is None else Hold(expected)), name


def test_every_reason_is_reported_most_severe_first() -> None:
    reported = list(reasons(replace(CALM, excluded_by="example.com/x", cooldown=7.0, since_last_start=0.0)))
    assert reported == [
        guard_holds.Excluded("example.com/x"),
        guard_holds.CoolingDown(7.0),
        guard_holds.StartInterval(10.0),
    ]


@pytest.mark.parametrize(
    ("total", "most"), [(0, 10), (1, 1), (3, 1), (10, 1), (19, 1), (20, 2), (99, 9), (1000, 10)]
)
def test_how_many_at_once(total: int, most: int) -> None:
    assert most_at_once(ACTING, total) == most


@pytest.mark.parametrize(
    ("total", "closes"), [(0, 2), (1, 2), (2, 2), (3, 2), (5, 2), (6, 3), (10, 4), (1000, 400)]
)
def test_how_many_are_a_storm(total: int, closes: int) -> None:
    assert closes_at(ACTING, total) == closes


def test_overridden_reasons_hold_nothing_and_the_next_reason_is_reported() -> None:
    facts = replace(CALM, of_cluster=HealthCounts(20, 8, 0), cooldown=7.0, since_last_start=0.0)
    storm = guard_holds.TooManyUnhealthy

    assert guard(facts, (storm,)) == Hold(guard_holds.CoolingDown(7.0))
    assert guard(facts, (storm, guard_holds.CoolingDown, guard_holds.StartInterval)) == Allowed()
    busy = replace(facts, control_plane=ControlPlane(3, 1, ""))
    assert guard(busy, (storm, guard_holds.CoolingDown, guard_holds.StartInterval)) == Hold(
        guard_holds.QuorumAtRisk(1, 3)
    )


@pytest.mark.parametrize("total", [1, 3, 9, 10, 19, 20, 21, 100])
@pytest.mark.parametrize("percent", [1, 10, 50])
@pytest.mark.parametrize("count", [1, 2, 10])
def test_the_setting_that_is_named_is_the_one_to_raise(total: int, percent: int, count: int) -> None:
    policy = replace(ACTING, max_concurrent=count, max_concurrent_percent=percent)
    most, named = most_at_once(policy, total), setting_at_once(policy, total)
    by_count = most_at_once(replace(policy, max_concurrent=count + 1), total)
    by_share = most_at_once(replace(policy, max_concurrent_percent=percent + 200), total)

    assert (by_count > most) == (named == "maxConcurrent")
    assert (by_share > most) == (named == "maxConcurrentPercent")
