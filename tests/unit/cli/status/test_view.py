"""The view that `status` builds from the status of objects."""

from dataclasses import replace

from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import Condition, ConditionStatus, ObjectMeta, Pause
from nodemend.api.node_health_check import (
    NodeHealthCheck,
    NodeHealthCheckStatus,
    PastRemediation,
    RecoveryPhase,
    RecoveryReport,
    TargetReport,
)
from nodemend.api.remediation_policy import Mode, RemediationPolicy, RemediationPolicySpec
from nodemend.cli.cluster import LeaderState
from nodemend.cli.listing import Listing, MachineListing
from nodemend.cli.read_commands import gather
from nodemend.cli.status.view import (
    CheckRow,
    NodeRow,
    PolicyView,
    StatusView,
    render,
    status_view,
    without_ages,
)
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from simulation.cluster.world import Shape, World
from tests.unit.cli.check.sound_facts import NOW, check, leader, remediation
from tests.unit.cli.simulated_caller import SimulatedCaller

LEADERS = (leader("checker"), leader("remediator"))
ACTING = RemediationPolicy(spec=RemediationPolicySpec(mode=Mode.ACT, max_concurrent=2))


def reporting(*reports: TargetReport, allowed: ConditionStatus = ConditionStatus.TRUE) -> NodeHealthCheck:
    said = Condition(
        type="RemediationAllowed",
        status=allowed,
        reason="X",
        message="Paused by anna: swap. Resume it." if allowed is ConditionStatus.FALSE else "",
        last_transition_time="2026-01-31T11:00:00Z",
    )
    status = NodeHealthCheckStatus(targets=24, healthy=22, remediating=1, reports=reports, conditions=(said,))
    return check().but(status=status)


def view_of(policy: ReadResult[RemediationPolicy], *checks: NodeHealthCheck) -> StatusView:
    remediations = [
        remediation("edge-07", message="Waiting for a person. Switch it off.").but(
            metadata=ObjectMeta(
                name="edge-07",
                namespace="default",
                creation_timestamp="2026-01-31T11:53:48Z",
                labels={"nodemend.io/check": "workers"},
                finalizers=("nodemend.io/safe-end",),
            )
        ),
        remediation("edge-09", phase=ManualRemediationPhase.SUCCEEDED),
    ]
    return status_view(
        policy, LEADERS, Present(list(checks)), Listing(Present(remediations)), MachineListing(), NOW
    )


def test_checks_show_what_they_report_and_the_guard() -> None:
    open_, shut = reporting(), reporting(allowed=ConditionStatus.FALSE)

    assert [view_of(Present(ACTING), one).checks[0] for one in (open_, shut, check())] == [
        CheckRow(name="workers", targets=24, healthy=22, remediating=1, allowed=True, why=""),
        CheckRow(
            name="workers", targets=24, healthy=22, remediating=1, allowed=False, why="Paused by anna: swap."
        ),
        CheckRow(
            name="workers",
            targets=0,
            healthy=0,
            remediating=0,
            allowed=None,
            why="the checker has not reported yet",
        ),
    ]


def test_a_remediation_says_more_of_its_node_than_the_report_does() -> None:
    reports = (
        TargetReport(name="edge-07", verdict="Remediating"),
        TargetReport(name="edge-12", verdict="Suspect", message="Ready=Unknown, but not yet for 300 s"),
    )

    assert view_of(Present(ACTING), reporting(*reports)).nodes == (
        NodeRow(
            node="edge-07",
            state="WaitingForConfirmation",
            for_seconds=372.0,
            check="workers",
            why="Waiting for a person.",
        ),
        NodeRow(
            node="edge-12",
            state="Suspect",
            for_seconds=None,
            check="workers",
            why="Ready=Unknown, but not yet for 300 s",
        ),
    )


def test_a_node_that_is_reported_as_healthy_has_no_row_and_hides_no_unhealthy_node() -> None:
    view = view_of(Present(ACTING), reporting(TargetReport(name="edge-12", verdict="Healthy", remedy=1)))

    assert ([row.node for row in view.nodes], view.nodes_untold) == (["edge-07"], 1)


def test_mode_and_pause_are_those_of_the_policy() -> None:
    paused = RemediationPolicy(spec=RemediationPolicySpec(pause=Pause(reason="swap", by="anna")))

    assert view_of(Present(paused)).policy == PolicyView(
        mode="DryRun", max_concurrent=10, paused=True, paused_by="anna", pause_reason="swap", closes_at=2
    )
    assert view_of(Absent()).policy.mode == ""
    assert view_of(Unreadable("forbidden")).policy.unread == "forbidden"


def test_an_unreadable_object_is_reported() -> None:
    view = status_view(Present(ACTING), LEADERS, Unreadable("no"), Listing(), MachineListing(), NOW)

    assert view.unread == ("Health checks cannot be read: no.",)


def test_a_controller_that_is_not_alive_makes_the_status_bad() -> None:
    for state in LeaderState:
        view = status_view(
            Absent(), (leader("checker", state),), Present([]), Listing(), MachineListing(), NOW
        )
        assert view.led == (state in (LeaderState.ALIVE, LeaderState.UNKNOWN))


def test_a_cluster_that_works_is_healthy_on_one_screen() -> None:
    world = World("status", Shape(machines=3, people=False))
    world.run(60.0)
    lines = list(render(SimulatedCaller(world).run(gather)))
    world.close()

    assert lines[0] == "Mode      Act: at most 1 node under remediation at once"
    assert lines[2] == "Guard     no storm: 0 of 3 nodes not healthy; it closes at 2"
    assert lines[-2:] == [
        "Every watched node is healthy.",
        "Next: nothing",
    ]


def test_growing_older_is_no_change() -> None:
    first = view_of(Present(ACTING), reporting())
    aged = replace(
        first,
        leaders=tuple(replace(one, renewed_ago=9.0) for one in first.leaders),
        nodes=tuple(replace(row, for_seconds=999.0) for row in first.nodes),
    )
    healed = replace(first, nodes=())

    assert first != aged
    assert without_ages(first) == without_ages(aged) != without_ages(healed)


def past(node: str, ended: str) -> PastRemediation:
    return PastRemediation(
        node=node, kind="Reboot", began="2026-01-31T11:00:00Z", ended=ended, outcome="Healed"
    )


def test_only_the_last_three_remediations_of_all_checks_are_shown() -> None:
    histories = (
        (past("a", "2026-01-31T11:40:00Z"), past("b", "2026-01-31T11:10:00Z")),
        (past("c", "2026-01-31T11:50:00Z"), past("d", "sometime"), past("e", "2026-01-31T11:20:00Z")),
    )
    checks = [check().but(status=NodeHealthCheckStatus(history=history)) for history in histories]
    view = view_of(Present(ACTING), *checks)

    assert [(row.node, row.ended_ago, row.took) for row in view.past] == [
        ("d", None, None),
        ("c", 600.0, 3000.0),
        ("a", 1200.0, 2400.0),
    ]
    assert [row.ended_ago for row in without_ages(view).past] == [None, None, None]


def test_a_recovery_has_a_separate_row_beside_the_node_s_state() -> None:
    owes = RecoveryReport(
        node="edge-12",
        node_uid="uid",
        phase=RecoveryPhase.FAILED,
        since="2026-01-31T11:30:00Z",
        message="It reports that it has failed. Power on by hand what is still off.",
    )
    found = check().but(status=NodeHealthCheckStatus(recoveries=(owes,)))
    view = status_view(Present(ACTING), LEADERS, Present([found]), Listing(), MachineListing(), NOW)
    assert view.nodes == (
        NodeRow(
            node="edge-12",
            state="RecoveryFailed",
            recovering=True,
            for_seconds=1800.0,
            check="workers",
            why="It reports that it has failed.",
        ),
    )
