"""Ends: deleted at any moment, a power cycle leaves nothing behind and nothing half done."""

from dataclasses import replace

import pytest

from nodemend.api import well_known
from nodemend.api.metal3_remediation import Metal3RemediationPhase, Metal3RemediationStatus
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import (
    AskOwner,
    ClearPowerOff,
    ClearRevokedPowerOff,
    FailAttempt,
    MarkHost,
    OwnerMachineFacts,
    PowerFacts,
    RevokePowerOff,
    Step,
)
from nodemend.safety import holds, host_power
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.host_power import HostFacts
from nodemend.safety.lifecycle import (
    ClearRevocation,
    Close,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    LockHolder,
    MarkReleased,
    RecordEpoch,
    RemainingWorkloads,
    RemoveTaint,
    ReportRemaining,
    RevokeRelease,
)
from tests.unit.remediation.metal3.power_worlds import (
    ASKED,
    BACK_ON,
    BACKING_OFF,
    BOUND,
    FAILED,
    FRESH,
    HANDING_OVER,
    HELD,
    HOST,
    LEAVING,
    LET_GO,
    MACHINE,
    MARK,
    NEW_BOOT,
    OFF,
    OTHER_NODE,
    POWERING_ON,
    RELEASED,
    RELEASING,
    RENEWED,
    TAINTED_NODE,
    facts,
)
from tests.unit.safety.worlds import SILENT_NODE

REVOKED = replace(HOST, version="11", revoked_by_us=True)
H = "metal3/h1"
LATE = 600.0
TAINTED = Present(TAINTED_NODE)
TAINTED_NEW_BOOT = replace(TAINTED_NODE, boot_id="boot-2")


def ending(
    status: Metal3RemediationStatus, host: HostFacts | Absent | Unreadable = HOST, **changes: object
) -> PowerFacts:
    return facts(status, host, deleting=True, **changes)


def called_off(status: Metal3RemediationStatus, host: HostFacts = HOST, **changes: object) -> PowerFacts:
    """The requester allows it no more time."""
    world = facts(status, host, **changes)
    metadata = world.remediation.metadata.but(annotations={well_known.TIMED_OUT: "2026-01-01T00:00:00Z"})
    return replace(world, remediation=world.remediation.but(metadata=metadata))


STOPPED = FailAttempt(metal3_holds.TimedOutByCheck(), permanent=True)
CALLED_OFF: list[tuple[str, PowerFacts, Step]] = [
    ("before anything", called_off(BOUND), STOPPED),
    ("asked for, not off yet", called_off(ASKED, HELD), STOPPED),
    ("off, nothing recorded", called_off(ASKED, OFF), STOPPED),
    ("a release may be under way", called_off(RELEASING, OFF), RevokeRelease(SILENT_NODE, MARK)),
    (
        "what is begun is finished first",
        called_off(RELEASING, OFF, node=TAINTED),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    ("however long that takes", called_off(LEAVING, OFF, node=TAINTED), Hold(holds.WorkloadsLeaving(2, 1))),
    ("released, taint on", called_off(RELEASED, OFF, node=TAINTED), RemoveTaint(TAINTED_NODE)),
    ("released, taint off", called_off(RELEASED, OFF), ForgetTaint()),
    ("released, taint forgotten", called_off(RELEASED.but(tainted=False), OFF), STOPPED),
    ("between two attempts", called_off(BACKING_OFF, BACK_ON), STOPPED),
    ("then power comes back", called_off(FAILED, OFF), ClearPowerOff(OFF)),
    ("and the lock goes", called_off(FAILED, BACK_ON), DropLock()),
    ("whose owner was asked is his", called_off(HANDING_OVER, OFF), MarkHost(OFF)),
]


@pytest.mark.parametrize(
    ("world", "expected"), [pytest.param(world, step, id=name) for name, world, step in CALLED_OFF]
)
def test_a_requester_cannot_extend_the_timeout(world: PowerFacts, expected: Step) -> None:
    assert decide(world) == expected


ENDS: list[tuple[str, PowerFacts, Step]] = [
    ("an earlier leader's is stamped first", ending(ASKED.but(epoch=6), OFF), RecordEpoch()),
    ("before anything", ending(FRESH), DropLock()),
    ("nothing is held", ending(BOUND, lock=Absent()), DropFinalizer()),
    (
        "another's lock stays",
        ending(BOUND, lock=Present(LockHolder(ours=False, holder="x"))),
        DropFinalizer(),
    ),
    (
        "not knowing the lock",
        ending(BOUND, lock=Unreadable("500")),
        Hold(holds.CannotRead("the lock on the node", "500")),
    ),
    (
        "not knowing the Node",
        ending(ASKED, OFF, node=Unreadable("500")),
        Hold(holds.CannotRead("the Node", "500")),
    ),
    (
        "not knowing the host",
        ending(ASKED, Unreadable("500")),
        Hold(holds.CannotRead("the BareMetalHost", "500")),
    ),
    ("asked for, not off yet", ending(ASKED, HELD), ClearPowerOff(HELD)),
    ("a hold may be under way", ending(ASKED, HOST), RevokePowerOff(HOST)),
    ("it cannot land any more", ending(ASKED, REVOKED), ClearRevokedPowerOff(REVOKED)),
    ("and that is taken off", ending(ASKED, replace(HOST, version="12")), DropLock()),
    ("off, nothing recorded", ending(ASKED, OFF), ClearPowerOff(OFF)),
    ("off, and there is no Node", ending(ASKED, OFF, node=Absent()), ClearPowerOff(OFF)),
    (
        "whatever the host says",
        ending(ASKED, replace(OFF, paused=True)),
        ClearPowerOff(replace(OFF, paused=True)),
    ),
    ("a release may be under way", ending(RELEASING, OFF), RevokeRelease(SILENT_NODE, MARK)),
    ("it cannot land any more", ending(RELEASING, OFF, revocation=MARK), ForgetEvidence(None)),
    ("the mark is taken off", ending(ASKED, OFF, revocation=MARK), ClearRevocation(SILENT_NODE)),
    ("another's mark stays", ending(ASKED, OFF, revocation="rem-2.1"), ClearPowerOff(OFF)),
    (
        "what is begun is finished first",
        ending(RELEASING, OFF, node=TAINTED),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    ("however long that takes", ending(LEAVING, OFF, node=TAINTED), Hold(holds.WorkloadsLeaving(2, 1))),
    ("finished", ending(LEAVING, OFF, node=TAINTED, left=Present(RemainingWorkloads(0, 0))), MarkReleased()),
    ("released, taint on", ending(RELEASED, OFF, node=TAINTED), RemoveTaint(TAINTED_NODE)),
    ("released, taint off", ending(RELEASED, OFF), ClearPowerOff(OFF)),
    ("released after a mark was set", ending(RELEASED, OFF, revocation=MARK), ClearRevocation(SILENT_NODE)),
    (
        "alive under our taint",
        ending(LEAVING, OFF, node=TAINTED, lease=Present(RENEWED)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    (
        "a new boot under our taint",
        ending(LEAVING, OFF, node=Present(TAINTED_NEW_BOOT)),
        RemoveTaint(TAINTED_NEW_BOOT),
    ),
    ("a new boot before our taint", ending(RELEASING, OFF, node=Present(NEW_BOOT)), ClearPowerOff(OFF)),
    (
        "a taint without evidence is not ours",
        ending(ASKED, OFF, node=TAINTED),
        ClearPowerOff(OFF),
    ),
    (
        "another Node took the name: by its boot, what had to end has ended",
        ending(RELEASING, OFF, node=Present(replace(OTHER_NODE, boot_id="boot-2"))),
        MarkReleased(),
    ),
    (
        "or has not, and that is told",
        ending(RELEASING, OFF, node=Present(replace(OTHER_NODE, taints=TAINTED_NODE.taints))),
        ForgetTaint(),
    ),
    (
        "once nothing rests on the evidence",
        ending(RELEASING.but(tainted=False), OFF, node=Present(OTHER_NODE)),
        FailAttempt(metal3_holds.ActiveAfterRelease(H, "boot boot-1, by a new Node"), permanent=True),
    ),
    (
        "the Node is gone: its pods are removed by force",
        ending(RELEASING, OFF, node=Absent()),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    (
        "and must not find it running",
        ending(LEAVING, OFF, node=Absent()),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "until none is left",
        ending(LEAVING, OFF, node=Absent(), left=Present(RemainingWorkloads(0, 0))),
        MarkReleased(),
    ),
    (
        "the Node is gone, and its kubelet speaks: that is told",
        ending(
            LEAVING.but(tainted=False),
            OFF,
            node=Absent(),
            left=Present(RemainingWorkloads(0, 0)),
            lease=Present(RENEWED),
        ),
        FailAttempt(metal3_holds.ActiveAfterRelease(H, "its Lease, renewed at 12:05:00"), permanent=True),
    ),
    ("the Node is gone, and so are they", ending(RELEASED, OFF, node=Absent()), ClearPowerOff(OFF)),
    ("power is awaited", ending(ASKED, LET_GO), Hold(metal3_holds.WaitingForPowerOn(H, 600.0))),
    ("it is on again", ending(ASKED, BACK_ON), DropLock()),
    ("it is on again, and unlocked", ending(ASKED, BACK_ON, lock=Absent()), DropFinalizer()),
    ("it did not come back in time", ending(ASKED, LET_GO, in_phase_for=LATE), DropLock()),
    (
        "which is told",
        ending(ASKED, LET_GO, in_phase_for=LATE, lock=Absent()),
        DropFinalizer(still_off=H),
    ),
    (
        "nobody can see whether it did",
        ending(ASKED, replace(BACK_ON, paused=True), in_phase_for=LATE, lock=Absent()),
        DropFinalizer(still_off=H),
    ),
    (
        "the evidence was forgotten on the way: power is awaited all the same",
        ending(ASKED.but(seen_on_version=""), LET_GO),
        Hold(metal3_holds.WaitingForPowerOn(H, 600.0)),
    ),
    (
        "between two attempts too",
        ending(BOUND.but(retry_count=1), LET_GO),
        Hold(metal3_holds.WaitingForPowerOn(H, 600.0)),
    ),
    ("while it pauses too", ending(BACKING_OFF, LET_GO), Hold(metal3_holds.WaitingForPowerOn(H, 600.0))),
    ("a host that we never held is not waited for", ending(BOUND, LET_GO), DropLock()),
    ("a host that is gone neither", ending(POWERING_ON, Absent(), lock=Absent()), DropFinalizer()),
    ("when it was over already", ending(FAILED, BACK_ON, lock=Absent()), DropFinalizer()),
    ("while it is handed over", ending(HANDING_OVER, OFF), ClearPowerOff(OFF)),
]

MARKED = replace(OFF, marked_unhealthy=True)
MARKED_ON = replace(BACK_ON, marked_unhealthy=True)
NO_MACHINE = FailAttempt(metal3_holds.NoMachineReplacement("it has no Machine"), permanent=True)
REPLACING = Hold(metal3_holds.OwnerReplacing("Machine m/n1"))


def handing(host: HostFacts | Absent, machine: object) -> PowerFacts:
    return facts(HANDING_OVER, host, machine=machine)


REPLACEMENTS: list[tuple[str, PowerFacts, Step]] = [
    (
        "not knowing the Machine",
        handing(OFF, Unreadable("500")),
        Hold(holds.CannotRead("the Machine", "500")),
    ),
    ("there is none", handing(OFF, Absent()), NO_MACHINE),
    (
        "it would not be replaced",
        handing(OFF, Present(replace(MACHINE, why_not="nobody owns it"))),
        FailAttempt(metal3_holds.NoMachineReplacement("nobody owns it"), permanent=True),
    ),
    ("its host is marked unhealthy first", handing(OFF, Present(MACHINE)), MarkHost(OFF)),
    ("then its owner is requested to replace it", handing(MARKED, Present(MACHINE)), AskOwner()),
    (
        "but not while its host may run",
        handing(MARKED_ON, Present(MACHINE)),
        FailAttempt(host_power.PowerOffRequestLost("metal3/h1"), permanent=False),
    ),
    (
        "nor if its host is gone",
        handing(Absent(), Present(MACHINE)),
        FailAttempt(metal3_holds.HostGone("metal3/h1"), permanent=True),
    ),
    ("the Machine is gone: the hold goes", handing(MARKED, Absent()), ClearPowerOff(MARKED)),
    ("and that was it", handing(MARKED_ON, Absent()), Close(node_gone=True)),
    (
        "then it waits for the deletion of the Machine",
        handing(MARKED, Present(replace(MACHINE, asked=True))),
        REPLACING,
    ),
    ("while it goes", handing(MARKED, Present(replace(MACHINE, deleting=True))), REPLACING),
    (
        "even if nobody would have replaced it",
        handing(OFF, Present(OwnerMachineFacts("Machine m/n1", "nobody owns it", deleting=True))),
        REPLACING,
    ),
]


@pytest.mark.parametrize(
    ("world", "expected"),
    [pytest.param(world, step, id=name) for name, world, step in (*ENDS, *REPLACEMENTS)],
)
def test_next_step(world: PowerFacts, expected: Step) -> None:
    assert decide(world) == expected


def test_a_machine_that_was_deleted_on_request_is_no_failure() -> None:
    assert decide(handing(MARKED, Absent())) != NO_MACHINE


@pytest.mark.parametrize("phase", Metal3RemediationPhase)
def test_no_hold_outlives_its_remediation_in_any_phase(phase: Metal3RemediationPhase) -> None:
    assert decide(ending(ASKED.but(phase=phase), OFF)) == ClearPowerOff(OFF)
