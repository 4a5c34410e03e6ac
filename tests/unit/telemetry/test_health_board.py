"""A process lives while its tasks do, and is ready once it has seen what it needs."""

from nodemend.telemetry.observers import HealthChecks


def test_a_board_without_parts_is_healthy() -> None:
    board = HealthChecks()

    assert (board.why_dead(), board.why_not_ready()) == ((), ())


def test_a_task_that_ended_is_a_reason_to_restart_and_not_to_be_ready() -> None:
    board = HealthChecks()
    board.must_run("the election", lambda: True)
    board.must_run("the reflectors", lambda: False)

    assert board.why_dead() == ("the election has ended",)
    assert board.why_not_ready() == ("the election has ended",)


def test_a_pending_part_is_named_until_it_is_reached() -> None:
    board = HealthChecks()
    reached = {"nodes": False, "checks": True}
    board.must_reach("the first list of nodes", lambda: reached["nodes"])
    board.must_reach("the first list of checks", lambda: reached["checks"])

    assert board.why_not_ready() == ("waiting for the first list of nodes",)
    assert board.why_dead() == ()
    reached["nodes"] = True
    assert board.why_not_ready() == ()
