"""The power of a host that a workload may run on, or that waits for one: what is wished for, and ordered."""

from nodemend.testing.metal3.events import NO_REASON
from nodemend.testing.metal3.firmware import settle_work, work_is_pending
from nodemend.testing.metal3.host import Hold
from nodemend.testing.metal3.look import Again, AtOnce, Look, Outcome, Tools
from nodemend.testing.metal3.names import IN_USE, REBOOT, ErrorType, Operational
from nodemend.testing.metal3.provisioner import Accepted, Failed, Finished, PowerAnswer


async def manage_power(look: Look, tools: Tools) -> Outcome:
    """Note the record; then do the first thing that is to be done. In which order is part of the facts."""
    host = look.host
    record = await tools.provisioner.power(host.ref)
    look.bmc_lost = record.lost
    if record.on != host.powered_on:
        return _note(look, on=record.on)
    if not host.powered_on and host.wants_reboot_once:
        await look.remove_annotation(tools.api, REBOOT)
        return AtOnce()
    if (outcome := await _service(look, tools)) is not None:
        return outcome
    hold = host.hold(forced_only=host.state not in IN_USE)
    for name in hold.unreadable if hold else ():
        look.tell("InvalidAnnotationValue", f"could not parse the value of {name}")
    wanted = host.online and hold is None
    if wanted == host.powered_on:
        # An error stays although nobody wishes any more for what failed, and each look saves it anew.
        look.dirty = look.dirty or look.in_power_error
        return Again(tools.settings.steady)
    if wanted:
        return await _power_on(look, tools)
    return await _power_off(look, tools, hold)


def _note(look: Look, *, on: bool) -> Outcome:
    look.host.status["poweredOn"] = on
    if look.in_power_error:
        look.clear_error()
    look.dirty = True
    return AtOnce()


async def _service(look: Look, tools: Tools) -> Outcome | None:
    """Firmware work, before holds are looked at: a machine that is held off may be run for it."""
    host, is_serviced = look.host, look.host.operational is Operational.SERVICING
    may_be_serviced = host.state in IN_USE and host.online and not host.powered_on
    if not is_serviced and not (may_be_serviced and await work_is_pending(tools.api, host)):
        return None
    progress = await tools.provisioner.service(host.ref)
    look.dirty = True
    if isinstance(progress, Finished):
        await settle_work(tools.api, host)
        host.operational = Operational.OK
        return AtOnce()
    host.operational = Operational.SERVICING
    return tools.settings.after(progress.seconds)


async def _power_on(look: Look, tools: Tools) -> Outcome:
    answer = await tools.provisioner.power_on(look.host.ref, force=look.in_power_error)
    return _heed(look, tools, answer, "PowerOn", "Host powered on")


async def _power_off(look: Look, tools: Tools, hold: Hold | None) -> Outcome:
    host, force = look.host, look.in_power_error
    if host.disables_power_off:
        answer = await tools.provisioner.reboot(host.ref, force=force)
        outcome = _heed(look, tools, answer, NO_REASON, "Host rebooted")
        if host.wants_reboot_once:
            await look.remove_annotation(tools.api, REBOOT)
            return AtOnce()
        return outcome
    # Whatever failed before, and however long ago: no more asking politely.
    hard = look.errors > 0 or (hold is not None and hold.hard)
    answer = await tools.provisioner.power_off(host.ref, hard=hard, force=force)
    return _heed(look, tools, answer, "PowerOff", "Host powered off")


async def power_off_for_good(look: Look, tools: Tools) -> Outcome | None:
    """Before a deletion, whatever annotations say. None when it is off, or has refused too often."""
    host = look.host
    record = await tools.provisioner.power(host.ref)
    if not record.on or host.disables_power_off:
        return None
    answer = await tools.provisioner.power_off(host.ref, hard=True, force=look.in_power_error)
    gives_up = look.errors + 1 >= tools.settings.power_off_tries
    if isinstance(answer, Finished) or (isinstance(answer, Failed) and gives_up):
        return None
    return _heed(look, tools, answer, "PowerOff", "Host powered off")


def _heed(look: Look, tools: Tools, answer: PowerAnswer, reason: str, note: str) -> Outcome:
    """An order that was accepted clears the error, and is told as if it were done."""
    if isinstance(answer, Failed):
        look.fail(ErrorType.POWER_MANAGEMENT, answer.why)
        look.tell("PowerManagementError", answer.why)
        return Again(tools.settings.back_off(look.errors, tools.runtime.random()))
    if isinstance(answer, Finished):
        # From reading, not recorded. The owner's wish is taken for the fact, also where a hold stands against
        # it: then the status is wrong until the next look.
        look.host.status |= {"poweredOn": look.host.online, "errorCount": 0}
        look.dirty = True
        return Again(tools.settings.steady)
    if isinstance(answer, Accepted):
        look.tell(reason, note)
    look.clear_error()
    return tools.settings.after(answer.seconds)
