"""The life of a ManualRemediation, step by step, and every way in which it refuses."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.manual_remediation import ManualRemediationPhase, ManualRemediationStatus
from nodemend.api.meta import ConditionStatus, ObjectMeta, Pause
from nodemend.remediation import status as remediation_status
from nodemend.remediation.manual import decide as manual_decide
from nodemend.remediation.manual.decide import ManualFacts, ReportSilence, Step, decide
from nodemend.safety import guard_holds, holds
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    AddFinalizer,
    ClearRevocation,
    Close,
    DropFinalizer,
    DropLock,
    ForgetEvidence,
    ForgetTaint,
    LockHolder,
    MarkReleased,
    NothingLeft,
    RecordEpoch,
    RecordEvidence,
    RecordTarget,
    Release,
    RemainingWorkloads,
    RemoveTaint,
    ReportRemaining,
    RevokeRelease,
    TakeLock,
)
from nodemend.safety.release import ReleaseTicket
from tests.unit.safety.worlds import (
    ACTING,
    AWAITING,
    BOARD,
    EVIDENCE,
    OUR_TAINT,
    RECOVERING,
    RELEASED,
    RELEASING,
    SILENT_LEASE,
    SILENT_NODE,
    facts,
    remediation,
    switch,
)

TAINTED_NODE = replace(SILENT_NODE, taints=(OUR_TAINT,), version="101")
NEW_BOOT = replace(SILENT_NODE, boot_id="boot-2", version="102")
BACK = replace(NEW_BOOT, ready=ConditionStatus.TRUE)
READY_NODE = replace(SILENT_NODE, ready=ConditionStatus.TRUE)
RENEWED = replace(SILENT_LEASE, renew_time="12:05:00", unchanged_for=0.0)
MARK = "rem-1.55"
FRESH = ManualRemediationStatus()


def awaiting(**changes: Any) -> ManualFacts:
    return facts(remediation(AWAITING), **changes)


def releasing(**changes: Any) -> ManualFacts:
    return facts(remediation(RELEASING), **changes)


def ending(status: ManualRemediationStatus, **changes: Any) -> ManualFacts:
    return facts(remediation(status, deleting=True), **changes)


STORY: list[tuple[str, ManualFacts, Step]] = [
    (
        "a new one is made safe to end",
        replace(facts(remediation(FRESH)), remediation=remediation(FRESH).but(metadata=ObjectMeta())),
        AddFinalizer(),
    ),
    ("then shut to earlier leaders", facts(remediation(FRESH)), RecordEpoch()),
    (
        "then bound to one boot",
        facts(remediation(FRESH.but(epoch=7))),
        RecordTarget("uid-1", "boot-1", hardware_id=BOARD),
    ),
    ("then the node is locked", awaiting(lock=Absent()), TakeLock()),
    (
        "an orphaned lock is taken over",
        awaiting(lock=Present(LockHolder(ours=False, holder="x", orphaned=True))),
        TakeLock(),
    ),
    (
        "then the silence is told",
        facts(remediation(AWAITING.but(last_renew_time=""))),
        ReportSilence("12:00:00"),
    ),
    (
        "then it waits for a word",
        facts(remediation(AWAITING, confirmation=None)),
        Hold(holds.WaitingForConfirmation("n1")),
    ),
    ("the word becomes evidence", awaiting(), RecordEvidence(EVIDENCE)),
    (
        "the evidence becomes a ticket",
        releasing(),
        Release(ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, EVIDENCE)),
    ),
    (
        "what is left is told",
        releasing(node=Present(TAINTED_NODE)),
        ReportRemaining(RemainingWorkloads(2, 1)),
    ),
    (
        "and waited for",
        facts(remediation(RELEASING.but(pods_left=2, attachments_left=1)), node=Present(TAINTED_NODE)),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "all is gone",
        releasing(node=Present(TAINTED_NODE), left=Present(RemainingWorkloads(0, 0))),
        MarkReleased(),
    ),
    (
        "the taint comes off at once",
        facts(remediation(RELEASED), node=Present(TAINTED_NODE)),
        RemoveTaint(TAINTED_NODE),
    ),
    ("and is forgotten", facts(remediation(RELEASED)), ForgetTaint()),
    (
        "workloads leave although the Lease cannot be read",
        facts(
            remediation(RELEASING.but(pods_left=2, attachments_left=1)),
            node=Present(TAINTED_NODE),
            lease=Unreadable("500"),
        ),
        Hold(holds.WorkloadsLeaving(2, 1)),
    ),
    (
        "then the node is awaited",
        facts(remediation(RECOVERING)),
        Hold(remediation_status.WaitingForNewBoot("n1")),
    ),
    (
        "up, but not Ready yet",
        facts(remediation(RECOVERING), node=Present(NEW_BOOT)),
        Hold(remediation_status.WaitingForNewBoot("n1")),
    ),
    ("it is back", facts(remediation(RECOVERING), node=Present(BACK)), Close(node_gone=False)),
    (
        "the lock is given back",
        facts(remediation(RECOVERING.but(phase=ManualRemediationPhase.SUCCEEDED))),
        DropLock(),
    ),
    (
        "and that is all",
        facts(remediation(RECOVERING.but(phase=ManualRemediationPhase.SUCCEEDED)), lock=Absent()),
        NothingLeft(),
    ),
]

HELD: list[tuple[str, ManualFacts, Step]] = [
    (
        "a later leader is at work",
        facts(remediation(AWAITING.but(epoch=8))),
        Hold(holds.LeadershipLost(7, 8)),
    ),
    (
        "the Node cannot be read",
        awaiting(node=Unreadable("timeout")),
        Hold(holds.CannotRead("the Node", "timeout")),
    ),
    (
        "the Node names no boot",
        facts(remediation(FRESH.but(epoch=7)), node=Present(replace(SILENT_NODE, boot_id=""))),
        Hold(remediation_status.BootUnknown("n1")),
    ),
    (
        "the lock cannot be read",
        awaiting(lock=Unreadable("500")),
        Hold(holds.CannotRead("the lock on the node", "500")),
    ),
    (
        "another has the lock",
        awaiting(lock=Present(LockHolder(ours=False, holder="NodeFence x"))),
        Hold(guard_holds.OtherRemediation("NodeFence x")),
    ),
    (
        "another got the lock since",
        releasing(lock=Present(LockHolder(ours=False, holder="NodeFence x"))),
        Hold(guard_holds.OtherRemediation("NodeFence x")),
    ),
    (
        "the Lease cannot be read",
        awaiting(lease=Unreadable("500")),
        Hold(holds.CannotRead("the kubelet's Lease", "500")),
    ),
    ("there is no Lease", awaiting(lease=Absent()), Hold(holds.NoKubeletLease("n1"))),
    ("the kubelet speaks again", awaiting(lease=Present(RENEWED)), ReportSilence("")),
    (
        "the word is for a Lease since renewed",
        awaiting(
            lease=Present(replace(RENEWED, unchanged_for=50.0)),
            remediation=remediation(AWAITING.but(last_renew_time="12:05:00")),
        ),
        Hold(holds.ConfirmationOutdated("12:00:00", "12:05:00")),
    ),
    ("the word is too old", awaiting(confirmation_age=601.0), Hold(holds.ConfirmationExpired(601.0, 600.0))),
    (
        "the policy cannot be read",
        awaiting(policy=Unreadable("500")),
        Hold(holds.CannotRead("the RemediationPolicy", "500")),
    ),
    ("no policy", awaiting(policy=Absent()), Hold(guard_holds.DryRun(policy_exists=False))),
    (
        "others are under way",
        awaiting(switch=switch(others=Present(1))),
        Hold(guard_holds.TooManyAtOnce(1, 1)),
    ),
    ("no policy any more", releasing(policy=Absent()), Hold(guard_holds.DryRun(policy_exists=False))),
    (
        "the pods cannot be listed",
        releasing(node=Present(TAINTED_NODE), left=Unreadable("500")),
        Hold(holds.CannotRead("the node's pods and volumes", "500")),
    ),
    (
        "the boot vouched for speaks after all",
        facts(remediation(RECOVERING), node=Present(replace(SILENT_NODE, ready=ConditionStatus.TRUE))),
        Hold(manual_decide.ConfirmationContradicted("anna", "boot-1")),
    ),
    (
        "the same, and nobody knows any more who had vouched",
        facts(
            remediation(RECOVERING.but(evidence=None)),
            node=Present(replace(SILENT_NODE, ready=ConditionStatus.TRUE)),
        ),
        Hold(manual_decide.ConfirmationContradicted("", "boot-1")),
    ),
]

UNDONE: list[tuple[str, ManualFacts, Step]] = [
    (
        "a mark outlives a release that came after all",
        facts(remediation(RECOVERING), revocation="rem-1.9"),
        ClearRevocation(SILENT_NODE),
    ),
    (
        "a mark of ours beside evidence voids it, whatever is seen now",
        releasing(revocation=MARK),
        ForgetEvidence(None),
    ),
    ("a mark that has done its work goes", awaiting(revocation="rem-1.54"), ClearRevocation(SILENT_NODE)),
    (
        "a node that boots anew is bound anew",
        awaiting(node=Present(NEW_BOOT)),
        RecordTarget("uid-1", "boot-2", hardware_id=BOARD),
    ),
    (
        "a Node replaced under its name is gone",
        awaiting(node=Present(replace(SILENT_NODE, uid="uid-2"))),
        Close(node_gone=True),
    ),
    ("a Node deleted is gone", awaiting(node=Absent()), Close(node_gone=True)),
    (
        "an outlived word is voided on the Node first",
        releasing(lease=Present(RENEWED)),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "and forgotten then",
        releasing(lease=Present(RENEWED), revocation=MARK),
        ForgetEvidence(holds.ConfirmationOutdated("12:00:00", "12:05:00")),
    ),
    (
        "an old mark does not count",
        releasing(confirmation_age=601.0, revocation="rem-1.54"),
        RevokeRelease(SILENT_NODE, MARK),
    ),
    (
        "an expired one likewise",
        releasing(confirmation_age=601.0, revocation=MARK),
        ForgetEvidence(holds.ConfirmationExpired(601.0, 600.0)),
    ),
    (
        "also while the guard holds",
        releasing(confirmation_age=601.0, revocation=MARK, policy=Absent()),
        ForgetEvidence(holds.ConfirmationExpired(601.0, 600.0)),
    ),
    (
        "a word taken away by force",
        facts(remediation(RELEASING, confirmation=None), revocation=MARK),
        ForgetEvidence(holds.WaitingForConfirmation("n1")),
    ),
    (
        "alive under our taint: off at once",
        releasing(node=Present(TAINTED_NODE), lease=Present(RENEWED)),
        RemoveTaint(TAINTED_NODE, contradicted=True, mark=f"{MARK}.contradicted"),
    ),
    (
        "Ready under our taint: off at once",
        releasing(node=Present(replace(TAINTED_NODE, ready=ConditionStatus.TRUE))),
        RemoveTaint(
            replace(TAINTED_NODE, ready=ConditionStatus.TRUE),
            contradicted=True,
            mark=f"{MARK}.contradicted",
        ),
    ),
    (
        "evidence that was wrong is forgotten, though the node is silent again",
        releasing(revocation=f"{MARK}.contradicted"),
        ForgetEvidence(
            manual_decide.ConfirmationContradicted("anna", SILENT_NODE.boot_id), contradicted=True
        ),
    ),
    (
        "that it was wrong is kept when the remediation was written meanwhile",
        releasing(revocation="rem-1.54.contradicted"),
        RevokeRelease(SILENT_NODE, f"{MARK}.contradicted"),
    ),
    (
        "a reboot does not undo that it was wrong",
        releasing(node=Present(NEW_BOOT), revocation=f"{MARK}.contradicted"),
        MarkReleased(contradicted=True),
    ),
    (
        "Ready before our taint: that is kept in the mark, as it may not last",
        releasing(node=Present(READY_NODE)),
        RevokeRelease(READY_NODE, f"{MARK}.disproved"),
    ),
    (
        "a confirmation that was disproved is forgotten as such, though the node is silent again",
        releasing(revocation=f"{MARK}.disproved"),
        ForgetEvidence(holds.ConfirmationDisproved()),
    ),
    (
        "the same under a new leader, which has not yet seen how long the node is silent",
        releasing(lease=Present(replace(SILENT_LEASE, unchanged_for=0.0)), revocation="rem-1.54.disproved"),
        RevokeRelease(SILENT_NODE, f"{MARK}.disproved"),
    ),
    (
        "a new boot under our taint: off at once",
        releasing(node=Present(replace(TAINTED_NODE, boot_id="boot-2"))),
        RemoveTaint(replace(TAINTED_NODE, boot_id="boot-2")),
    ),
    ("a new boot before our taint needs none", releasing(node=Present(NEW_BOOT)), MarkReleased()),
]

ENDS: list[tuple[str, ManualFacts, Step]] = [
    ("released after a mark was set", ending(RELEASED, revocation="rem-1.9"), ClearRevocation(SILENT_NODE)),
    ("before anything", ending(AWAITING), DropLock()),
    ("nothing is held", ending(AWAITING, lock=Absent()), DropFinalizer()),
    (
        "another's lock stays",
        ending(AWAITING, lock=Present(LockHolder(ours=False, holder="x"))),
        DropFinalizer(),
    ),
    (
        "not knowing the lock",
        ending(AWAITING, lock=Unreadable("500")),
        Hold(holds.CannotRead("the lock on the node", "500")),
    ),
    (
        "not knowing the Node",
        ending(RELEASING, node=Unreadable("500")),
        Hold(holds.CannotRead("the Node", "500")),
    ),
    ("with our taint on", ending(RELEASING, node=Present(TAINTED_NODE)), RemoveTaint(TAINTED_NODE)),
    ("a release may be under way", ending(RELEASING), RevokeRelease(SILENT_NODE, MARK)),
    ("it cannot land any more", ending(RELEASING, revocation=MARK), ForgetEvidence(None)),
    ("released, taint on", ending(RELEASED, node=Present(TAINTED_NODE)), RemoveTaint(TAINTED_NODE)),
    ("released, taint off", ending(RELEASED), DropLock()),
    ("the mark is taken off", ending(AWAITING, revocation=MARK), ClearRevocation(SILENT_NODE)),
    ("another's mark stays", ending(AWAITING, revocation="rem-2.1"), DropLock()),
    (
        "another Node took the name",
        ending(RELEASING, node=Present(replace(TAINTED_NODE, uid="uid-2"))),
        DropLock(),
    ),
    ("the Node is gone", ending(RELEASING, node=Absent()), DropLock()),
    ("an earlier leader's is stamped first", ending(AWAITING.but(epoch=6)), RecordEpoch()),
]


@pytest.mark.parametrize(
    ("world", "expected"),
    [pytest.param(world, step, id=name) for name, world, step in (*STORY, *HELD, *UNDONE, *ENDS)],
)
def test_next_step(world: ManualFacts, expected: Step) -> None:
    assert decide(world) == expected


def test_a_deleted_one_without_our_finalizer_is_not_touched() -> None:
    bare = remediation(FRESH).but(metadata=ObjectMeta(deletion_timestamp="2026-01-01T00:00:00Z"))
    assert decide(facts(bare)) == NothingLeft()


def test_a_pause_holds_the_release_and_keeps_the_evidence() -> None:
    paused = replace(ACTING, pause=Pause(reason="switch swap", by="anna"))
    assert decide(releasing(policy=Present(paused))) == Hold(guard_holds.Paused("anna", "switch swap"))


THEIRS = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
BY_ANOTHER = replace(SILENT_NODE, taints=(replace(OUR_TAINT, value="nodeshutdown"),))


@pytest.mark.attack("F1")
def test_another_s_taint_is_left_alone_and_the_release_waits_for_its_removal() -> None:
    tainted = releasing(node=Present(BY_ANOTHER))
    assert decide(tainted) == ReportRemaining(RemainingWorkloads(2, 1))
    assert decide(replace(tainted, left=Present(RemainingWorkloads(0, 0)))) == MarkReleased(
        taint_stays=THEIRS
    )
    reported = tainted.remediation.status.but(pods_left=2, attachments_left=1)
    waiting = replace(tainted, remediation=remediation(reported), confirmation_age=9999.0)
    assert decide(waiting) == Hold(holds.TaintedByAnother("n1", THEIRS, 2, 1))


@pytest.mark.attack("F1")
def test_a_boot_that_reports_under_another_s_taint_voids_the_evidence() -> None:
    awake = replace(BY_ANOTHER, ready=ConditionStatus.TRUE)
    assert isinstance(decide(releasing(node=Present(awake))), RevokeRelease)


def test_a_started_release_is_not_stopped_by_other_started_ones() -> None:
    """The limit was lowered meanwhile: each of two would wait for the other."""
    begun = releasing(switch=switch(others=Present(1)))
    assert isinstance(decide(begun), Release)
