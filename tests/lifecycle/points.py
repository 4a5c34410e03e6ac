"""Where a power cycle can be, and what keeps it there while something else happens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from nodemend.api import keys
from tests.power_e2e.round import Round

PATIENT: Final = {"powerOffTimeoutSeconds": 600, "powerOnTimeoutSeconds": 120}
"""What lets a power cycle stay where it is until all have got to where they should be."""
UNTIRING: Final = {"strategy": "retry", "powerOffTimeoutSeconds": 30, "powerOnTimeoutSeconds": 120}
"""What fails soon, and never for good, however long the others take."""
TEMPLATES: Final[dict[str, dict[str, Any]]] = {"patient": PATIENT, "untiring": UNTIRING}


@dataclass(frozen=True, slots=True)
class Point:
    """`reach` may be called again: it then waits until the power cycle is there once more."""

    name: str
    reach: Callable[[Round], None]
    template: str = "patient"
    passes: bool = False
    """It goes on by itself while the others are on their way."""


def _pending(round_: Round) -> None:
    round_.cell.stage.room.annotate_host(round_.node, keys.HOST_PAUSED, "")
    round_.fall_silent()
    round_.until_said("PausedHost")


def _held(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.off_ignored = True
    round_.fall_silent()
    round_.until_held()


def _off(round_: Round) -> None:
    """Off under our hold, and out of sight before anything was released on it."""
    round_.fall_silent()
    round_.until_off()
    round_.cell.stage.room.annotate_host(round_.node, keys.HOST_PAUSED, "")


def _releasing(round_: Round) -> None:
    round_.cell.stage.plane.attacher.hold(round_.node)
    round_.fall_silent()
    round_.cell.until("its taint is on", lambda: round_.cell.tainted(round_.node))


def _powering_on(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.on_ignored = True
    round_.fall_silent()
    round_.until_said("AwaitingOn", "HostInError")


def _backing_off(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.off_ignored = True
    round_.fall_silent()
    round_.until_phase("backing-off")


POINTS = (
    Point("pending", _pending),
    Point("held", _held),
    Point("off", _off),
    Point("releasing", _releasing),
    Point("powering on", _powering_on),
    Point("backing off", _backing_off, template="untiring", passes=True),
)
