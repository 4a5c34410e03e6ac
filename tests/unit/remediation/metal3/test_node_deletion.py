"""Release by deleting the Node: the same evidence and ticket, and an end in every case."""

from dataclasses import replace

import pytest

from nodemend.api.meta import OwnerReference
from nodemend.api.metal3_remediation import (
    Metal3RemediationPhase,
    Metal3RemediationSpec,
    Metal3RemediationStatus,
    NodeBackup,
    ReleaseBy,
)
from nodemend.remediation import status as remediation_status
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import (
    MOST_BYTES,
    BackUp,
    ClearPowerOff,
    DeleteNode,
    FailAttempt,
    ForgetBackup,
    OwnerMachineFacts,
    PowerFacts,
    PreparePowerOff,
    Restore,
    Step,
)
from nodemend.safety import holds, host_power
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.host_power import HostFacts
from nodemend.safety.lifecycle import (
    Close,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    Release,
    RemainingWorkloads,
    ReportRemaining,
    RevokeRelease,
)
from nodemend.safety.release import ReleaseTicket
from tests.unit.remediation.metal3.power_worlds import (
    BACK,
    BACK_ON,
    BACKING_OFF,
    BOUND,
    EARLIER,
    FAILED,
    LEAVING,
    LET_GO,
    MARK,
    NEW_BOOT,
    NOTED,
    OFF,
    OTHER_NODE,
    POWERING_ON,
    PROOF,
    RELEASING,
    RENEWED,
    facts,
)
from tests.unit.safety.worlds import SILENT_NODE

SPEC = Metal3RemediationSpec(release_by=ReleaseBy.NODE_DELETION)
KEPT = NodeBackup(labels={"rack": "7"}, annotations={"team": "storage"})
MORE = KEPT.but(labels={"rack": "7", "gpu": "yes"})
TOO_MUCH = NodeBackup(annotations={"much": "x" * MOST_BYTES})
NOTHING = NodeBackup()
TICKET = ReleaseTicket("n1", "uid-1", SILENT_NODE.version, "boot-1", 7, PROOF)
KEEPING = RELEASING.but(backup=KEPT)
GOING = KEEPING.but(pods_left=2, attachments_left=1)
GONE = Present(RemainingWorkloads(0, 0))
NEW_NODE = replace(OTHER_NODE, boot_id="boot-2")
BACK_AGAIN = replace(BACK, uid="uid-2", version="104")
H = "metal3/h1"
LATE = 600.0
TOO_LATE = 86_400.0


def deleting_node(
    status: Metal3RemediationStatus, host: HostFacts | Absent = OFF, **changes: object
) -> PowerFacts:
    """A remediation that may delete its Node, with the backup of the Node."""
    usual = {"spec": SPEC, "may_delete_nodes": True, "belongings": KEPT, **changes}
    if isinstance(usual.get("node"), Absent):
        usual["belongings"] = None
    return facts(status, host, **usual)


BEFORE: list[tuple[str, PowerFacts, Step]] = [
    (
        "where nobody allowed it, no host is switched off for it",
        deleting_node(BOUND, host=BACK_ON, may_delete_nodes=False),
        Hold(metal3_holds.NodeDeletionNotAllowed()),
    ),
    (
        "nor where more is written on the Node than is kept",
        deleting_node(BOUND, host=BACK_ON, belongings=TOO_MUCH),
        Hold(metal3_holds.NodeBackupTooLarge(MOST_BYTES + 4, MOST_BYTES)),
    ),
    ("else it begins as any other", deleting_node(BOUND, host=BACK_ON), PreparePowerOff("14", (EARLIER,))),
    (
        "by the taint nobody has to allow it",
        facts(BOUND, BACK_ON, belongings=TOO_MUCH),
        PreparePowerOff("14", (EARLIER,)),
    ),
    ("the evidence is the same", deleting_node(NOTED), RecordEvidence(PROOF)),
    ("then what is on the Node is written down", deleting_node(RELEASING), BackUp(KEPT)),
    ("then it is deleted, by its ticket", deleting_node(KEEPING), DeleteNode(TICKET)),
    ("somebody wrote on it meanwhile: anew", deleting_node(KEEPING, belongings=MORE), ForgetBackup()),
    ("and whole", deleting_node(RELEASING, belongings=MORE), BackUp(MORE)),
    ("a Node with nothing on it", deleting_node(RELEASING, belongings=NOTHING), BackUp(NOTHING)),
    ("by the taint nothing is written down", facts(RELEASING, OFF, belongings=KEPT), Release(TICKET)),
    (
        "a mark of ours voids what was recorded",
        deleting_node(KEEPING, revocation="rem-1.54"),
        ForgetEvidence(host_power.OffTimeUncertain("metal3/h1")),
    ),
    (
        "it was allowed, and is no longer",
        deleting_node(KEEPING, may_delete_nodes=False),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "the API server does not let us",
        deleting_node(KEEPING, deletion_refused="no right"),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "then it is forgotten",
        deleting_node(KEEPING, revocation=MARK, deletion_refused="no right"),
        ForgetEvidence(metal3_holds.NodeDeletionRefused("no right")),
    ),
    (
        "evidence that falls is voided on the Node",
        deleting_node(KEEPING, host=replace(OFF, held_by_us=False)),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "a boot that ended by itself needs no deletion",
        deleting_node(KEEPING, node=Present(NEW_BOOT)),
        MarkReleased(),
    ),
]

WHILE_GONE: list[tuple[str, PowerFacts, Step]] = [
    (
        "its pods are counted",
        deleting_node(KEEPING, node=Absent()),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    ("and waited for", deleting_node(GOING, node=Absent()), Hold(holds.WorkloadsLeaving(2, 1))),
    (
        "however long",
        deleting_node(GOING, node=Absent(), in_phase_for=86_400.0),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "a Lease that went with its Node says nothing",
        deleting_node(GOING, node=Absent(), lease=Absent()),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "nor does one that cannot be read",
        deleting_node(GOING, node=Absent(), lease=Unreadable("500")),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "not knowing the pods",
        deleting_node(GOING, node=Absent(), left=Unreadable("500")),
        Hold(holds.CannotRead("the node's pods and volumes", "500")),
    ),
    (
        "somebody took our hold off: told, and the pods are waited for",
        deleting_node(GOING, host=LET_GO, node=Absent()),
        Hold(host_power.PowerOffRequestLost(H)),
    ),
    (
        "the host is gone: told",
        deleting_node(GOING, host=Absent(), node=Absent()),
        Hold(metal3_holds.HostGone(H)),
    ),
    (
        "a kubelet that speaks is told, and the hold stays until the pods are gone",
        deleting_node(GOING, node=Absent(), lease=Present(RENEWED)),
        Hold(metal3_holds.ActiveAfterRelease(H, "its Lease, renewed at 12:05:00")),
    ),
    (
        "then the release is over",
        deleting_node(GOING, node=Absent(), lease=Present(RENEWED), left=GONE),
        ForgetTaint(),
    ),
    (
        "and it has failed for good",
        deleting_node(GOING.but(tainted=False), node=Absent(), lease=Present(RENEWED), left=GONE),
        FailAttempt(metal3_holds.ActiveAfterRelease(H, "its Lease, renewed at 12:05:00"), permanent=True),
    ),
    (
        "a running kubelet that registered anew breaks the evidence",
        deleting_node(GOING.but(backup=None), node=Present(OTHER_NODE)),
        ForgetTaint(),
    ),
    (
        "for good",
        deleting_node(GOING.but(backup=None, tainted=False), node=Present(OTHER_NODE)),
        FailAttempt(metal3_holds.ActiveAfterRelease(H, "boot boot-1, by a new Node"), permanent=True),
    ),
    (
        "but it gets back what it had before that",
        deleting_node(GOING, node=Present(OTHER_NODE), belongings=NOTHING),
        Restore(OTHER_NODE, KEPT),
    ),
    (
        "a new boot has ended the old one",
        deleting_node(GOING.but(backup=None), node=Present(NEW_NODE)),
        MarkReleased(),
    ),
    (
        "a Node that no kubelet made says nothing about boots",
        deleting_node(GOING, node=Present(replace(OTHER_NODE, boot_id=""))),
        Hold(remediation_status.BootUnknown("n1")),
    ),
    (
        "which is not waited for without end",
        deleting_node(
            GOING.but(tainted=False), node=Present(replace(OTHER_NODE, boot_id="")), in_phase_for=LATE
        ),
        FailAttempt(remediation_status.BootUnknown("n1"), permanent=False),
    ),
    ("when they are gone, it is released", deleting_node(GOING, node=Absent(), left=GONE), MarkReleased()),
    (
        "also when the host has become doubtful",
        deleting_node(GOING, host=replace(OFF, paused=True), node=Absent(), left=GONE),
        MarkReleased(),
    ),
]

OVER = POWERING_ON.but(backup=KEPT)
AFTER: list[tuple[str, PowerFacts, Step]] = [
    ("power comes back", deleting_node(OVER, node=Absent()), ClearPowerOff(OFF)),
    (
        "the node is awaited",
        deleting_node(OVER, host=BACK_ON, node=Absent()),
        Hold(remediation_status.WaitingForNewBoot("n1", gone=True)),
    ),
    (
        "as soon as it registers it gets back what it had, Ready or not",
        deleting_node(OVER, host=BACK_ON, node=Present(NEW_NODE), belongings=NOTHING),
        Restore(NEW_NODE, KEPT),
    ),
    (
        "and nothing that it has",
        deleting_node(
            OVER, host=BACK_ON, node=Present(NEW_NODE), belongings=NodeBackup(labels={"rack": "9"})
        ),
        Restore(NEW_NODE, KEPT.but(labels={})),
    ),
    (
        "then it is forgotten",
        deleting_node(OVER, host=BACK_ON, node=Present(BACK_AGAIN)),
        ForgetBackup(),
    ),
    (
        "where the API server does not let us, that is told, and it goes on",
        deleting_node(
            OVER, host=BACK_ON, node=Present(BACK_AGAIN), belongings=NOTHING, restore_refused="no right"
        ),
        ForgetBackup("no right"),
    ),
    (
        "then it is over",
        deleting_node(POWERING_ON, host=BACK_ON, node=Present(BACK_AGAIN)),
        Close(node_gone=False),
    ),
    (
        "a Node that was never deleted keeps what it has",
        deleting_node(OVER, host=BACK_ON, node=Present(NEW_BOOT)),
        ForgetBackup(),
    ),
    (
        "between two attempts too",
        deleting_node(BACKING_OFF.but(backup=KEPT), host=BACK_ON, node=Present(NEW_NODE), belongings=NOTHING),
        Restore(NEW_NODE, KEPT),
    ),
    (
        "after it has failed, the node is awaited all the same",
        deleting_node(FAILED.but(backup=KEPT), host=BACK_ON, node=Absent(), lock=Absent()),
        Hold(remediation_status.WaitingForNewBoot("n1", gone=True)),
    ),
    (
        "without the lock",
        deleting_node(FAILED.but(backup=KEPT), host=BACK_ON, node=Absent()),
        DropLock(),
    ),
]

ENDED: list[tuple[str, PowerFacts, Step]] = [
    (
        "a deletion may be under way",
        deleting_node(KEEPING, deleting=True),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "it has landed: its pods are waited for",
        deleting_node(GOING, node=Absent(), deleting=True),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    ("until they are gone", deleting_node(GOING, node=Absent(), left=GONE, deleting=True), MarkReleased()),
    ("then power comes back", deleting_node(OVER, node=Absent(), deleting=True), ClearPowerOff(OFF)),
    (
        "nobody else is kept waiting for what comes after",
        deleting_node(OVER, host=BACK_ON, node=Absent(), deleting=True),
        DropLock(),
    ),
    (
        "the node is awaited, for its belongings",
        deleting_node(OVER, host=BACK_ON, node=Absent(), lock=Absent(), in_phase_for=LATE, deleting=True),
        Hold(remediation_status.WaitingForNewBoot("n1", gone=True)),
    ),
    (
        "which it gets",
        deleting_node(OVER, host=BACK_ON, node=Present(NEW_NODE), belongings=NOTHING, deleting=True),
        Restore(NEW_NODE, KEPT),
    ),
    (
        "but not without end: what is lost is told",
        deleting_node(OVER, host=BACK_ON, node=Absent(), in_phase_for=TOO_LATE, lock=Absent(), deleting=True),
        DropFinalizer(lost=("rack", "team")),
    ),
    (
        "also where only somebody's empty Node came",
        deleting_node(
            OVER,
            host=BACK_ON,
            node=Present(replace(OTHER_NODE, boot_id="")),
            in_phase_for=TOO_LATE,
            lock=Absent(),
            deleting=True,
        ),
        DropFinalizer(lost=("rack", "team")),
    ),
    (
        "nor when its Machine goes",
        deleting_node(
            OVER,
            host=BACK_ON,
            node=Absent(),
            lock=Absent(),
            machine=Present(OwnerMachineFacts("Machine m/n1", deleting=True)),
            deleting=True,
        ),
        DropFinalizer(lost=("rack", "team")),
    ),
    (
        "a host that stays off is told beside it",
        deleting_node(OVER, host=LET_GO, node=Absent(), in_phase_for=TOO_LATE, lock=Absent(), deleting=True),
        DropFinalizer(still_off=H, lost=("rack", "team")),
    ),
]


@pytest.mark.parametrize(
    ("world", "expected"),
    [pytest.param(world, step, id=name) for name, world, step in (*BEFORE, *WHILE_GONE, *AFTER, *ENDED)],
)
def test_next_step(world: PowerFacts, expected: Step) -> None:
    assert decide(world) == expected


@pytest.mark.parametrize("phase", Metal3RemediationPhase)
def test_a_node_is_deleted_in_no_phase_without_evidence(phase: Metal3RemediationPhase) -> None:
    step = decide(deleting_node(NOTED.but(phase=phase, backup=KEPT)))
    assert not isinstance(step, DeleteNode)


def test_leaving_by_the_taint_is_not_taken_for_a_deletion() -> None:
    assert decide(facts(LEAVING, OFF, node=Absent())) == Hold(holds.WorkloadsLeaving(2, 1))


def owned_by_a_machine(machine: ReadResult[OwnerMachineFacts]) -> Step:
    world = deleting_node(OVER, host=BACK_ON, node=Absent(), lock=Absent(), machine=machine, deleting=True)
    owner = OwnerReference(api_version="cluster.x-k8s.io/v1beta1", kind="Machine", name="n1", uid="m-1")
    metadata = world.remediation.metadata.but(owner_references=(owner,))
    return decide(replace(world, remediation=world.remediation.but(metadata=metadata)))


def test_a_machine_that_is_gone_has_no_node_to_wait_for() -> None:
    assert owned_by_a_machine(Absent()) == DropFinalizer(lost=("rack", "team"))


def test_not_knowing_whether_it_is_gone_is_not_that() -> None:
    assert owned_by_a_machine(Unreadable("500")) == Hold(
        remediation_status.WaitingForNewBoot("n1", gone=True)
    )
