"""Power of a host in use or available: requested state, orders, and firmware settings applied at a reboot."""

from simulation.metal3.host import (
    HOST_FIRMWARE_SETTINGS,
    HOST_UPDATE_POLICY,
    IN_USE,
    REBOOT,
    ErrorType,
    Hold,
    Host,
    Object,
    Operational,
)
from simulation.metal3.host_api import NO_REASON, HostApi
from simulation.metal3.provisioner import Accepted, Failed, Finished, PowerAnswer
from simulation.metal3.reconcile_pass import Again, ImmediateOutcome, Look, Outcome, Tools


async def manage_power(host_pass: Look, tools: Tools) -> Outcome:
    """Record the power state, then do the first action that is due. The order of the steps was recorded."""
    host = host_pass.host
    record = await tools.provisioner.power(host.ref)
    host_pass.bmc_lost = record.lost
    if record.on != host.powered_on:
        return _note(host_pass, on=record.on)
    if not host.powered_on and host.wants_reboot_once:
        await host_pass.remove_annotation(tools.api, REBOOT)
        return ImmediateOutcome()
    if (outcome := await _service(host_pass, tools)) is not None:
        return outcome
    hold = host.hold(forced_only=host.state not in IN_USE)
    for name in hold.unreadable if hold else ():
        host_pass.tell("InvalidAnnotationValue", f"could not parse the value of {name}")
    wanted = host.online and hold is None
    if wanted == host.powered_on:
        # A power error stays even if the failed change is no longer requested, and every pass saves it again.
        host_pass.dirty = host_pass.dirty or host_pass.in_power_error
        return Again(tools.settings.steady)
    if wanted:
        return await _power_on(host_pass, tools)
    return await _power_off(host_pass, tools, hold)


def _note(host_pass: Look, *, on: bool) -> Outcome:
    host_pass.host.status["poweredOn"] = on
    if host_pass.in_power_error:
        host_pass.clear_error()
    host_pass.dirty = True
    return ImmediateOutcome()


async def _service(host_pass: Look, tools: Tools) -> Outcome | None:
    """Do firmware work. It precedes power-off requests, so a machine that must be off may run for it."""
    host, is_serviced = host_pass.host, host_pass.host.operational is Operational.SERVICING
    may_be_serviced = host.state in IN_USE and host.online and not host.powered_on
    if not is_serviced and not (may_be_serviced and await work_is_pending(tools.api, host)):
        return None
    progress = await tools.provisioner.service(host.ref)
    host_pass.dirty = True
    if isinstance(progress, Finished):
        await settle_work(tools.api, host)
        host.operational = Operational.OK
        return ImmediateOutcome()
    host.operational = Operational.SERVICING
    return tools.settings.after(progress.seconds)


async def _power_on(host_pass: Look, tools: Tools) -> Outcome:
    answer = await tools.provisioner.power_on(host_pass.host.ref, force=host_pass.in_power_error)
    return _heed(host_pass, tools, answer, "PowerOn", "Host powered on")


async def _power_off(host_pass: Look, tools: Tools, hold: Hold | None) -> Outcome:
    host, force = host_pass.host, host_pass.in_power_error
    if host.disables_power_off:
        answer = await tools.provisioner.reboot(host.ref, force=force)
        outcome = _heed(host_pass, tools, answer, NO_REASON, "Host rebooted")
        if host.wants_reboot_once:
            await host_pass.remove_annotation(tools.api, REBOOT)
            return ImmediateOutcome()
        return outcome
    # After any error, however old, a power-off is hard.
    hard = host_pass.errors > 0 or (hold is not None and hold.hard)
    answer = await tools.provisioner.power_off(host.ref, hard=hard, force=force)
    return _heed(host_pass, tools, answer, "PowerOff", "Host powered off")


async def power_off_permanently(host_pass: Look, tools: Tools) -> Outcome | None:
    """Power off before a deletion, regardless of annotations. Returns None if the deletion can continue.

    It continues if the host is off, if power-off is disabled, or after too many failures.
    """
    host = host_pass.host
    record = await tools.provisioner.power(host.ref)
    if not record.on or host.disables_power_off:
        return None
    answer = await tools.provisioner.power_off(host.ref, hard=True, force=host_pass.in_power_error)
    gives_up = host_pass.errors + 1 >= tools.settings.power_off_tries
    if isinstance(answer, Finished) or (isinstance(answer, Failed) and gives_up):
        return None
    return _heed(host_pass, tools, answer, "PowerOff", "Host powered off")


def _heed(host_pass: Look, tools: Tools, answer: PowerAnswer, reason: str, note: str) -> Outcome:
    """Apply the provisioner's answer. An accepted order clears the error and is reported as done."""
    if isinstance(answer, Failed):
        host_pass.fail(ErrorType.POWER_MANAGEMENT, answer.why)
        host_pass.tell("PowerManagementError", answer.why)
        return Again(tools.settings.back_off(host_pass.errors, tools.runtime.random()))
    if isinstance(answer, Finished):
        # From the source of metal3, not from a recording: it assumes that the power is as spec.online
        # requests, even if a power-off request contradicts it. The status is then wrong until the next pass.
        host_pass.host.status |= {"poweredOn": host_pass.host.online, "errorCount": 0}
        host_pass.dirty = True
        return Again(tools.settings.steady)
    if isinstance(answer, Accepted):
        host_pass.tell(reason, note)
    host_pass.clear_error()
    return tools.settings.after(answer.seconds)


async def work_is_pending(api: HostApi, host: Host) -> bool:
    """Return whether settings changed and a policy allows applying them while the host is off."""
    name, namespace = host.metadata["name"], host.metadata["namespace"]
    policy = await api.find(HOST_UPDATE_POLICY, name, namespace)
    if policy is None or policy.get("spec", {}).get("firmwareSettings") != "onReboot":
        return False
    settings = await api.find(HOST_FIRMWARE_SETTINGS, name, namespace)
    return settings is not None and {"ChangeDetected", "Valid"} <= _true_conditions(settings)


async def settle_work(api: HostApi, host: Host) -> None:
    """Record that the requested settings are applied. Raises TroubleError."""
    name, namespace = host.metadata["name"], host.metadata["namespace"]
    settings = await api.find(HOST_FIRMWARE_SETTINGS, name, namespace)
    if settings is None:
        return
    conditions = [
        {**one, "status": "False"} if one["type"] == "ChangeDetected" else one
        for one in settings.get("status", {}).get("conditions", ())
    ]
    change = {"status": {"conditions": conditions}}
    await api.change(HOST_FIRMWARE_SETTINGS, settings, change, subresource="status")


def _true_conditions(settings: Object) -> set[str]:
    conditions = settings.get("status", {}).get("conditions", ())
    return {one["type"] for one in conditions if one["status"] == "True"}
