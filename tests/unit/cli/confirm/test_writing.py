"""A confirmation is written only for the state that was shown."""

import pytest

from nodemend.api.resources import MANUAL_REMEDIATION, POD, REMEDIATION_POLICY
from nodemend.cli.confirm import ConfirmView, confirm, prepare, withdraw
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from simulation.cluster.world import World
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.cli.unhealthy_world import SICK, unhealthy_world


def shown_to(caller: SimulatedCaller, node: str = SICK, namespace: str = "") -> ConfirmView:
    return caller.run(lambda cluster: prepare(cluster, node, namespace, "pulled the plug"))


def refused(caller: SimulatedCaller, node: str = SICK) -> str:
    with pytest.raises(CommandFailure) as failure:
        shown_to(caller, node)
    assert failure.value.code is ExitCode.WRONG
    return failure.value.message


def confirmation(world: World) -> dict[str, str] | None:
    remediation = world.admin_api.get(MANUAL_REMEDIATION, SICK, "nodemend-system")
    assert remediation is not None
    found: dict[str, str] | None = remediation["spec"].get("confirmation")
    return found


@pytest.mark.slow
def test_the_text_shows_the_node_its_last_heartbeat_and_the_workloads_that_move() -> None:
    with unhealthy_world() as (world, caller):
        shown = shown_to(caller)
        on_node = [p for p in world.admin_api.list(POD) if p["spec"].get("nodeName") == SICK]

    assert (shown.node, shown.namespace, shown.check) == (SICK, "nodemend-system", "all-nodes")
    assert (shown.by, shown.reason, shown.boot_id) == ("anna", "pulled the plug", "node-1-boot-1")
    assert 200.0 < shown.silent_for < 240.0
    assert shown.pods == tuple(sorted(f"default/{pod['metadata']['name']}" for pod in on_node))
    assert shown.volumes == tuple(sorted(pod["metadata"]["name"] for pod in on_node))
    assert shown.cautions == ()


@pytest.mark.slow
def test_a_confirmation_moves_the_workloads() -> None:
    with unhealthy_world() as (world, caller):
        shown = shown_to(caller)
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        given = confirmation(world)
        world.run(330.0)
        homes = {pod["spec"].get("nodeName") for pod in world.admin_api.list(POD)}

    assert given is not None
    assert (given["by"], given["reason"], given["lastRenewTime"]) == (
        "anna",
        "pulled the plug",
        shown.last_renew_time,
    )
    assert SICK not in homes


@pytest.mark.slow
def test_a_confirmation_for_a_node_without_a_remediation_is_refused() -> None:
    with unhealthy_world() as (_, caller):
        assert refused(caller, "node-2") == "node-2 is not under remediation."


@pytest.mark.slow
def test_a_confirmation_before_the_silence_has_lasted_is_refused() -> None:
    with unhealthy_world(until=180.0) as (_, caller):
        assert refused(caller) == (
            "The remediator has not yet observed 40 s without a renewal by the kubelet. Nothing was written."
        )


@pytest.mark.slow
def test_a_confirmation_for_a_boot_that_has_ended_is_refused() -> None:
    with unhealthy_world() as (world, caller):
        world.machines[SICK].power_on()
        # The node has reported its new boot, and the remediator has not reconciled it yet.
        for replica in world.replicas:
            replica.process.pause(100.0)
        world.run(312.0)
        reported = refused(caller)

    assert reported == (
        "This is now boot node-1-boot-2, and the remediation still names node-1-boot-1. Nothing was written."
    )


@pytest.mark.slow
def test_a_second_word_is_refused_with_who_gave_the_first() -> None:
    with unhealthy_world() as (world, caller):
        for replica in world.replicas:
            replica.process.pause(100.0)
        shown = shown_to(caller)
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        reported = refused(SimulatedCaller(world, "berta"))

    assert reported == "anna has already confirmed that node-1 is down: pulled the plug. Nothing was written."


@pytest.mark.slow
def test_a_user_who_may_not_confirm_sees_the_missing_rights() -> None:
    with unhealthy_world() as (world, _):
        vera = SimulatedCaller(world, "vera", verbs=("get", "list", "patch"))
        with pytest.raises(CommandFailure, match="vera may not confirm") as failure:
            shown_to(vera)

    assert "nodemend-confirmer" in failure.value.next_step


@pytest.mark.slow
def test_a_heartbeat_after_the_read_ends_it() -> None:
    """The operator observed the machine off before, and has not seen the later changes."""
    with unhealthy_world() as (world, caller):
        shown = shown_to(caller)
        world.machines[SICK].power_on()
        world.run(320.0)
        world.machines[SICK].power_off()
        world.run(600.0)
        with pytest.raises(CommandFailure) as failure:
            caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        given = confirmation(world)

    assert (
        failure.value.message
        == "node-1 has booted, or renewed its Lease, since it was shown. Nothing was written."
    )
    assert given is None


@pytest.mark.slow
def test_a_closed_guard_is_a_caution() -> None:
    with unhealthy_world() as (world, caller):
        world.admin_api.patch(REMEDIATION_POLICY, "cluster", {"spec": {"pause": {"reason": "swap"}}})
        shown = shown_to(caller)

    [caution] = shown.cautions
    assert caution.startswith("Nothing would be released now. Paused by an unknown user: swap.")


@pytest.mark.slow
def test_a_confirmation_can_be_withdrawn_before_the_release() -> None:
    with unhealthy_world() as (world, caller):
        for replica in world.replicas:
            replica.process.pause(100.0)
        shown = shown_to(caller)
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        taken = caller.run(lambda cluster: withdraw(cluster, SICK, "", dry_run=False))
        left = confirmation(world)

    assert (taken.by, taken.reason, left) == ("anna", "pulled the plug", None)


@pytest.mark.slow
def test_a_confirmation_cannot_be_withdrawn_once_the_release_has_begun() -> None:
    with unhealthy_world() as (world, caller):
        shown = shown_to(caller)
        caller.run(lambda cluster: confirm(cluster, shown, dry_run=False))
        world.run(285.0)
        with pytest.raises(CommandFailure) as failure:
            caller.run(lambda cluster: withdraw(cluster, SICK, "", dry_run=False))

    assert "may be withdrawn only before the release starts" in failure.value.message


def test_without_a_confirmation_there_is_nothing_to_withdraw() -> None:
    with (
        unhealthy_world() as (_, caller),
        pytest.raises(CommandFailure, match="there is no confirmation to withdraw for node-1"),
    ):
        caller.run(lambda cluster: withdraw(cluster, SICK, "", dry_run=False))


@pytest.mark.slow
def test_a_remediation_in_another_namespace_is_not_found() -> None:
    with (
        unhealthy_world() as (_, caller),
        pytest.raises(CommandFailure, match="not under remediation in default"),
    ):
        shown_to(caller, namespace="default")
