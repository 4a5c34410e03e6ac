"""Failures that one policy remediates and the other holds."""

from typing import Any

from nodemend.cli.simulate.diff import DiffView, OnlyView, PartingView, Side, compare
from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.output import build_view
from tests.unit.cli.simulate.clusters import check, policy, workers
from tests.unit.cli.simulate.simulated import a_plan, a_snapshot

TOO_MANY = (
    "Too many targets are unhealthy in the cluster: 12 of 24; with the limit 40% the guard closes at 10."
)


def a_side(name: str, *fails: str, heals: tuple[str, ...] = (), **spec: Any) -> Side:
    snapshot = a_snapshot([*workers(), check("workers", maxUnhealthy="100%"), policy(**spec)])
    plan = a_plan(*fails, heals=heals)
    story = simulate(snapshot, plan)
    return Side(name, story, build_view(snapshot, plan, story))


def compared(*fails: str, heals: tuple[str, ...] = (), **spec: Any) -> DiffView:
    """Compare the default policy with one that has this spec."""
    return compare(a_side("old", *fails, heals=heals), a_side("new", *fails, heals=heals, **spec))


def test_the_same_rules_never_part() -> None:
    view = compared("edge-a*:2@0s")
    assert (view.parting, view.only) == (None, ())
    assert view.first.totals == view.second.totals


def test_what_only_one_remediates_and_why_the_other_does_not() -> None:
    view = compared("*:50%@0s", maxUnhealthy="60%", maxConcurrentPercent=20, maxConcurrent=4)

    assert view.parting == PartingView(at=300, begins="new", node="edge-a1", other="old", why=TOO_MANY)
    (only,) = view.only
    assert (only.remediated_by, only.other, only.why) == ("new", "old", TOO_MANY)
    assert len(only.nodes) == view.second.totals.remediated == 12
    assert (view.first.first_begins_at, view.second.first_begins_at) == (None, 300)


def test_they_also_part_where_the_same_begins_at_another_time() -> None:
    view = compared("edge-a*:2@0s", minInterval="2m")
    assert view.parting == PartingView(
        at=310, begins="old", node="edge-a5", other="new", why="Another remediation has only just started."
    )
    assert view.only == ()


def test_without_unhealthy_nodes_nothing_is_held() -> None:
    slow = compared("edge-a*:3@0s", heals=("edge-a6@10m",), maxConcurrent=1)
    assert slow.only == ()
    late = compare(
        a_side("early", "edge-a1@0s", heals=("edge-a1@6m",)),
        a_side("never", "edge-a1@0s", heals=("edge-a1@4m",)),
    )
    assert late.only == (
        OnlyView(remediated_by="early", nodes=("edge-a1",), other="never", why="It is not unhealthy then."),
    )
