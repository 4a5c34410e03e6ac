"""Rounds in which the remediation is deleted, or becomes obsolete because the node is back."""

from collections.abc import Callable
from functools import partial

from nodemend.api import well_known
from tests.e2e.power.round import Round, Story


def deleted(round_: Round, reach: Callable[[Round], None]) -> None:
    """The remediation is not created again, and must end safely by itself.

    A started release completes first.
    """
    cell = round_.cell
    round_.fall_silent()
    reach(round_)
    cell.unwatch()
    cell.stage.plane.api.delete(f"{cell.remediations}/{round_.node}")
    cell.stage.plane.attacher.release(round_.node)
    cell.until("it has ended", lambda: cell.remediation(round_.node) is None, 180.0)
    cell.until("its host is on", lambda: round_.powered)
    round_.undo_faults()
    cell.mend_cable(round_.node)
    round_.until_over()
    cell.watch()


def speaks_again(round_: Round, reach: Callable[[Round], None]) -> None:
    """The cable is repaired. A machine that is off by then comes back when it is powered on."""
    round_.fall_silent()
    reach(round_)
    round_.cell.mend_cable(round_.node)
    round_.undo_faults()
    round_.until_over()


def _pending(round_: Round) -> None:
    """Its host is paused during this phase."""
    round_.cell.stage.room.annotate_host(round_.node, well_known.HOST_PAUSED, "")
    round_.until_phase("pending")


def _asked_off(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.seconds_to_off = 3.0
    round_.until_held()


def _off(round_: Round) -> None:
    round_.until_off()


def _released(round_: Round) -> None:
    round_.cell.stage.plane.attacher.hold(round_.node)
    round_.cell.until("its taint is on", lambda: round_.cell.tainted(round_.node))


def _powering_on(round_: Round) -> None:
    round_.until_phase("power-on")


def _backing_off(round_: Round) -> None:
    round_.cell.stage.room.computer(round_.node).chassis.faults.off_ignored = True
    round_.until_phase("backing-off")


POINTS = {
    "while pending": _pending,
    "once held": _asked_off,
    "once off": _off,
    "once released": _released,
    "while powering on": _powering_on,
    "while backing off": _backing_off,
}
STORIES = [
    *(Story(f"is deleted {when}", partial(deleted, reach=reach)) for when, reach in POINTS.items()),
    *(Story(f"speaks again {when}", partial(speaks_again, reach=reach)) for when, reach in POINTS.items()),
]
