"""Each step as the one write that it is."""

from typing import assert_never

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.controllers.power_cycle.gather import Gathered
from nodemend.controllers.power_cycle.hand_over import ask_owner
from nodemend.controllers.power_cycle.host_reading import our_hold
from nodemend.controllers.power_cycle.node_deletion import delete_node, restore_node
from nodemend.controllers.remediating import writes
from nodemend.decide import power_cycle_steps as power
from nodemend.decide import remediation_steps as steps
from nodemend.decide.power_cycle_status import after
from nodemend.kube.api_request import Precondition, Request, merge_patch

HostStep = power.PlaceHold | power.GiveBack | power.VoidHold | power.ClearVoidedHold | power.MarkHost


def request_for(gathered: Gathered, step: power.Step, *, namespace: str, now: str) -> Request | None:
    """The write that makes `step` true; None for a step without one."""
    facts = gathered.facts
    metadata, status = facts.remediation.metadata, facts.remediation.status
    match step:
        case steps.AddFinalizer() | steps.DropFinalizer():
            return writes.write_finalizer(METAL3_REMEDIATION, metadata, step)
        case steps.TakeLock():
            uid = gathered.lock_uid
            return writes.take_lock(METAL3_REMEDIATION, metadata, uid, gathered.lock, namespace)
        case steps.DropLock():
            return writes.drop_lock(gathered.lock)
        case steps.Release() | steps.Untaint() | steps.VoidOnNode() | steps.ClearVoidMark():
            return writes.write_node(gathered.node, step)
        case power.DeleteNode(ticket):
            return delete_node(ticket)
        case power.Restore():
            return restore_node(gathered.node, step)
        case (
            power.PlaceHold()
            | power.GiveBack()
            | power.VoidHold()
            | power.ClearVoidedHold()
            | power.MarkHost()
        ):
            return write_host(gathered.host, step, metadata.uid)
        case power.AskOwner():
            if gathered.behind is None:
                raise ValueError("AskOwner without a Machine")
            return ask_owner(gathered.behind, now)
        case steps.Done():
            return None
        case _:
            wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
            return writes.write_status(METAL3_REMEDIATION, metadata, status, wanted)


def write_host(host: BareMetalHost | None, step: HostStep, uid: str) -> Request:
    """The only writes to a host: our own annotations, on the version that the step was decided on."""
    if host is None:
        raise ValueError(f"{type(step).__name__} without a host")
    change: dict[str, str | None]
    match step:
        case power.PlaceHold():
            change = {our_hold(uid): keys.HARD_HOLD}
        case power.GiveBack():
            change = {our_hold(uid): None}
        case power.VoidHold():
            change = {keys.HOLD_VOIDED: uid}
        case power.ClearVoidedHold():
            change = {keys.HOLD_VOIDED: None}
        case power.MarkHost():
            change = dict.fromkeys(keys.HOST_UNHEALTHY, keys.MARKED_BY_US)
        case _:
            assert_never(step)
    return merge_patch(
        BARE_METAL_HOST,
        host.metadata.name,
        host.metadata.namespace,
        change={"metadata": {"annotations": change}},
        only_if=Precondition(step.host.uid, step.host.version),
        manager=writes.FIELD_MANAGER,
    )
