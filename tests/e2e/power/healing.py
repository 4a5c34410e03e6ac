"""Rounds that end with the workload on the other node and the failed node back."""

from nodemend.api import well_known
from tests.e2e.power.round import Round, Story, stories_of


def is_healed(round_: Round) -> None:
    round_.fall_silent()
    round_.until_healed()
    round_.expect("it was switched off once, and on once", seen=round_.switches() == ["off", "on"])
    round_.expect("it was released once", seen=len(round_.releases()) == 1)


def was_switched_off_by_hand(round_: Round) -> None:
    """metal3 keeps reporting that it is on, and may power it on before the remediator requests anything."""
    round_.cell.stage.room.computer(round_.node).chassis.switch_off()
    round_.cell.until("it is missed", lambda: not round_.cell.is_whole())
    round_.until_over()


def is_switched_on_by_hand_while_held(round_: Round) -> None:
    """metal3 keeps reporting that it is off. The released boot has ended all the same."""
    round_.fall_silent()
    round_.until_phase("release")
    round_.until_off()
    computer = round_.cell.stage.room.computer(round_.node)
    computer.chassis.switch_on()
    computer.cut_in = computer.chassis.boot
    round_.cell.until("it is switched off again", lambda: not round_.powered)
    round_.until_healed()


def volume_never_detaches(round_: Round) -> None:
    """Its host stays off while its volume is attached, and no other node has the volume."""
    attacher = round_.cell.stage.plane.attacher
    attacher.hold(round_.node)
    round_.fall_silent()
    round_.until_said("WorkloadsLeaving")
    round_.cell.until("only its volume is left", lambda: _left(round_) == (0, 1))
    round_.expect("it stays off, and held", seen=not round_.powered and round_.cell.held(round_.node))
    round_.expect("the workload waits for its disk", seen=round_.cell.where() == "")
    attacher.release(round_.node)
    round_.until_healed()


def another_has_tainted_it(round_: Round) -> None:
    """As medik8s, metal3's provider or a user does: the API server accepts no second such taint."""
    api, path = round_.cell.stage.plane.api, f"/api/v1/nodes/{round_.node}"
    round_.fall_silent()
    round_.until_held()
    round_.until_off()
    others = api.get(path)["spec"].get("taints", [])
    theirs = {"key": well_known.OUT_OF_SERVICE, "value": "nodeshutdown", "effect": well_known.NO_EXECUTE}
    api.patch(path, {"spec": {"taints": [*others, theirs]}})
    round_.until_healed()
    round_.expect("theirs is still on it", seen=round_.cell.tainted(round_.node))
    round_.expect("ours never was", seen=not round_.releases())
    kept = [taint for taint in api.get(path)["spec"]["taints"] if taint["key"] != well_known.OUT_OF_SERVICE]
    api.patch(path, {"spec": {"taints": kept}})


def power_off_request_is_cleared(round_: Round) -> None:
    """Another client removes it before the host is off: it is set again, or another attempt starts."""
    round_.fall_silent()
    round_.until_held()
    host = round_.cell.stage.room.host(round_.node)
    for key in host["metadata"]["annotations"]:
        if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX):
            round_.cell.stage.room.annotate_host(round_.node, key, None)
    round_.until_healed()


def _left(round_: Round) -> tuple[int, int]:
    status = round_.cell.status(round_.node)
    return status.get("podsLeft", 0), status.get("attachmentsLeft", 0)


STORIES: list[Story] = stories_of(
    [
        is_healed,
        was_switched_off_by_hand,
        is_switched_on_by_hand_while_held,
        volume_never_detaches,
        another_has_tainted_it,
        power_off_request_is_cleared,
    ]
)
