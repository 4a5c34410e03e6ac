"""The points of a power cycle, and the means to keep it there during a change."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from nodemend.api import well_known
from tests.e2e.power.round import Round

PATIENT: Final = {"powerOffTimeoutSeconds": 600, "powerOnTimeoutSeconds": 120}
"""Settings with which a power cycle stays at its point until all others have reached their points."""
UNTIRING: Final = {"strategy": "retry", "powerOffTimeoutSeconds": 30, "powerOnTimeoutSeconds": 120}
"""Settings with which it fails soon, and never permanently, however long the others take."""
TEMPLATES: Final[dict[str, dict[str, Any]]] = {"patient": PATIENT, "untiring": UNTIRING}


@dataclass(frozen=True, slots=True)
class Point:
    """`reach` may be called again: it then waits until the power cycle has reached the point again."""

    name: str
    reach: Callable[[Round], None]
    template: str = "patient"
    passes: bool = False
    """True if it leaves the point by itself while the others are on their way."""


def _pending(round_: Round) -> None:
    round_.cell.stage.room.annotate_host(round_.node, well_known.HOST_PAUSED, "")
    round_.fall_silent()
    round_.until_said("PausedHost")


def _held(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.off_ignored = True
    round_.fall_silent()
    round_.until_held()


def _off(round_: Round) -> None:
    """Off under Nodemend's power-off request, and removed from metal3 before any release."""
    round_.fall_silent()
    round_.until_off()
    round_.cell.stage.room.annotate_host(round_.node, well_known.HOST_PAUSED, "")


def _releasing(round_: Round) -> None:
    round_.cell.stage.plane.attacher.hold(round_.node)
    round_.fall_silent()
    round_.cell.until("its taint is on", lambda: round_.cell.tainted(round_.node))


def _powering_on(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.on_ignored = True
    round_.fall_silent()
    round_.until_said("WaitingForPowerOn", "HostInError")


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
