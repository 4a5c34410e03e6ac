"""Rounds in which the host's status is not trustworthy: nothing is released until it is."""

import time
from collections.abc import Callable

from machine_room.hosts import NAMESPACE, bare_metal_host, secret, system_uuid
from nodemend.api import well_known
from tests.e2e.power.round import Round, Story, host_path, stories_of

A_WHILE = 8.0


def is_paused(round_: Round) -> None:
    _annotated(round_, well_known.HOST_PAUSED, "PausedHost")


def is_detached(round_: Round) -> None:
    _annotated(round_, well_known.HOST_DETACHED, "Detached")


def is_paused_while_held_off(round_: Round) -> None:
    _annotated_late(round_, well_known.HOST_PAUSED)


def is_detached_while_held_off(round_: Round) -> None:
    _annotated_late(round_, well_known.HOST_DETACHED)


def cannot_be_switched_off(round_: Round) -> None:
    """By its owner's setting: a power-off request would reboot it again and again."""
    room = round_.cell.stage.room
    room.change_host(round_.node, {"spec": {"disablePowerOff": True}})
    _is_held_up(round_, "PowerOffDisabled")
    round_.expect("it was not rebooted", seen=round_.orders() == [] and not round_.cell.held(round_.node))
    room.change_host(round_.node, {"spec": {"disablePowerOff": None}})
    round_.until_healed()


def is_another_machine(round_: Round) -> None:
    """The host that its provider ID names reports another system UUID."""
    room = round_.cell.stage.room
    room.annotate_host(round_.node, well_known.HOST_SYSTEM_UUID, "00000000-0000-4000-8000-000000000000")
    _is_held_up(round_, "WrongHost")
    round_.expect("it was not switched off", seen=round_.orders() == [] and round_.powered)
    room.annotate_host(round_.node, well_known.HOST_SYSTEM_UUID, system_uuid(round_.node))
    round_.until_healed()


def was_off_before(round_: Round) -> None:
    """Its owner powers it off, so the time since when it is off is unknown."""
    room = round_.cell.stage.room
    room.change_host(round_.node, {"spec": {"online": False}})
    round_.until_off()
    _is_held_up(round_, "OffByOthers")
    room.change_host(round_.node, {"spec": {"online": True}})
    round_.until_over()


def loses_its_secret(round_: Round) -> None:
    """The deletion includes the operator's finalizer, which it cannot add to a deleted Secret again."""
    api, path = round_.cell.stage.plane.api, f"/api/v1/namespaces/{NAMESPACE}/secrets/{round_.node}-bmc"
    api.delete(path)
    if api.find(path) is not None:
        api.patch(path, {"metadata": {"finalizers": []}})
    round_.until_operational("error")
    _is_held_up(round_, "HostInError")
    api.create(secret(round_.node))
    round_.until_healed()


def is_serviced(round_: Round) -> None:
    """Firmware updates start when its host is off, and may run the machine."""
    api = round_.cell.stage.plane.api
    meta = {"name": round_.node, "namespace": NAMESPACE}
    kinds = "metal3.io/v1alpha1"
    api.create(
        {
            "apiVersion": kinds,
            "kind": "HostUpdatePolicy",
            "metadata": meta,
            "spec": {"firmwareSettings": "onReboot"},
        }
    )
    api.request(
        "POST",
        f"/apis/{kinds}/namespaces/{NAMESPACE}/hostfirmwaresettings",
        {
            "apiVersion": kinds,
            "kind": "HostFirmwareSettings",
            "metadata": meta,
            "spec": {"settings": {"Turbo": "Off"}},
        },
    )
    conditions = [_condition("ChangeDetected"), _condition("Valid")]
    path = f"/apis/{kinds}/namespaces/{NAMESPACE}/hostfirmwaresettings/{round_.node}"
    api.patch(f"{path}/status", {"status": {"conditions": conditions, "settings": {}}})
    round_.fall_silent()
    round_.until_operational("servicing")
    deadline = time.monotonic() + A_WHILE
    while round_.operational() == "servicing" and time.monotonic() < deadline:
        round_.nothing_is_released()
        time.sleep(0.2)
    for kind in ("hostfirmwaresettings", "hostupdatepolicies"):
        api.delete(f"/apis/{kinds}/namespaces/{NAMESPACE}/{kind}/{round_.node}")
    round_.until_over()


def is_deleted_while_held(round_: Round) -> None:
    """Its operator leaves the machine off, and nothing can report that: nothing is released."""
    round_.cell.stage.room.computer(round_.node).chassis.seconds_to_off = 4.0
    round_.fall_silent()
    round_.until_held()
    _enrol_again(round_, between=lambda: _is_reported_gone(round_))
    round_.until_over()


def _is_reported_gone(round_: Round) -> None:
    round_.until_phase("failed")
    round_.expect("it says why", seen=round_.why() == "HostGone")
    round_.nothing_released_for(2.0)


def _annotated(round_: Round, key: str, why: str) -> None:
    room = round_.cell.stage.room
    room.annotate_host(round_.node, key, "")
    _is_held_up(round_, why)
    round_.expect("it was left alone", seen=round_.orders() == [] and not round_.cell.held(round_.node))
    room.annotate_host(round_.node, key, None)
    round_.until_healed()


def _annotated_late(round_: Round, key: str) -> None:
    """Annotate it after the power-off request and before its operator reports off; remove the annotation
    later.
    """
    room = round_.cell.stage.room
    round_.fall_silent()
    round_.until_held()
    room.annotate_host(round_.node, key, "")
    if not _said_off(round_):
        round_.nothing_released_for(A_WHILE)
    room.annotate_host(round_.node, key, None)
    round_.until_healed()


def _said_off(round_: Round) -> bool:
    return round_.cell.stage.room.host(round_.node)["status"].get("poweredOn") is False


def _is_held_up(round_: Round, why: str) -> None:
    round_.fall_silent()
    round_.until_said(why)
    round_.nothing_released_for(A_WHILE)


def _condition(kind: str) -> dict[str, str]:
    now = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": "True", "reason": "Success", "message": "", "lastTransitionTime": now}


def _enrol_again(round_: Round, between: Callable[[], None] = lambda: None) -> None:
    """Delete the host, and create it again with the same BMC."""
    room, node = round_.cell.stage.room, round_.node
    api = room.plane.api
    api.delete(host_path(node))
    round_.cell.until("its host is gone", lambda: api.find(host_path(node)) is None)
    between()
    api.delete(f"/api/v1/namespaces/{NAMESPACE}/secrets/{node}-bmc")
    round_.cell.until(
        "its secret is gone", lambda: api.find(f"/api/v1/namespaces/{NAMESPACE}/secrets/{node}-bmc") is None
    )
    for document in (secret(node), bare_metal_host(node, room.bmcs[node].address)):
        api.create(document)


STORIES: list[Story] = stories_of(
    [
        is_paused,
        is_detached,
        is_paused_while_held_off,
        is_detached_while_held_off,
        cannot_be_switched_off,
        is_another_machine,
        was_off_before,
        loses_its_secret,
        is_serviced,
        is_deleted_while_held,
    ]
)
