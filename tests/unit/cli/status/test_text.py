"""The text output of `kubectl mend status`."""

from dataclasses import replace

import pytest

from nodemend.cli.cluster import LeaderState
from nodemend.cli.status.view import CheckRow, NodeRow, PastRow, PolicyView, StatusView, render, spell_pause
from tests.unit.cli.check.sound_facts import leader

BUSY = StatusView(
    policy=PolicyView(mode="Act", max_concurrent=2, paused=False, targets=27, unhealthy=2, closes_at=11),
    leaders=(leader("checker"), leader("remediator")),
    checks=(
        CheckRow(
            name="control-plane",
            targets=3,
            healthy=3,
            remediating=0,
            allowed=False,
            why="Paused by anna: swap.",
        ),
        CheckRow(name="workers", targets=24, healthy=22, remediating=1, allowed=True, why=""),
    ),
    nodes=(
        NodeRow(
            node="edge-03",
            state="Suspect",
            for_seconds=None,
            check="workers",
            why="Ready=Unknown, but not yet for 300 s",
        ),
        NodeRow(
            node="edge-07",
            state="WaitingForConfirmation",
            for_seconds=372.0,
            check="workers",
            why="Waiting for a person.",
        ),
    ),
    unread=(),
)


def test_one_screen() -> None:
    assert "\n".join(render(BUSY)) == (
        "Mode      Act: at most 2 nodes under remediation at once\n"
        "Paused    no\n"
        "Guard     no storm: 2 of 27 nodes not healthy; it closes at 11\n"
        "Leaders   checker: checker-0 leads, renewed 1s ago\n"
        "          remediator: remediator-0 leads, renewed 1s ago\n"
        "\n"
        "CHECK           TARGETS   HEALTHY   REMEDIATING   MAY-BEGIN   WHY-NOT\n"
        "control-plane   3         3         0             no          Paused by anna: swap.\n"
        "workers         24        22        1             yes\n"
        "\n"
        "NODE      STATE                    FOR     CHECK     WHY\n"
        "edge-03   Suspect                  -       workers   Ready=Unknown, but not yet for 300 s\n"
        "edge-07   WaitingForConfirmation   6m12s   workers   Waiting for a person.\n"
        "Next: kubectl mend explain edge-07"
    )


def last(view: StatusView) -> str:
    return list(render(view))[-1]


def test_the_next_step_is_the_most_important_one() -> None:
    healthy = replace(BUSY, nodes=())
    paused = PolicyView(mode="Act", max_concurrent=2, paused=True, pause_reason="swap")

    assert last(replace(BUSY, leaders=(leader("checker", LeaderState.SILENT),))) == "Next: kubectl mend check"
    assert last(replace(BUSY, nodes=BUSY.nodes[:1])) == "Next: kubectl mend explain edge-03"
    assert last(replace(healthy, policy=paused)) == "Next: kubectl mend resume"
    assert last(healthy) == "Next: nothing"


def test_an_inactive_check_reports_it() -> None:
    shown = "\n".join(
        line
        for policy in (
            PolicyView(mode="DryRun", max_concurrent=1, paused=True, paused_by="", pause_reason="swap"),
            PolicyView(mode="", max_concurrent=0, paused=False),
            PolicyView(mode="", max_concurrent=0, paused=False, unread="forbidden"),
        )
        for line in render(replace(BUSY, policy=policy, checks=(), unread=("nodes cannot be read: no",)))
    )

    assert "Mode      DryRun: nothing is remediated, only reported" in shown
    assert "Mode      DryRun, as there is no RemediationPolicy: nothing is remediated, only reported" in shown
    assert "Mode      cannot be read\nPaused    cannot be read" in shown
    assert "Paused    until a user resumes, by an unknown user: swap" in shown
    assert "There is no health check." not in shown
    assert "The watched nodes are unknown." in shown
    assert "Warning: nodes cannot be read: no" in shown
    assert "There is no health check." in list(render(replace(BUSY, checks=())))


def test_a_storm_and_what_follows_it() -> None:
    storming = replace(BUSY, policy=replace(BUSY.policy, storm_state="StormActive", unhealthy=12))
    cooldown = replace(BUSY, policy=replace(BUSY.policy, storm_state="CoolingDown"))

    assert list(render(storming))[2] == (
        "Guard     closed: 12 of 27 nodes not healthy; no remediation starts while this lasts"
    )
    assert list(render(cooldown))[2] == (
        "Guard     cooling down after a storm: 2 of 27 nodes not healthy; no remediation starts yet"
    )


def test_the_last_ended_remediations_are_shown_below_the_nodes() -> None:
    healed = PastRow(
        node="edge-07",
        kind="ManualRemediation",
        outcome="Healed",
        ended_ago=75.0,
        took=372.0,
        check="workers",
        ordered_by="",
    )
    ordered = replace(healed, node="edge-1", outcome="Gone", ended_ago=None, took=None, ordered_by="anna")
    lines = list(render(replace(BUSY, past=(healed, ordered))))
    assert lines[-5:-1] == [
        "",
        "LAST      OUTCOME   ENDED       TOOK    KIND                CHECK     ORDERED-BY",
        "edge-07   Healed    1m15s ago   6m12s   ManualRemediation   workers   -",
        "edge-1    Gone      -           -       ManualRemediation   workers   anna",
    ]


@pytest.mark.attack("G6")
def test_a_check_whose_nodes_another_check_has_is_shown_below_the_checks() -> None:
    control_plane, workers = BUSY.checks
    reported = (
        "Of the 30 nodes that it selects, 6 are watched by checks whose name comes first: 6 by nhc/gpu."
    )
    lines = list(render(replace(BUSY, checks=(control_plane, replace(workers, overlap=reported)))))
    at = next(number for number, line in enumerate(lines) if line.startswith("workers"))
    assert lines[at + 1] == f"Warning: nhc/workers: {reported}"


@pytest.mark.attack("U9")
def test_the_end_of_a_pause_is_shown_of_the_cluster_and_of_each_check() -> None:
    until = "2026-01-31T14:00:00Z"
    policy = replace(BUSY.policy, paused=True, paused_by="anna", pause_reason="swap", pause_until=until)
    paused = replace(BUSY.checks[0], paused=spell_pause("berta", "new kernel", ""))
    lines = list(render(replace(BUSY, policy=policy, checks=(paused, BUSY.checks[1]))))

    assert lines[1:3] == [
        f"Paused    until {until}, by anna: swap",
        "          nhc/control-plane: until a user resumes, by berta: new kernel",
    ]
