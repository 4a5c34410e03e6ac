"""Rounds in which the host cannot be powered off, or does not come back: held, reported, never released."""

from nodemend.api import well_known
from tests.e2e.power.round import Round, Story, stories_of

WITHIN = 240.0


def never_goes_off(round_: Round) -> None:
    """Its BMC accepts the command, and the machine keeps running."""
    chassis = round_.cell.stage.room.computer(round_.node).chassis
    chassis.faults.off_ignored = True
    _is_given_up(round_)
    round_.expect("it was asked for", seen="off" in round_.orders())
    chassis.faults.off_ignored = False
    _is_mended(round_)


def has_a_dead_bmc(round_: Round) -> None:
    bmc = round_.cell.stage.room.bmcs[round_.node]
    bmc.process.pause()
    _is_given_up(round_)
    bmc.process.resume()
    _is_mended(round_)


def bmc_refuses(round_: Round) -> None:
    chassis = round_.cell.stage.room.computer(round_.node).chassis
    chassis.faults.refuses = True
    _is_given_up(round_)
    chassis.faults.refuses = False
    _is_mended(round_)


def does_not_come_back_at_once(round_: Round) -> None:
    """It is released, and then its machine does not start for a while."""
    chassis = round_.cell.stage.room.computer(round_.node).chassis
    chassis.faults.on_ignored = True
    round_.fall_silent()
    round_.until_phase("power-on")
    round_.cell.until("the workload has moved", lambda: round_.cell.where() not in ("", round_.node))
    round_.expect("it is off", seen=not round_.powered)
    chassis.faults.on_ignored = False
    round_.until_over()


def _is_given_up(round_: Round) -> None:
    """After one retry a person must help: its workload was never released, and still runs there."""
    round_.fall_silent()
    round_.until_phase("backing-off", within=WITHIN)
    round_.nothing_is_released()
    round_.until_phase("failed", within=WITHIN)
    round_.nothing_is_released()
    said = round_.cell.condition(round_.node, "Succeeded")
    round_.expect("it says so", seen=said["status"] == "False")
    round_.cell.until("an event says so", lambda: "RemediationFailed" in round_.events())
    last = round_.cell.register.last()
    round_.expect("its workload runs", seen=last is not None and last.boot == round_.boot)


def _is_mended(round_: Round) -> None:
    """Repair the cable, and clear the recorded errors.

    Ironic would report the error of an abandoned command for the first command of the next round, which would
    then run differently. Detaching a host resets its record.
    """
    cell, node = round_.cell, round_.node
    cell.mend_cable(node)
    round_.until_over()
    for annotation, becomes in (("", "detached"), (None, "OK")):
        cell.stage.room.annotate_host(node, well_known.HOST_DETACHED, annotation)
        round_.until_operational(becomes)
    round_.until_over()


STORIES: list[Story] = stories_of([never_goes_off, has_a_dead_bmc, bmc_refuses, does_not_come_back_at_once])
