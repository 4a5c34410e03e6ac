"""Properties of every simulation, for any failures and any policy."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodemend.cli.simulate.engine import simulate
from nodemend.cli.simulate.input import Snapshot
from nodemend.cli.simulate.log import RemediationAttempt, RunLog, StepKind
from nodemend.cli.simulate.scenario import Plan
from nodemend.records.live_reads import policy_facts
from nodemend.safety.guard import most_at_once
from tests.unit.cli.simulate.clusters import (
    check,
    control_plane,
    node,
    policy,
    remediation,
    remedy,
    selects,
    workers,
)
from tests.unit.cli.simulate.simulated import a_plan, a_snapshot

SICK = {"ready": "Unknown", "since": "2026-01-31T11:58:00Z"}
TIMES = st.integers(0, 40)


@st.composite
def inventions(draw: st.DrawFn) -> str:
    which = draw(
        st.sampled_from(["*", "edge-a*", "edge-b2", "zone=a", "zone=[bc]", "cp-*", "cp-1", "edge-x"])
    )
    how_many = draw(st.sampled_from(["", ":1", ":3", ":20%", ":60%", ":100%"]))
    begins, more = draw(TIMES), draw(st.integers(0, 10))
    return f"{which}{how_many}@{begins}m..{begins + more}m7s"


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "maxUnhealthy": draw(st.sampled_from(["30%", "60%", "100%", 3])),
        "maxConcurrent": draw(st.integers(1, 6)),
        "maxConcurrentPercent": draw(st.sampled_from([10, 30, 100])),
        "minInterval": draw(st.sampled_from(["0s", "10s", "3m"])),
        "settleTime": draw(st.sampled_from(["0s", "5m"])),
    }
    if draw(st.booleans()):
        spec["failureDomains"] = {"maxUnhealthy": draw(st.sampled_from(["40%", 2])), "maxConcurrent": 1}
    if draw(st.booleans()):
        spec["pause"] = {"reason": "swap", "until": f"2026-01-31T12:{draw(TIMES):02}:03Z"}
    return spec


@st.composite
def clusters(draw: st.DrawFn) -> Snapshot:
    ladder = [remedy("NodeFence", draw(st.sampled_from(["", "4m", "15m"]))), remedy()]
    limit = draw(st.sampled_from(["50%", "100%"]))
    objects = [
        *workers(4),
        *control_plane(),
        node("edge-x", "a", **SICK),
        node("edge-y", "b", labels={"nodemend.io/exclude": ""}, **SICK),
        policy(**draw(policies())),
    ]
    spec = {"remedies": ladder[draw(st.integers(0, 1)) :], "maxUnhealthy": limit}
    if draw(st.booleans()):
        objects.append(check("workers", **spec))
    else:
        objects += [
            check("workers", selector=selects(control_plane=False), **spec),
            check("control-plane", selector=selects(control_plane=True), **spec),
        ]
    if draw(st.booleans()):
        objects.append(remediation("edge-x", draw(st.sampled_from(["workers", "another"]))))
    return a_snapshot(objects)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    some = st.lists(inventions(), max_size=4)
    return a_plan(
        *draw(some),
        heals=tuple(draw(some)),
        stays_unhealthy=draw(st.sampled_from([(), ("edge-b2",), ("zone=a:2",)])),
        takes=draw(st.sampled_from([61, 600, 1800])),
        lasts=2 * 3600,
    )


def in_progress(story: RunLog, plan: Plan, at: float) -> set[str]:
    """Nodes under remediation at this time.

    A remediation that has finished but is not yet deleted does not count.
    """
    return {one.node for one in story.attempts if one.begins_at <= at < _ends(one, plan)}


def _ends(attempt: RemediationAttempt, plan: Plan) -> float:
    takes = attempt.begins_at + plan.remediation_takes
    return takes if attempt.over_at is None else min(takes, attempt.over_at)


def reported(story: RunLog) -> object:
    return story.steps, story.attempts, sorted(story.hold_periods.all(), key=str)


@pytest.mark.slow
@given(clusters(), plans())
@settings(max_examples=60, deadline=None)
def test_a_simulation_gives_the_same_timeline_if_every_node_is_evaluated_each_time(
    snapshot: Snapshot, plan: Plan
) -> None:
    story = reported(simulate(snapshot, plan))
    assert reported(simulate(snapshot, plan)) == story
    assert reported(simulate(snapshot, plan, thorough=True)) == story


@pytest.mark.slow
@given(clusters(), plans())
@settings(max_examples=60, deadline=None)
def test_the_limits_are_kept(snapshot: Snapshot, plan: Plan) -> None:
    story = simulate(snapshot, plan)
    assert snapshot.policy is not None
    facts = policy_facts(snapshot.policy, snapshot.taken_at)
    most = most_at_once(facts, story.watched)
    begins = [attempt.begins_at for attempt in story.attempts]

    assert begins == sorted(begins)
    assert all(later - earlier >= facts.min_interval for earlier, later in pairwise(begins))
    assert story.most_at_once <= most
    assert all(len(in_progress(story, plan, at)) <= most for at in begins)
    assert "edge-y" not in {attempt.node for attempt in story.attempts}
    for at in begins:
        assert len({name for name in in_progress(story, plan, at) if name.startswith("cp-")}) <= 1


@pytest.mark.slow
@given(clusters(), plans())
@settings(max_examples=40, deadline=None)
def test_no_node_is_remediated_before_it_is_unhealthy(snapshot: Snapshot, plan: Plan) -> None:
    story = simulate(snapshot, plan)
    unhealthy = {
        (node_, step.at) for step in story.steps if step.what is StepKind.UNHEALTHY for node_ in step.nodes
    }
    for attempt in story.attempts:
        assert (attempt.node, attempt.unhealthy_at) in unhealthy
        assert attempt.unhealthy_at <= attempt.begins_at
    for spell in story.hold_periods.all():
        assert any(node_ == spell.node and at <= spell.since for node_, at in unhealthy)


@given(clusters())
@settings(max_examples=30, deadline=None)
def test_without_a_failure_only_already_unhealthy_nodes_are_remediated(snapshot: Snapshot) -> None:
    story = simulate(snapshot, a_plan())
    assert {attempt.node for attempt in story.attempts} <= {"edge-x"}
