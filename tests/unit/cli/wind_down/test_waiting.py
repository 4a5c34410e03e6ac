"""The remediator ends everything in progress safely, and the command reports what does not end."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    LEASE,
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    NODE,
    REMEDIATION_POLICY,
)
from nodemend.cli.confirm import confirm, prepare
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.wind_down.leftovers import MarkerOnLease, NotRead, PowerOffRequestOnHost, StillOpen
from nodemend.cli.wind_down.waiting import LED_WITHIN, SWEPT_WITHIN
from simulation.cluster.direct import Direct
from simulation.cluster.world import World
from simulation.metal3.rack import NAMESPACE
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.cli.unhealthy_world import SICK, unhealthy_world
from tests.unit.cli.wind_down.scenes import WHERE, Run
from tests.unit.remediation.complaints import BY_CONDITION
from tests.unit.remediation.metal3.power_world import SICK as HOST
from tests.unit.remediation.metal3.power_world import PowerWorld
from tests.unit.remediation.self_fencing.fencing_world import SICK as FENCED
from tests.unit.remediation.self_fencing.fencing_world import FencingWorld

LEFT = f"{well_known.POWER_OFF_REQUEST_PREFIX}of-a-remediation-that-is-gone"


@pytest.fixture
def power() -> Iterator[PowerWorld]:
    found = PowerWorld("wind down", check=BY_CONDITION)
    found.world.machines[HOST].hung = True
    found.run(50.0)
    found.ask()
    yield found
    found.close()


def until(world: PowerWorld, phase: str, *, read_interval: float = 1.0) -> None:
    for _ in range(round(500 / read_interval)):
        if world.status.get("phase") == phase:
            return
        world.run(read_interval)
    raise AssertionError(f"it never came to {phase}")


def silence(world: World) -> None:
    """Every controller stops for the rest of the test."""
    for replica in world.replicas:
        replica.process.pause(10_000.0)


def pause_of(api: Direct) -> dict[str, str]:
    policy = api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
    assert policy is not None
    found: dict[str, str] = policy["spec"].get("pause", {})
    return found


def is_tainted(api: Direct, name: str) -> bool:
    node = api.get(NODE, name)
    assert node is not None
    return any(taint["key"] == well_known.OUT_OF_SERVICE for taint in node["spec"].get("taints", ()))


@pytest.mark.slow
def test_a_remediation_that_waits_for_a_confirmation_ends_and_no_new_one_begins() -> None:
    with unhealthy_world() as (world, caller):
        run = Run()
        view = run.by(caller)
        world.run(world.scheduler.now + 600.0)
        api = world.admin_api

        assert view.done
        assert view.ended == (SICK,)
        assert view.pause_reason == "winding down"
        assert pause_of(api) == {"reason": "winding down", "by": "anna"}
        # Its check still exists, and its node is still unhealthy: only the pause prevents a new remediation.
        assert api.get(MANUAL_REMEDIATION, SICK, WHERE) is None
    assert any("WaitingForConfirmation" in line for line in run.reported)
    assert run.reported[-1] == f"{SICK}: ended"


@pytest.mark.slow
def test_one_that_releases_finishes_that_first() -> None:
    with unhealthy_world() as (world, caller):
        shown = caller.run(lambda cluster: prepare(cluster, SICK, "", "pulled the plug"))
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        world.run(282.0)
        assert is_tainted(world.admin_api, SICK)
        view = Run().by(caller)

        assert view.done
        assert not is_tainted(world.admin_api, SICK)


@pytest.mark.parametrize("phase", ["pending", "power-off", "release", "power-on", "succeeded"])
def test_a_power_cycle_releases_its_host_in_any_phase(power: PowerWorld, phase: str) -> None:
    until(power, phase)
    view = Run().by(SimulatedCaller(power.world))

    assert view.done
    assert view.ended == (HOST,)
    assert power.remediation is None
    assert not power.holds
    assert power.world.machines[HOST].powered
    assert not is_tainted(power.api, HOST)


@pytest.mark.slow
def test_a_remediation_that_is_requested_repeatedly_is_reported_as_such(power: PowerWorld) -> None:
    until(power, "power-off")

    def insist() -> None:
        if power.remediation is None:
            power.ask()
        power.world.scheduler.after(0.5, insist)

    insist()
    run = Run()
    view = run.by(SimulatedCaller(power.world), wait=60.0)
    power.run(60.0)

    left = next(one for one in view.left if one.kind == "StillOpen")
    assert left.because == ("it was created after the winding down had begun (it belongs to Machine m-1)")
    # It had no effect: the cluster is paused.
    assert not power.holds
    assert power.world.machines[HOST].powered


def test_an_orphaned_hold_is_reported_if_it_is_not_released(power: PowerWorld) -> None:
    silence(power.world)
    until_there = power.api.get(METAL3_REMEDIATION, "m-1", NAMESPACE)
    assert until_there is not None
    power.api.patch(METAL3_REMEDIATION, "m-1", {"metadata": {"finalizers": None}}, at=(NAMESPACE, ""))
    power.patch_host({"metadata": {"annotations": {LEFT: well_known.HARD_HOLD}}})
    run = Run()
    view = run.by(SimulatedCaller(power.world), wait=30.0)

    assert not view.done
    assert [type(one) for one in run.left] == [PowerOffRequestOnHost]
    assert LEFT in power.annotations


def test_the_wind_down_waits_for_the_remediator_s_garbage_collection(power: PowerWorld) -> None:
    """A remediation has existed for a while, so the remediator checks hosts each minute."""
    power.run(65.0)
    power.patch_host({"metadata": {"annotations": {LEFT: well_known.HARD_HOLD}}}, "node-2")
    run = Run()
    view = run.by(SimulatedCaller(power.world))

    assert view.done
    assert any(LEFT.removeprefix(well_known.POWER_OFF_REQUEST_PREFIX) in line for line in run.reported)
    other = power.api.get(BARE_METAL_HOST, "node-2", NAMESPACE)
    assert other is not None
    assert LEFT not in other["metadata"].get("annotations", {})


@pytest.mark.slow
def test_a_host_that_stays_off_is_reported_even_without_a_hold(power: PowerWorld) -> None:
    until(power, "power-on", read_interval=0.1)
    power.patch_host({"metadata": {"annotations": {well_known.HOST_PAUSED: "somebody"}}})
    run = Run()
    view = run.by(SimulatedCaller(power.world))

    assert view.done
    assert [one.kind for one in view.left] == ["PowerNotRestored"]
    assert not power.world.machines[HOST].powered


@pytest.mark.slow
def test_the_wind_down_waits_for_a_host_that_is_powering_on(power: PowerWorld) -> None:
    until(power, "power-on", read_interval=0.1)
    power.patch_host({"metadata": {"annotations": {well_known.HOST_PAUSED: "somebody"}}})
    unpaused: dict[str, Any] = {"metadata": {"annotations": {well_known.HOST_PAUSED: None}}}
    # By then its remediation has stopped waiting for it.
    power.world.scheduler.after(100.0, lambda: power.patch_host(unpaused))
    run = Run()
    view = run.by(SimulatedCaller(power.world))

    assert view.done
    assert view.left == ()
    assert any("is off, and Nodemend does not hold it" in line for line in run.reported)
    assert power.world.machines[HOST].powered


@pytest.mark.slow
def test_the_wind_down_waits_for_orphans_no_longer_than_one_garbage_collection() -> None:
    power = PowerWorld("nothing open")
    try:
        power.run(700.0)
        power.patch_host({"metadata": {"annotations": {LEFT: well_known.HARD_HOLD}}})
        before = power.world.scheduler.now
        view = Run().by(SimulatedCaller(power.world))
        took = power.world.scheduler.now - before
    finally:
        power.close()

    assert not view.done
    assert SWEPT_WITHIN <= took < SWEPT_WITHIN + 30.0


def test_without_a_remediator_it_reports_that_at_once_and_does_not_wait() -> None:
    with unhealthy_world() as (world, caller):
        silence(world)
        world.run(world.scheduler.now + 60.0)
        run, before = Run(), world.scheduler.now
        view = run.by(caller)
        took = world.scheduler.now - before

        assert run.reported[0].startswith("remediator: remediator-")
        assert "has not renewed its Lease" in run.reported[0]
        assert "app.kubernetes.io/component=remediator" in run.reported[0]
        assert not view.done
        assert LED_WITHIN <= took < LED_WITHIN + 30.0
        (left,) = run.left
        assert isinstance(left, StillOpen)
        assert left.leader.absent


def test_without_a_remediator_and_without_leftovers_the_wind_down_succeeds() -> None:
    with unhealthy_world(until=70.0) as (world, caller):
        silence(world)
        world.run(world.scheduler.now + 60.0)

        assert Run().by(caller).done


def test_a_remediation_that_does_not_end_in_time_is_reported_with_what_it_waits_for(
    power: PowerWorld,
) -> None:
    until(power, "release")
    run = Run()
    view = run.by(SimulatedCaller(power.world), wait=4.0)

    assert not view.done
    held = next(one for one in view.left if one.kind == "PowerOffRequestOnHost")
    assert (
        held.what == f"host {NAMESPACE}/{HOST} (off) is still held off by Metal3Remediation {NAMESPACE}/m-1"
    )
    assert "TaintedNode" in {one.kind for one in view.left}
    assert "StillOpen" in {one.kind for one in view.left}
    # A second run, with more time.
    assert Run().by(SimulatedCaller(power.world)).done


def test_a_second_run_changes_nothing() -> None:
    with unhealthy_world() as (world, caller):
        Run().by(caller)
        before = world.admin_api.get(REMEDIATION_POLICY, well_known.POLICY_NAME)
        view = Run().by(caller)

        assert view.done
        assert view.ended == ()
        assert world.admin_api.get(REMEDIATION_POLICY, well_known.POLICY_NAME) == before


def test_an_existing_pause_keeps_its_reason_and_does_not_expire() -> None:
    with unhealthy_world() as (world, caller):
        api = world.admin_api
        api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": {"reason": "swap"}}})
        assert Run().by(caller).pause_reason == "swap"
        ends = {"reason": "swap", "until": "2100-01-01T00:00:00Z"}
        api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": ends}})
        reason = "winding down; before that an unknown user: swap"
        assert Run().by(caller).pause_reason == reason
        assert pause_of(api) == {"reason": reason, "by": "anna"}


def test_without_a_policy_nothing_starts_and_none_is_created() -> None:
    with unhealthy_world() as (world, caller):
        world.admin_api.delete(REMEDIATION_POLICY, well_known.POLICY_NAME)
        view = Run().by(caller)

        assert view.done
        assert view.pause_reason == ""
        assert world.admin_api.get(REMEDIATION_POLICY, well_known.POLICY_NAME) is None


@pytest.mark.parametrize("hidden", ["nodes", "manualremediations", "leases"])
def test_hidden_objects_do_not_count_as_absent(hidden: str) -> None:
    with unhealthy_world(until=70.0) as (world, _):
        run, before = Run(), world.scheduler.now
        view = run.by(SimulatedCaller(world, hidden=(hidden,)))

        assert not view.done
        assert NotRead in {type(one) for one in run.left}
        assert world.scheduler.now - before < 10.0


def test_unreadable_hosts_count_as_absent_if_metal3_is_not_installed(power: PowerWorld) -> None:
    with unhealthy_world(until=70.0) as (world, _):
        assert Run().by(SimulatedCaller(world, hidden=("baremetalhosts",))).done
    until(power, "power-off")
    run = Run()
    view = run.by(SimulatedCaller(power.world, hidden=("baremetalhosts",)))

    assert not view.done
    assert [type(one) for one in run.left] == [NotRead]


def test_a_remediation_that_may_not_be_ended_is_reported_with_the_refusal() -> None:
    with unhealthy_world() as (_, caller):
        caller.forbid_deletion(MANUAL_REMEDIATION.plural)
        view = Run().by(caller, wait=10.0)

        (left,) = view.left
        assert "it could not be deleted" in left.because
        assert "has no right to" in left.because


def test_a_cluster_that_is_silent_for_a_while_is_asked_again(power: PowerWorld) -> None:
    until(power, "release")
    caller, run = SimulatedCaller(power.world), Run()
    power.world.scheduler.after(2.0, caller.cut)
    power.world.scheduler.after(45.0, caller.heal)
    view = run.by(caller)

    assert view.done
    assert len([line for line in run.reported if line.startswith("no answer from the cluster")]) == 1


def test_a_cluster_that_stays_silent_ends_it(power: PowerWorld) -> None:
    until(power, "release")
    caller, run = SimulatedCaller(power.world), Run()
    power.world.scheduler.after(2.0, caller.cut)
    with pytest.raises(CommandFailure) as failed:
        run.by(caller, wait=60.0)

    assert failed.value.code is ExitCode.NO_ANSWER
    assert run.course.paused_for == "winding down"
    assert run.course.open


@pytest.fixture
def fencing() -> Iterator[FencingWorld]:
    found = FencingWorld("wind down")
    yield found
    assert found.twice == []
    found.close()


def test_a_reset_request_to_a_node_is_withdrawn(fencing: FencingWorld) -> None:
    fencing.cut_off()
    fencing.ask()
    fencing.run_until(lambda: fencing.marker is not None, 10.0)
    view = Run().by(SimulatedCaller(fencing.world))

    assert view.done
    assert view.ended == (FENCED,)
    assert fencing.remediation is None
    assert fencing.marker is None
    assert not fencing.out_of_service


def _leave_a_marker(fencing: FencingWorld) -> None:
    text = '{"nodeUID":"uid","bootID":"another","remediationUID":"gone"}'
    change = {"metadata": {"annotations": {well_known.MARKER: text}}}
    fencing.api.patch(LEASE, FENCED, change, at=(well_known.AGENT_NAMESPACE, ""))


@pytest.mark.slow
def test_the_wind_down_waits_until_the_remediator_removes_an_orphaned_marker(
    fencing: FencingWorld,
) -> None:
    fencing.cut_off()
    _leave_a_marker(fencing)
    run = Run()
    view = run.by(SimulatedCaller(fencing.world))

    assert view.done
    assert fencing.marker is None


def test_a_marker_that_is_not_removed_blocks_the_wind_down(fencing: FencingWorld) -> None:
    fencing.cut_off()
    silence(fencing.world)
    _leave_a_marker(fencing)
    run = Run()
    view = run.by(SimulatedCaller(fencing.world), wait=300.0)

    assert not view.done
    assert [type(one) for one in run.left if not isinstance(one, NotRead)] == [MarkerOnLease]
