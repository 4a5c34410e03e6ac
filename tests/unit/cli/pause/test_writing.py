"""A pause is one field of one object, written in the caller's own name."""

import pytest

from nodemend.api.meta import Pause
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.pause import PauseChange, clear_pause, merged_pause, set_pause
from simulation.cluster.world import CHECK, Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

SWAP = Pause(reason="switch swap", by="anna")


def quiet_world() -> tuple[World, SimulatedCaller]:
    world = World("pause", Shape(machines=1, replicas=0, people=False))
    return world, SimulatedCaller(world)


def spec(world: World) -> dict[str, object] | None:
    policy = world.admin_api.get(REMEDIATION_POLICY, "cluster")
    return policy["spec"] if policy else None


def test_pausing_and_resuming_leave_the_rest_of_the_policy_alone() -> None:
    world, caller = quiet_world()
    before = spec(world)
    paused = caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    during = spec(world)
    resumed = caller.run(lambda cluster: clear_pause(cluster, dry_run=False))

    assert (paused, resumed) == (PauseChange(None, SWAP), PauseChange(SWAP, None))
    assert during == {**(before or {}), "pause": {"reason": "switch swap", "by": "anna"}}
    assert spec(world) == before


def test_a_missing_policy_is_created_in_dry_run_mode_with_the_pause() -> None:
    world, caller = quiet_world()
    world.admin_api.delete(REMEDIATION_POLICY, "cluster")
    change = caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    made = spec(world)

    assert change == PauseChange(None, SWAP, created=True)
    assert made is not None
    assert (made["mode"], made["pause"]) == ("DryRun", {"reason": "switch swap", "by": "anna"})


OTHER = Pause(reason="power test", by="anna")
EARLY, LATE = "2026-01-01T02:00:00Z", "2026-01-01T05:00:00Z"


@pytest.mark.attack("U9")
@pytest.mark.parametrize(
    ("first", "second", "until"),
    [(EARLY, LATE, LATE), (LATE, EARLY, LATE), (None, EARLY, None), (LATE, None, None)],
)
def test_a_second_pause_keeps_the_later_end_and_both_reasons(
    first: str | None, second: str | None, until: str | None
) -> None:
    world, caller = quiet_world()
    previous = SWAP.but(until=first)
    caller.run(lambda cluster: set_pause(cluster, previous, dry_run=False))
    change = caller.run(lambda cluster: set_pause(cluster, OTHER.but(until=second), dry_run=False))
    both = Pause(reason="power test; before that anna: switch swap", by="anna", until=until)
    again = caller.run(lambda cluster: set_pause(cluster, OTHER.but(until=second), dry_run=False))
    ended = caller.run(lambda cluster: clear_pause(cluster, dry_run=False))

    assert change == PauseChange(previous, both)
    assert again.after == both
    assert ended.before == both
    assert "pause" not in (spec(world) or {})


@pytest.mark.attack("U9")
def test_a_pause_is_replaced_on_request_or_after_its_end() -> None:
    world, caller = quiet_world()
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    caller.run(lambda cluster: set_pause(cluster, OTHER, replace=True, dry_run=False))
    assert (spec(world) or {})["pause"] == {"reason": "power test", "by": "anna"}

    over = SWAP.but(until="2020-01-01T00:00:00Z")
    caller.run(lambda cluster: set_pause(cluster, over, replace=True, dry_run=False))
    assert caller.run(lambda cluster: set_pause(cluster, OTHER, dry_run=False)) == PauseChange(None, OTHER)


def test_a_merged_reason_has_at_most_the_length_that_the_api_allows() -> None:
    long = SWAP.but(reason="x" * 1024)

    assert len(merged_pause(OTHER, long).reason) == 1024


def test_a_pause_with_the_keep_option_is_kept() -> None:
    world, caller = quiet_world()
    other = Pause(reason="power test", by="anna")
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))

    assert caller.run(lambda cluster: set_pause(cluster, other, keep=True, dry_run=False)) == PauseChange(
        SWAP, SWAP
    )
    assert (spec(world) or {})["pause"] == {"reason": "switch swap", "by": "anna"}


def test_resuming_what_is_not_paused_writes_nothing() -> None:
    world, caller = quiet_world()
    revision = world.server.revision

    assert caller.run(lambda cluster: clear_pause(cluster, dry_run=False)) == PauseChange(None, None)
    assert world.server.revision == revision


def test_a_refusal_shows_the_server_s_message() -> None:
    _, caller = quiet_world()
    in_another_s_name = Pause(reason="switch swap", by="berta")

    with pytest.raises(CommandFailure, match=r"spec\.pause\.by must be your own user name, anna"):
        caller.run(lambda cluster: set_pause(cluster, in_another_s_name, dry_run=False))


def test_the_red_handle_keeps_a_pause_but_not_one_that_ends_by_itself() -> None:
    world, caller = quiet_world()
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    stop = Pause(reason="stop --all", by="anna")
    assert caller.run(lambda cluster: set_pause(cluster, stop, keep=True, dry_run=False)) == PauseChange(
        SWAP, SWAP
    )
    ending = SWAP.but(until="2026-01-01T02:00:00Z")
    caller.run(lambda cluster: set_pause(cluster, ending, replace=True, dry_run=False))
    caller.run(lambda cluster: set_pause(cluster, stop, keep=True, dry_run=False))
    both = "stop --all; before that anna: switch swap"
    assert (spec(world) or {})["pause"] == {"reason": both, "by": "anna"}


def pause_of_check(world: World) -> object:
    return world.admin_api.list(NODE_HEALTH_CHECK)[0]["spec"].get("pause")


def test_one_check_is_paused_and_resumed_and_the_policy_stays_as_it_is() -> None:
    world, caller = quiet_world()
    policy = spec(world)
    paused = caller.run(lambda cluster: set_pause(cluster, SWAP, check=CHECK, dry_run=False))
    during = pause_of_check(world)
    resumed = caller.run(lambda cluster: clear_pause(cluster, check=CHECK, dry_run=False))

    assert (paused, resumed) == (PauseChange(None, SWAP), PauseChange(SWAP, None))
    assert during == {"reason": "switch swap", "by": "anna"}
    assert pause_of_check(world) is None
    assert spec(world) == policy
    assert caller.run(lambda cluster: clear_pause(cluster, check=CHECK, dry_run=False)) == PauseChange(
        None, None
    )


def test_a_check_that_is_not_there_cannot_be_paused() -> None:
    _, caller = quiet_world()
    with pytest.raises(CommandFailure, match="there is no NodeHealthCheck wrokers"):
        caller.run(lambda cluster: set_pause(cluster, SWAP, check="wrokers", dry_run=False))
