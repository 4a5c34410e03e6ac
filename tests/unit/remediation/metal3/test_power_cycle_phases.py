"""The life of a Metal3Remediation until its workloads are released, and every way in which it refuses."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import (
    MOST_POWER_OFF_EVENTS,
    Metal3RemediationPhase,
    Metal3RemediationStatus,
    PowerOffEvent,
)
from nodemend.remediation import status as remediation_status
from nodemend.remediation.capm3 import decide
from nodemend.remediation.metal3 import holds as metal3_holds
from nodemend.remediation.metal3.decide import decide as metal3_decide
from nodemend.remediation.metal3.model import (
    ClearPowerOff,
    FailAttempt,
    PowerFacts,
    PreparePowerOff,
    RecordHostTarget,
    RecordOff,
    RequestPowerOff,
    Step,
)
from nodemend.safety import guard_holds, holds, host_power
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.guard import ControlPlane
from nodemend.safety.holds import Hold
from nodemend.safety.identity import IdentityUnknown, Mismatch, NotHere, SharedIdentity, Unproven
from nodemend.safety.lifecycle import (
    AddFinalizer,
    ClearRevocation,
    DropLock,
    ForgetEvidence,
    LockHolder,
    MarkReleased,
    NothingLeft,
    RecordEpoch,
    RecordEvidence,
    Release,
    RemainingWorkloads,
    RemoveTaint,
    ReportRemaining,
    RevokeRelease,
    TakeLock,
)
from nodemend.safety.release import ReleaseTicket
from tests.unit.remediation.metal3.power_worlds import (
    ASKED,
    BACK,
    BACK_ON,
    BOUND,
    EARLIER,
    FAILED,
    FRESH,
    HELD,
    HELD_HOST,
    HOST,
    LATER,
    LEAVING,
    LET_GO,
    MARK,
    NEW_BOOT,
    NODELESS,
    NOTED,
    OFF,
    OTHER_NODE,
    PROOF,
    RELEASING,
    RENEWED,
    SEEN,
    SUCCEEDED,
    TAINTED_NODE,
    facts,
    remediation,
)
from tests.unit.safety.worlds import BOARD, SILENT_LEASE, SILENT_NODE, switch

H = "metal3/h1"
MANY = tuple(PowerOffEvent(uid=f"event-{number}") for number in range(MOST_POWER_OFF_EVENTS + 1))
SPOKE = host_power.ActiveAfterPowerOff(H, "12:05:00")
GONE = Present(RemainingWorkloads(0, 0))
READY = replace(SILENT_NODE, ready=ConditionStatus.TRUE)
UNSEEN = Present(replace(SILENT_LEASE, unchanged_for=0.0))
PAUSED = host_power.HostPowerUncertain(H, host_power.PausedHost())
PAUSED_OFF = replace(OFF, paused=True)
DETACHED_OFF = replace(OFF, detached=True, operational_status="detached")
TOUCHED = replace(OFF, version="19", last_updated="12:09")
LATE = 300.0
NO_POLICY = Hold(guard_holds.DryRun(policy_exists=False))

STORY: list[tuple[str, PowerFacts, Step]] = [
    (
        "a new remediation gets the finalizer",
        replace(facts(FRESH), remediation=remediation(FRESH).but(metadata=ObjectMeta())),
        AddFinalizer(),
    ),
    ("then shut to earlier leaders", facts(FRESH.but(epoch=6)), RecordEpoch()),
    (
        "then bound to one boot and one host",
        facts(FRESH),
        RecordHostTarget("n1", "uid-1", "boot-1", HELD_HOST, BOARD),
    ),
    (
        "or to the host alone, where there is no Node",
        facts(FRESH, node=Absent(), lease=Unreadable("not asked")),
        RecordHostTarget("", "", "", HELD_HOST),
    ),
    ("then the node is locked", facts(BOUND, lock=Absent()), TakeLock()),
    (
        "an orphaned lock is taken over",
        facts(BOUND, lock=Present(LockHolder(ours=False, holder="x", orphaned=True))),
        TakeLock(),
    ),
    ("the host version in which it is on is recorded", facts(BOUND), PreparePowerOff("10", (EARLIER,))),
    ("then power-off is requested", facts(ASKED), RequestPowerOff(HOST)),
    (
        "another version is seen on anew",
        facts(ASKED, replace(HOST, version="11")),
        PreparePowerOff("11", (EARLIER,)),
    ),
    (
        "an event that came meanwhile goes into the baseline",
        facts(ASKED, power_offs=Present((EARLIER, LATER))),
        PreparePowerOff("10", (EARLIER, LATER)),
    ),
    (
        "one that occurred again, too",
        facts(ASKED, power_offs=Present((EARLIER.but(count=2),))),
        PreparePowerOff("10", (EARLIER.but(count=2),)),
    ),
    ("one that has expired does not", facts(ASKED, power_offs=Present(())), RequestPowerOff(HOST)),
    (
        "an earlier release's request is made again, with a baseline",
        facts(ASKED.but(power_off_events=None)),
        PreparePowerOff("10", (EARLIER,)),
    ),
    (
        "without the events nothing is switched off",
        facts(ASKED, power_offs=Unreadable("403")),
        Hold(holds.CannotRead("the events of its host", "403")),
    ),
    (
        "nor with more than are recorded",
        facts(BOUND, power_offs=Present(MANY)),
        Hold(metal3_holds.TooManyPowerOffEvents(H, 257, 256)),
    ),
    (
        "what an earlier release saw off is not believed",
        facts(NOTED.but(power_off_events=None), OFF),
        Hold(host_power.PowerOffUnreported(H)),
    ),
    (
        "nor what it recorded as evidence",
        facts(RELEASING.but(power_off_events=None), OFF),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "nor what it tainted on that",
        facts(LEAVING.but(power_off_events=None), OFF, node=Present(TAINTED_NODE)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    ("of the pending one too", facts(BOUND.but(seen_on_version="10")), PreparePowerOff("10", (EARLIER,))),
    ("it waits until the host is off", facts(ASKED, HELD), Hold(metal3_holds.WaitingForPowerOff(H, 300.0))),
    (
        "it is looked at twice",
        facts(ASKED, OFF, host_unchanged_for=0.0),
        Hold(host_power.OffTooRecent(H)),
    ),
    ("and written down", facts(ASKED, OFF), RecordOff(SEEN)),
    ("the observed power-off becomes evidence", facts(NOTED, OFF), RecordEvidence(PROOF)),
    (
        "the evidence becomes a ticket",
        facts(RELEASING, OFF),
        Release(ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, PROOF)),
    ),
    (
        "a new leader has waited for nothing, and needs not",
        facts(RELEASING, OFF, lease=UNSEEN, host_unchanged_for=0.0, in_phase_for=0.0),
        Release(ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, PROOF)),
    ),
    (
        "the remaining pods and volumes are reported",
        facts(RELEASING, OFF, node=Present(TAINTED_NODE)),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    (
        "it waits for them without a time limit",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), in_phase_for=9999.0),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "one of two that is gone is told",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), left=Present(RemainingWorkloads(0, 1))),
        ReportRemaining(RemainingWorkloads(0, 1)),
    ),
    (
        "no pods and volumes remain",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), left=Present(RemainingWorkloads(0, 0))),
        MarkReleased(),
    ),
    (
        "workloads leave although the Lease cannot be read",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), lease=Unreadable("500")),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "or is gone",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), lease=Absent()),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "a host without a node has simply been off",
        facts(NODELESS.but(seen_on_version="10"), OFF, node=Absent(), left=Unreadable("not asked")),
        MarkReleased(),
    ),
    ("it is over: the hold goes", facts(SUCCEEDED, HELD), ClearPowerOff(HELD)),
    ("then the lock", facts(SUCCEEDED, BACK_ON), DropLock()),
    ("then nothing is left", facts(SUCCEEDED, BACK_ON, lock=Absent()), NothingLeft()),
    ("after a failure the power-off request is cleared too", facts(FAILED, OFF), ClearPowerOff(OFF)),
    ("then the lock of the failed remediation is released", facts(FAILED, LET_GO), DropLock()),
]

HELD_UP: list[tuple[str, PowerFacts, Step]] = [
    ("a later leader is at work", facts(ASKED.but(epoch=8)), Hold(holds.LeadershipLost(7, 8))),
    (
        "the Node cannot be read",
        facts(ASKED, node=Unreadable("timeout")),
        Hold(holds.CannotRead("the Node", "timeout")),
    ),
    (
        "the host cannot be read",
        facts(RELEASING, host=Unreadable("timeout"), in_phase_for=LATE),
        Hold(holds.CannotRead("the BareMetalHost", "timeout")),
    ),
    (
        "no host was found",
        facts(FRESH, host=Absent(), host_missing="no provider ID"),
        Hold(metal3_holds.HostMissing("no provider ID")),
    ),
    (
        "the Node names no boot",
        facts(FRESH, node=Present(replace(SILENT_NODE, boot_id=""))),
        Hold(remediation_status.BootUnknown("n1")),
    ),
    (
        "the clues disagree",
        facts(BOUND, identity=Mismatch("the system UUID", "a", "b"), in_phase_for=LATE),
        Hold(metal3_holds.WrongHost("the system UUID", "a", "b")),
    ),
    (
        "nothing ties it",
        facts(FRESH, identity=Unproven("no clue")),
        Hold(metal3_holds.HostIdentityUnproven(H, "no clue")),
    ),
    (
        "its Node is in another cluster",
        facts(FRESH, identity=NotHere("metal/m1", "n1")),
        Hold(metal3_holds.NodeNotInCluster("metal/m1", "n1")),
    ),
    (
        "another Node states the same",
        facts(FRESH, identity=SharedIdentity(("n1", "n2"))),
        Hold(metal3_holds.NodesShareIdentity(H, ("n1", "n2"))),
    ),
    (
        "the other Nodes cannot be read",
        facts(FRESH, identity=IdentityUnknown("timeout")),
        Hold(holds.CannotRead("the other Nodes", "timeout")),
    ),
    (
        "the other Nodes cannot be read, and there is evidence: it stands for a while",
        facts(RELEASING, identity=IdentityUnknown("timeout")),
        Hold(holds.CannotRead("the other Nodes", "timeout")),
    ),
    (
        "another has the lock",
        facts(BOUND, lock=Present(LockHolder(ours=False, holder="NodeFence x"))),
        Hold(guard_holds.OtherRemediation("NodeFence x")),
    ),
    (
        "another got the lock since",
        facts(RELEASING, OFF, lock=Present(LockHolder(ours=False, holder="NodeFence x"))),
        Hold(guard_holds.OtherRemediation("NodeFence x")),
    ),
    (
        "the lock cannot be read",
        facts(BOUND, lock=Unreadable("500")),
        Hold(holds.CannotRead("the lock on the node", "500")),
    ),
    (
        "it is off by others",
        facts(BOUND, replace(LET_GO, held_by_others=("x",)), in_phase_for=LATE),
        Hold(metal3_holds.OffByOthers(H, owner=False, holders=("x",))),
    ),
    (
        "its owner switched it off",
        facts(BOUND, replace(LET_GO, online=False)),
        Hold(metal3_holds.OffByOthers(H, owner=True, holders=())),
    ),
    (
        "it is on, and its owner wants it off",
        facts(BOUND, replace(HOST, online=False, held_by_others=("x",))),
        Hold(metal3_holds.OffByOthers(H, owner=True, holders=("x",))),
    ),
    ("its power cannot be seen", facts(BOUND, replace(HOST, paused=True), in_phase_for=LATE), Hold(PAUSED)),
    (
        "it has no status yet",
        facts(BOUND, replace(HOST, powered_on=None)),
        Hold(host_power.HostPowerUncertain(H, host_power.PowerUnreported())),
    ),
    ("nobody asks any more", facts(BOUND, unasked="it is gone"), Hold(decide.NotRequested("it is gone"))),
    (
        "nobody asks any more, and it was to be held",
        facts(ASKED, unasked="it is gone"),
        Hold(decide.NotRequested("it is gone")),
    ),
    ("no policy", facts(BOUND, policy=Absent()), NO_POLICY),
    ("no policy before the hold", facts(ASKED, policy=Absent()), NO_POLICY),
    ("no policy before the evidence", facts(NOTED, OFF, policy=Absent(), in_phase_for=LATE), NO_POLICY),
    ("no policy before the release", facts(RELEASING, OFF, policy=Absent(), in_phase_for=LATE), NO_POLICY),
    (
        "others are under way",
        facts(BOUND, switch=switch(others=Present(1))),
        Hold(guard_holds.TooManyAtOnce(1, 1)),
    ),
    (
        "the kubelet speaks although its host is off",
        facts(NOTED, OFF, lease=Present(RENEWED)),
        FailAttempt(SPOKE, permanent=True),
    ),
    (
        "the node is Ready although its host is off",
        facts(NOTED, OFF, node=Present(READY)),
        Hold(holds.NodeReady("n1")),
    ),
    (
        "the Lease cannot be read",
        facts(RELEASING, OFF, lease=Unreadable("500")),
        Hold(holds.CannotRead("the kubelet's Lease", "500")),
    ),
    (
        "the pods cannot be listed",
        facts(RELEASING, OFF, node=Present(TAINTED_NODE), left=Unreadable("500")),
        Hold(holds.CannotRead("the node's pods and volumes", "500")),
    ),
    (
        "asked for, and now nobody can see",
        facts(ASKED, replace(HELD, paused=True), in_phase_for=LATE - 1),
        Hold(PAUSED),
    ),
]

UNDONE: list[tuple[str, PowerFacts, Step]] = [
    (
        "a node that boots anew before it was off is bound anew",
        facts(ASKED, HELD, node=Present(NEW_BOOT)),
        RecordHostTarget("n1", "uid-1", "boot-2", HELD_HOST, BOARD),
    ),
    (
        "a Node that appears is bound",
        facts(NODELESS.but(seen_on_version="10"), HELD),
        RecordHostTarget("n1", "uid-1", "boot-1", HELD_HOST, BOARD),
    ),
    (
        "off without a date is another attempt",
        facts(ASKED.but(seen_on_version=""), OFF),
        FailAttempt(host_power.OffTimeUncertain(H), permanent=False),
    ),
    (
        "let on, it is waited for",
        facts(ASKED.but(seen_on_version=""), LET_GO),
        Hold(metal3_holds.OffByOthers(H, owner=False, holders=())),
    ),
    ("and seen on anew", facts(ASKED.but(seen_on_version=""), BACK_ON), PreparePowerOff("14", (EARLIER,))),
    (
        "a hold that somebody took off is placed again",
        facts(ASKED, BACK_ON),
        PreparePowerOff("14", (EARLIER,)),
    ),
    (
        "a mark that has done its work goes",
        facts(NOTED, OFF, revocation="rem-1.54"),
        ClearRevocation(SILENT_NODE),
    ),
    ("another's mark stays", facts(NOTED, OFF, revocation="rem-2.54"), RecordEvidence(PROOF)),
    (
        "evidence beside a mark was voided: somebody died before it was forgotten",
        facts(RELEASING, OFF, revocation=MARK),
        ForgetEvidence(host_power.OffTimeUncertain(H)),
    ),
    (
        "paused since: evidence is voided on the Node first",
        facts(RELEASING, PAUSED_OFF),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    ("and forgotten then", facts(RELEASING, PAUSED_OFF, revocation=MARK), ForgetEvidence(PAUSED)),
    (
        "an old mark does not count",
        facts(RELEASING, PAUSED_OFF, revocation="rem-1.54"),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "switched on by hand",
        facts(RELEASING, replace(OFF, powered_on=True), revocation=MARK),
        ForgetEvidence(host_power.HostOn(H)),
    ),
    (
        "our hold taken off, and on",
        facts(RELEASING, BACK_ON, revocation=MARK),
        ForgetEvidence(host_power.PowerOffRequestLost(H)),
    ),
    (
        "our hold taken off, still off",
        facts(RELEASING, LET_GO, revocation=MARK),
        ForgetEvidence(host_power.PowerOffRequestLost(H)),
    ),
    (
        "touched since",
        facts(RELEASING, TOUCHED, revocation=MARK),
        ForgetEvidence(host_power.OffTimeUncertain(H)),
    ),
    (
        "the kubelet spoke since",
        facts(RELEASING, OFF, lease=Present(RENEWED), revocation=MARK),
        ForgetEvidence(SPOKE),
    ),
    (
        "the clues no longer agree",
        facts(RELEASING, OFF, identity=Unproven("gone"), revocation=MARK),
        ForgetEvidence(metal3_holds.HostIdentityUnproven(H, "gone")),
    ),
    (
        "the Lease could not be read for too long: what may be under way is stopped before power comes back",
        facts(RELEASING, OFF, lease=Unreadable("500"), in_phase_for=LATE),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    ("the host is gone: the same", facts(RELEASING, host=Absent()), RevokeRelease(SILENT_NODE, MARK)),
    (
        "and then it has failed",
        facts(ASKED, host=Absent()),
        FailAttempt(metal3_holds.HostGone(H), permanent=True),
    ),
    (
        "another took the host's name",
        facts(ASKED, replace(HOST, uid="host-2")),
        FailAttempt(metal3_holds.HostGone(H), permanent=True),
    ),
    (
        "paused while it was off, before anything was recorded: its date is forgotten",
        facts(ASKED, PAUSED_OFF),
        ForgetEvidence(PAUSED),
    ),
    (
        "detached: the same",
        facts(ASKED, DETACHED_OFF),
        ForgetEvidence(host_power.HostPowerUncertain(H, host_power.Detached())),
    ),
    ("once is enough", facts(ASKED.but(seen_on_version=""), PAUSED_OFF), Hold(PAUSED)),
    (
        "its operator wrote since it was seen off",
        facts(NOTED, replace(OFF, last_updated="12:09")),
        FailAttempt(host_power.OffTimeUncertain(H), permanent=False),
    ),
    (
        "alive under our taint: off at once",
        facts(LEAVING, OFF, node=Present(TAINTED_NODE), lease=Present(RENEWED)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    (
        "switched on under our taint: off at once",
        facts(LEAVING, HELD, node=Present(TAINTED_NODE)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    (
        "its host gone under our taint: off at once",
        facts(LEAVING, host=Absent(), node=Present(TAINTED_NODE)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    (
        "a new boot under our taint: off at once",
        facts(LEAVING, OFF, node=Present(replace(TAINTED_NODE, boot_id="boot-2"))),
        RemoveTaint(replace(TAINTED_NODE, boot_id="boot-2")),
    ),
    ("a new boot before our taint needs none", facts(RELEASING, OFF, node=Present(NEW_BOOT)), MarkReleased()),
    (
        "a deleted Node has nothing to release",
        facts(RELEASING, OFF, node=Absent(), left=GONE),
        MarkReleased(),
    ),
    (
        "but its pods are counted",
        facts(RELEASING, OFF, node=Absent()),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    (
        "and waited for",
        facts(LEAVING, OFF, node=Absent()),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "if they can be seen",
        facts(RELEASING, OFF, node=Absent(), left=Unreadable("500")),
        Hold(holds.CannotRead("the node's pods and volumes", "500")),
    ),
    (
        "nor has another of its name, on another boot",
        facts(RELEASING, OFF, node=Present(replace(OTHER_NODE, boot_id="boot-2"))),
        MarkReleased(),
    ),
    (
        "a Node that vanished before its host was off",
        facts(ASKED, HELD, node=Absent(), lease=Absent()),
        Hold(metal3_holds.WaitingForPowerOff(H, 300.0)),
    ),
    ("and after it was", facts(NOTED, OFF, node=Absent(), lease=Absent(), left=GONE), MarkReleased()),
]


@pytest.mark.parametrize(
    ("world", "expected"),
    [pytest.param(world, step, id=name) for name, world, step in (*STORY, *HELD_UP, *UNDONE)],
)
def test_next_step(world: PowerFacts, expected: Step) -> None:
    assert metal3_decide(world) == expected


def test_a_deleted_one_without_our_finalizer_is_not_touched() -> None:
    bare = remediation(FRESH).but(metadata=ObjectMeta(deletion_timestamp="2026-01-01T00:00:00Z"))
    assert metal3_decide(replace(facts(FRESH), remediation=bare)) == NothingLeft()


@pytest.mark.parametrize(
    "world",
    [
        facts(ASKED, HELD, in_phase_for=LATE),
        facts(ASKED, replace(HELD, error_type="power management error"), in_phase_for=LATE),
        facts(NOTED, OFF, lease=Present(replace(SILENT_LEASE, unchanged_for=0.0)), in_phase_for=LATE),
        facts(NOTED, OFF, lease=Absent(), in_phase_for=LATE),
        facts(NOTED, OFF, node=Present(READY), in_phase_for=LATE),
        facts(ASKED, HELD, identity=Unproven("gone"), in_phase_for=LATE),
        facts(ASKED, LET_GO, in_phase_for=LATE),
        facts(NOTED, OFF, lease=Unreadable("500"), in_phase_for=LATE),
    ],
)
def test_after_the_request_no_wait_is_longer_than_a_power_off_may_take(world: PowerFacts) -> None:
    step = metal3_decide(world)
    assert isinstance(step, FailAttempt)
    assert not step.permanent
    assert isinstance(metal3_decide(replace(world, in_phase_for=LATE - 1)), Hold)


@pytest.mark.parametrize(
    "world", [facts(ASKED), facts(NOTED, OFF), facts(RELEASING, OFF)], ids=["asked", "off", "releasing"]
)
def test_a_remediation_in_progress_is_not_stopped_by_others_in_progress(world: PowerFacts) -> None:
    """Both began at once, or the limit was lowered: each sees one other, and the limit is one."""
    assert metal3_decide(replace(world, switch=switch(others=Present(1)), in_phase_for=86_400.0)) != Hold(
        guard_holds.TooManyAtOnce(1, 1)
    )


@pytest.mark.parametrize("status", [BOUND, ASKED], ids=["before it is asked for", "before our hold"])
def test_a_member_of_the_control_plane_is_switched_off_only_with_a_majority_left(
    status: Metal3RemediationStatus,
) -> None:
    two_of_three, one_of_three = ControlPlane(3, 2, busy=""), ControlPlane(3, 1, busy="")
    at_risk = metal3_decide(facts(status, switch=switch(control_plane=Present(one_of_three))))
    assert at_risk == Hold(guard_holds.QuorumAtRisk(1, 3))
    unread = metal3_decide(facts(status, switch=switch(control_plane=Unreadable("500"))))
    assert unread == Hold(holds.CannotRead("the control plane", "500"))
    assert metal3_decide(facts(status, switch=switch(control_plane=Present(two_of_three)))) == metal3_decide(
        facts(status)
    )


def test_a_node_that_is_back_on_a_new_boot_is_not_switched_off() -> None:
    assert not isinstance(
        metal3_decide(facts(BOUND, node=Present(BACK))), RecordHostTarget | PreparePowerOff | RequestPowerOff
    )


def test_a_host_error_about_an_earlier_request_does_not_end_the_retries() -> None:
    in_error = replace(HOST, operational_status="error", error_type="power management error")
    world = facts(BOUND.but(retry_count=1), in_error, in_phase_for=86_400.0)
    assert not isinstance(metal3_decide(world), Hold)


def test_the_remediation_waits_for_the_pods_of_a_deleted_node() -> None:
    assert (
        metal3_decide(facts(RELEASING, OFF, node=Absent(), left=Present(RemainingWorkloads(2, 1))))
        != MarkReleased()
    )


def test_a_node_without_a_boot_id_has_not_booted_again() -> None:
    nameless = replace(SILENT_NODE, boot_id="")
    assert metal3_decide(facts(RELEASING, OFF, node=Present(nameless))) != MarkReleased()


def test_the_phase_that_was_lost_does_not_matter() -> None:
    """A status whose phase was set back by hand is pursued from what is there."""
    assert metal3_decide(facts(RELEASING.but(phase=Metal3RemediationPhase.PENDING), OFF)) == metal3_decide(
        facts(RELEASING, OFF)
    )
