"""A pause is one field of one object, written in the caller's own name."""

import pytest

from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.pause import Pause
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.pause.writing import Change, clear_pause, set_pause
from nodemend.testing.cluster.world import CHECK, Shape, World
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

    assert (paused, resumed) == (Change(None), Change(SWAP))
    assert during == {**(before or {}), "pause": {"reason": "switch swap", "by": "anna"}}
    assert spec(world) == before


def test_where_there_is_no_policy_one_is_made_that_acts_no_more_than_before() -> None:
    world, caller = quiet_world()
    world.admin_api.delete(REMEDIATION_POLICY, "cluster")
    change = caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    made = spec(world)

    assert change == Change(None, created=True)
    assert made is not None
    assert (made["mode"], made["pause"]) == ("DryRun", {"reason": "switch swap", "by": "anna"})


def test_a_second_pause_replaces_the_reason_and_tells_the_first() -> None:
    world, caller = quiet_world()
    other = Pause(reason="power test", by="anna")
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))

    assert caller.run(lambda cluster: set_pause(cluster, other, dry_run=False)) == Change(SWAP)
    assert (spec(world) or {})["pause"] == {"reason": "power test", "by": "anna"}


def test_a_pause_that_is_to_be_kept_is_kept() -> None:
    world, caller = quiet_world()
    other = Pause(reason="power test", by="anna")
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))

    assert caller.run(lambda cluster: set_pause(cluster, other, keep=True, dry_run=False)) == Change(SWAP)
    assert (spec(world) or {})["pause"] == {"reason": "switch swap", "by": "anna"}


def test_resuming_what_is_not_paused_writes_nothing() -> None:
    world, caller = quiet_world()
    revision = world.server.revision

    assert caller.run(lambda cluster: clear_pause(cluster, dry_run=False)) == Change(None)
    assert world.server.revision == revision


def test_what_the_server_refuses_is_told_in_its_words() -> None:
    _, caller = quiet_world()
    in_another_s_name = Pause(reason="switch swap", by="berta")

    with pytest.raises(CommandFailure, match=r"spec\.pause\.by must be your own user name, anna"):
        caller.run(lambda cluster: set_pause(cluster, in_another_s_name, dry_run=False))


def test_a_pause_without_an_end_does_not_inherit_the_end_of_the_one_before() -> None:
    world, caller = quiet_world()
    ending = SWAP.but(until="2026-01-01T02:00:00Z")
    caller.run(lambda cluster: set_pause(cluster, ending, dry_run=False))
    change = caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))

    assert change == Change(ending)
    assert (spec(world) or {})["pause"] == {"reason": "switch swap", "by": "anna"}


def test_the_red_handle_keeps_a_pause_but_not_one_that_ends_by_itself() -> None:
    world, caller = quiet_world()
    caller.run(lambda cluster: set_pause(cluster, SWAP, dry_run=False))
    stop = Pause(reason="stop --all", by="anna")
    assert caller.run(lambda cluster: set_pause(cluster, stop, keep=True, dry_run=False)) == Change(SWAP)
    caller.run(lambda cluster: set_pause(cluster, SWAP.but(until="2026-01-01T02:00:00Z"), dry_run=False))
    caller.run(lambda cluster: set_pause(cluster, stop, keep=True, dry_run=False))
    assert (spec(world) or {})["pause"] == {"reason": "stop --all", "by": "anna"}


def pause_of_check(world: World) -> object:
    return world.admin_api.list(NODE_HEALTH_CHECK)[0]["spec"].get("pause")


def test_one_check_is_paused_and_resumed_and_the_policy_stays_as_it_is() -> None:
    world, caller = quiet_world()
    policy = spec(world)
    paused = caller.run(lambda cluster: set_pause(cluster, SWAP, check=CHECK, dry_run=False))
    during = pause_of_check(world)
    resumed = caller.run(lambda cluster: clear_pause(cluster, check=CHECK, dry_run=False))

    assert (paused, resumed) == (Change(None), Change(SWAP))
    assert during == {"reason": "switch swap", "by": "anna"}
    assert pause_of_check(world) is None
    assert spec(world) == policy
    assert caller.run(lambda cluster: clear_pause(cluster, check=CHECK, dry_run=False)) == Change(None)


def test_a_check_that_is_not_there_cannot_be_paused() -> None:
    _, caller = quiet_world()
    with pytest.raises(CommandFailure, match="there is no NodeHealthCheck wrokers"):
        caller.run(lambda cluster: set_pause(cluster, SWAP, check="wrokers", dry_run=False))
