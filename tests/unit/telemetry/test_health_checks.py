"""A process is ready once every state that it needs is reached."""

from nodemend.telemetry.observers import HealthChecks


def test_a_process_without_required_states_is_ready() -> None:
    assert HealthChecks().why_not_ready() == ()


def test_a_missing_state_is_named_until_it_is_reached() -> None:
    board = HealthChecks()
    reached = {"nodes": False, "checks": True}
    board.must_reach("the first list of nodes", lambda: reached["nodes"])
    board.must_reach("the first list of checks", lambda: reached["checks"])

    assert board.why_not_ready() == ("waiting for the first list of nodes",)
    reached["nodes"] = True
    assert board.why_not_ready() == ()
