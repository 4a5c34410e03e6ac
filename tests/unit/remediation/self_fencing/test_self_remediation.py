"""The life of a SelfRemediation: every state, and its next step."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.agent import WatchdogReport
from nodemend.api.meta import ConditionStatus
from nodemend.api.remediation_policy import Mode
from nodemend.api.self_remediation import SelfRemediationPhase, SelfRemediationStatus, Weakness
from nodemend.remediation.self_fencing.decide import (
    NOTED_EVERY,
    AccumulatingProof,
    AgentReportForOther,
    AgentReportInvalid,
    BootGateUnreported,
    NoAgent,
    NoNode,
    NoUsableWatchdog,
    PlaceMarker,
    ProofContradicted,
    RecordMarker,
    RecordProgress,
    RecordProof,
    RemoveMarker,
    StartFencing,
    Step,
    decide,
)
from nodemend.remediation.status import BootUnknown, WaitingForNewBoot
from nodemend.safety.facts import Absent, LeaseFacts, Present, Unreadable
from nodemend.safety.guard import ControlPlane
from nodemend.safety.guard_holds import DryRun, OtherRemediation, QuorumAtRisk, TooManyAtOnce
from nodemend.safety.holds import (
    CannotRead,
    Hold,
    KubeletActive,
    LeadershipLost,
    NodeReady,
    NoKubeletLease,
    TaintedByAnother,
    WorkloadsLeaving,
)
from nodemend.safety.lifecycle import (
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
from nodemend.safety.time_proof import AgentFacts, NoTimeProof
from tests.unit.remediation.self_fencing.fencing_worlds import (
    BACK,
    BY_NEW_BOOT,
    BY_TIME,
    FENCING,
    MARKED,
    MARKER,
    NEW_BOOT,
    NOTED,
    PEERS,
    PENDING,
    RECOVERING,
    RELEASED,
    RELEASING,
    REPORT,
    UNMARKED,
    facts,
    observations,
    proven,
    remediation,
)
from tests.unit.safety.worlds import ACTING, BOARD, OUR_TAINT, SILENT_NODE, switch

READY = replace(SILENT_NODE, ready=ConditionStatus.TRUE)
NEW = replace(SILENT_NODE, boot_id="boot-2")
NEW_AND_READY = replace(READY, boot_id="boot-2")
TAINTED = replace(SILENT_NODE, taints=(OUR_TAINT,))
THEIRS = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
BY_ANOTHER = replace(SILENT_NODE, taints=(replace(OUR_TAINT, value="nodeshutdown"),))
SPEAKS = LeaseFacts(renew_time="12:01:00", lasts=40.0, unchanged_for=3.0)
DRY = replace(ACTING, mode=Mode.DRY_RUN)
OURS = "rem-1.55"
STATUS = SelfRemediationStatus
RECORDED = RecordTarget("uid-1", "boot-1", "n1", BOARD)


def step(status: SelfRemediationStatus, *, spec: dict[str, Any] | None = None, **changes: Any) -> Step:
    return decide(facts(remediation(status, **(spec or {})), **changes))


def watched(by: WatchdogReport) -> Present[AgentFacts]:
    return Present(replace(UNMARKED, report=REPORT.but(watchdog=by)))


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        (STATUS(), {}, RecordEpoch()),
        (PENDING.but(epoch=8), {}, Hold(LeadershipLost(7, 8))),
        (STATUS(epoch=7), {}, RecordTarget("uid-1", "boot-1", "n1", BOARD)),
        (PENDING.but(boot_id="boot-0"), {}, RecordTarget("uid-1", "boot-1", "n1", BOARD)),
        (PENDING, {"lock": Absent()}, TakeLock()),
        (PENDING, {"lock": Present(LockHolder(ours=False, holder="x"))}, Hold(OtherRemediation("x"))),
        (PENDING, {}, StartFencing()),
        # Nothing starts if it is unknown what will reset the node, or if nothing will.
        (PENDING, {"agent": Absent()}, Hold(NoAgent("n1"))),
        (PENDING, {"agent": Unreadable("500")}, Hold(CannotRead("the agent's Lease", "500"))),
        (
            PENDING,
            {"agent": Present(AgentFacts("l", "1", None, None, "odd"))},
            Hold(AgentReportInvalid("n1", "odd")),
        ),
        (
            PENDING,
            {"agent": Present(replace(UNMARKED, report=REPORT.but(node_uid="uid-0")))},
            Hold(AgentReportForOther("node", "uid-0", "uid-1")),
        ),
        (
            PENDING,
            {"agent": Present(replace(UNMARKED, report=NEW_BOOT))},
            Hold(AgentReportForOther("boot", "boot-2", "boot-1")),
        ),
        (
            PENDING,
            {"agent": watched(WatchdogReport(class_="none"))},
            Hold(NoUsableWatchdog("n1", "it reports none")),
        ),
        (
            PENDING,
            {"agent": watched(WatchdogReport(class_="none", why="no device"))},
            Hold(NoUsableWatchdog("n1", "no device")),
        ),
        (PENDING, {"agent": watched(WatchdogReport(class_="hardware", effective=1.0))}, StartFencing()),
        (PENDING, {"node": Present(replace(SILENT_NODE, boot_id=""))}, Hold(BootUnknown("n1"))),
        (PENDING, {"node": Unreadable("500")}, Hold(CannotRead("the Node", "500"))),
        # The guard.
        (PENDING, {"policy": Present(DRY)}, Hold(DryRun(policy_exists=True))),
        (PENDING, {"switch": switch(others=Present(1))}, Hold(TooManyAtOnce(1, 1))),
        (
            PENDING,
            {"switch": switch(others=Unreadable("500"))},
            Hold(CannotRead("the other remediations", "500")),
        ),
    ],
)
def test_before_it_begins(status: SelfRemediationStatus, changes: dict[str, Any], expected: Step) -> None:
    assert step(status, **changes) == expected


def test_a_member_without_which_there_is_no_quorum_is_neither_begun_with_nor_marked() -> None:
    around = Present(ControlPlane(3, 1, busy=""))

    for status in (PENDING, FENCING):
        held = step(status, switch=switch(control_plane=around))
        assert isinstance(held, Hold)
        assert isinstance(held.reason, QuorumAtRisk)


HELD_BACK = NEW_BOOT.but(held_back="it has reset itself 3 times")


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        # The boot that the Node names has ended, and a write to exactly this version opens the new boot's
        # gate.
        (STATUS(epoch=7), {"agent": Present(replace(UNMARKED, report=HELD_BACK))}, RECORDED),
        (PENDING, {"agent": Present(replace(UNMARKED, report=HELD_BACK))}, StartFencing()),
        (
            FENCING,
            {"agent": Present(replace(UNMARKED, report=HELD_BACK))},
            PlaceMarker(replace(UNMARKED, report=HELD_BACK), MARKER),
        ),
        (
            FENCING,
            {"agent": Present(replace(UNMARKED, report=HELD_BACK)), "policy": Present(DRY)},
            Hold(DryRun(policy_exists=True)),
        ),
        # The gate has opened meanwhile: kubelet will renew its Lease for that boot.
        (
            FENCING,
            {"agent": Present(replace(UNMARKED, report=NEW_BOOT))},
            Hold(AgentReportForOther("boot", "boot-2", "boot-1")),
        ),
    ],
)
def test_a_new_boot_that_its_gate_holds_back_is_marked_before_anything_rests_on_it(
    status: SelfRemediationStatus, changes: dict[str, Any], expected: Step
) -> None:
    assert step(status, **changes) == expected


def test_under_the_marker_that_new_boot_is_evidence_and_is_released() -> None:
    marked = Present(replace(BACK, report=HELD_BACK))
    found = step(FENCING, agent=marked)
    assert isinstance(found, RecordEvidence)
    assert (found.evidence.class_, found.evidence.boot_id) == ("E2", "boot-1")

    assert isinstance(step(NOTED.but(evidence=found.evidence), agent=marked), Release)


def test_the_marker_of_a_drill_says_so() -> None:
    asked = remediation(FENCING)
    asked = asked.but(metadata=asked.metadata.but(annotations={well_known.DRILL: "anna"}))

    assert decide(facts(asked)) == PlaceMarker(UNMARKED, MARKER.but(drill=True))


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        (FENCING, {}, PlaceMarker(UNMARKED, MARKER)),
        # A started fencing counts in the limits of others, and their limits do not hold it; a pause or a dry
        # run does.
        (FENCING, {"switch": switch(others=Present(5))}, PlaceMarker(UNMARKED, MARKER)),
        (FENCING, {"policy": Present(DRY)}, Hold(DryRun(policy_exists=True))),
        # The marker of a remediation that is gone: this one holds the lock.
        (
            FENCING,
            {"agent": Present(replace(UNMARKED, marker=MARKER.but(remediation_uid="rem-0")))},
            PlaceMarker(replace(UNMARKED, marker=MARKER.but(remediation_uid="rem-0")), MARKER),
        ),
        (FENCING, {"agent": Present(MARKED)}, RecordMarker(MARKED)),
        (
            NOTED,
            {"agent": Present(replace(MARKED, version="99"))},
            RecordMarker(replace(MARKED, version="99")),
        ),
        (NOTED, {"agent": Present(replace(MARKED, uid="other"))}, RecordMarker(replace(MARKED, uid="other"))),
        (NOTED, {"agent": Present(MARKED), "revocation": OURS}, ClearRevocation(SILENT_NODE)),
        (
            NOTED.but(contradicted=True),
            {"agent": Present(MARKED)},
            Hold(ProofContradicted("boot-1")),
        ),
        (NOTED, {"agent": Absent()}, Hold(NoAgent("n1"))),
        (
            NOTED,
            {"agent": Present(AgentFacts("l", "1", None, MARKER, "odd"))},
            Hold(AgentReportInvalid("n1", "odd")),
        ),
        (
            NOTED,
            {"agent": Present(replace(MARKED, report=REPORT.but(node_uid="uid-0")))},
            Hold(AgentReportForOther("node", "uid-0", "uid-1")),
        ),
    ],
)
def test_the_marker(status: SelfRemediationStatus, changes: dict[str, Any], expected: Step) -> None:
    assert step(status, **changes) == expected


# Evidence: a new boot.


@pytest.mark.parametrize(
    ("changes", "by", "new"),
    [
        ({"agent": Present(BACK)}, "its agent", "boot-2"),
        ({"node": Present(NEW), "agent": Unreadable("500")}, "its kubelet", "boot-2"),
    ],
)
def test_a_new_boot_is_evidence_regardless_of_its_reporter(
    changes: dict[str, Any], by: str, new: str
) -> None:
    found = step(NOTED, **changes)

    assert isinstance(found, RecordEvidence)
    evidence = found.evidence
    assert (evidence.class_, evidence.node_uid, evidence.boot_id, evidence.by) == (
        "E2",
        "uid-1",
        "boot-1",
        by,
    )
    assert new in evidence.reason
    assert evidence.last_renew_time == "12:00:00"


@pytest.mark.parametrize("lease", [Absent(), Unreadable("500")])
def test_a_new_boot_is_evidence_also_where_the_kubelet_has_no_lease(lease: Absent | Unreadable) -> None:
    found = step(NOTED, agent=Present(BACK), lease=lease)

    assert isinstance(found, RecordEvidence)
    assert found.evidence.last_renew_time == ""


def test_a_new_boot_that_came_before_the_marker_is_nobodys_evidence() -> None:
    found = step(FENCING, agent=Present(replace(UNMARKED, report=NEW_BOOT)))
    assert found == Hold(AgentReportForOther("boot", "boot-2", "boot-1"))


# Evidence: time.


def prove(status: SelfRemediationStatus = NOTED, **changes: Any) -> Step:
    usual = {"agent": Present(MARKED), "observations": observations(), "passed": 2.0}
    return step(status, **{**usual, **changes})


def test_the_counted_seconds_of_each_peer_are_recorded_at_once() -> None:
    found = prove()

    assert isinstance(found, RecordProgress)
    assert set(found.progress.counted) == set(PEERS)
    assert (found.progress.seconds, found.progress.needed) == (0, 72)


COUNTING = NOTED.but(proven=proven(40.0), safe_time_seconds=72)


def test_seconds_are_written_down_every_now_and_then() -> None:
    assert prove(COUNTING, passed=9.9) == Hold(AccumulatingProof(49, 72, 4, 4))
    noted = prove(COUNTING, passed=10.0)
    assert isinstance(noted, RecordProgress)
    assert noted.progress.seconds == 50


def test_who_is_no_peer_of_the_node_any_more_does_not_count() -> None:
    found = prove(COUNTING, agent=Present(replace(MARKED, report=REPORT.but(peers=(("a", "b", "c"),)))))

    assert isinstance(found, RecordProgress)
    assert set(found.progress.counted) == {"a", "b", "c"}


ENOUGH = NOTED.but(proven=proven(70.0), safe_time_seconds=72)


def test_time_proves_it() -> None:
    found = prove(ENOUGH)

    assert isinstance(found, RecordProof)
    assert found.progress.seconds == 72
    assert (found.evidence.class_, found.evidence.boot_id) == ("E4", "boot-1")
    assert found.evidence.last_renew_time == "12:00:00"
    assert "72 s" in found.evidence.reason


def test_what_is_proven_is_not_written_down_as_progress_first() -> None:
    assert isinstance(prove(ENOUGH, passed=NOTED_EVERY), RecordProof)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"passed": 1.9}, Hold(AccumulatingProof(71, 72, 4, 4))),
        ({"observations": observations(1000.0)}, Hold(AccumulatingProof(0, 72, 0, 4))),
        ({"observations": observations(None)}, Hold(AccumulatingProof(0, 72, 0, 4))),
        ({"lease": Present(SPEAKS)}, Hold(KubeletActive(3.0, 40.0))),
        ({"lease": Unreadable("500")}, Hold(CannotRead("the kubelet's Lease", "500"))),
        ({"lease": Absent()}, Hold(NoKubeletLease("n1"))),
        ({"node": Present(READY)}, Hold(NodeReady("n1"))),
        ({"policy": Present(DRY)}, Hold(DryRun(policy_exists=True))),
    ],
)
def test_what_keeps_time_from_proving_it(changes: dict[str, Any], expected: Step) -> None:
    assert prove(ENOUGH, **changes) == expected


def test_what_is_held_up_at_the_end_is_written_down_all_the_same() -> None:
    found = prove(ENOUGH, lease=Present(SPEAKS), passed=10.0)
    assert isinstance(found, RecordProgress)


def test_a_node_for_which_time_proves_nothing_waits_for_its_new_boot() -> None:
    ungated = Present(replace(MARKED, report=REPORT.but(boot_gate=False)))

    held = prove(ENOUGH, agent=ungated)
    assert isinstance(held, Hold)
    assert type(held.reason).__name__ == "NoTimeProof"
    accepted = prove(ENOUGH, agent=ungated, spec={"accept": (Weakness.NO_BOOT_GATE,)})
    assert isinstance(accepted, RecordProof)


UNVOUCHED = "only 1 of its peers have been up since before its last report"


@pytest.mark.attack("K1")
@pytest.mark.parametrize("status", [NOTED.but(proven=proven(40.0), safe_time_seconds=72), ENOUGH])
def test_a_last_report_that_too_few_peers_remember_to_be_the_last_proves_nothing(
    status: SelfRemediationStatus,
) -> None:
    """Peers that booted since, or noticed a restore of etcd, remember only later versions."""
    known = observations()
    forgetful = {
        name: replace(known[name], contact=replace(known[name].contact, remembers_from=since))
        for name, since in zip(PEERS, (5, REPORT.replaces, 70, 0), strict=True)
    }

    held = prove(status, observations=forgetful)

    assert isinstance(held, Hold)
    assert isinstance(held.reason, NoTimeProof)
    assert UNVOUCHED in held.reason.why
    assert "etcd may have been restored" in held.reason.why


@pytest.mark.attack("K1")
def test_a_confirming_peer_must_be_covered_to_the_end() -> None:
    known = observations()
    stale = {
        name: replace(observation, contact=replace(observation.contact, remembers_from=0))
        for name, observation in known.items()
    }
    silent = {name: replace(known[name], covered_until=999.0) for name in ("a",)}

    held = prove(ENOUGH, observations={**stale, "b": known["b"], **silent})

    assert isinstance(held, Hold)
    assert isinstance(held.reason, NoTimeProof)


# The release.


def ticket(node: Any = SILENT_NODE, evidence: Any = BY_TIME) -> ReleaseTicket:
    return ReleaseTicket("n1", "uid-1", node.version, "boot-1", 7, evidence)


BY_BOOT = RELEASING.but(evidence=BY_NEW_BOOT)
SERVING = replace(BACK, report=NEW_BOOT.but(acknowledged=9, answers=None))
STARTING = replace(BACK, report=NEW_BOOT.but(answers=None))
ASKED = replace(BACK, marker=MARKER.but(epoch=6))
UNANSWERED = replace(BACK, report=NEW_BOOT.but(answers=6))
OPENED = replace(BACK, marker=None)


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        (RELEASING, {"agent": Present(MARKED)}, Release(ticket())),
        # It came back meanwhile, and its gate holds it.
        (RELEASING, {"agent": Present(BACK)}, Release(ticket())),
        (BY_BOOT, {"agent": Present(BACK)}, Release(ticket(evidence=BY_NEW_BOOT))),
        # An agent reports, so kubelet runs and cleans up its own pods.
        (RELEASING, {"agent": Present(SERVING)}, MarkReleased()),
        (BY_BOOT, {"agent": Present(SERVING)}, MarkReleased()),
        (BY_BOOT, {"agent": Present(STARTING)}, MarkReleased()),
        # The gate's answer to an earlier leader may be older than a restore of etcd, so it is requested
        # again.
        (BY_BOOT, {"agent": Present(ASKED)}, PlaceMarker(ASKED, MARKER)),
        (BY_BOOT, {"agent": Present(UNANSWERED)}, Hold(BootGateUnreported("n1"))),
        (BY_BOOT, {"agent": Present(OPENED)}, MarkReleased()),
        (BY_BOOT, {"agent": Present(BACK), "node": Present(READY)}, MarkReleased()),
        (BY_BOOT, {"agent": Present(BACK), "lease": Present(SPEAKS)}, MarkReleased()),
        (BY_BOOT, {"agent": Present(BACK), "node": Present(NEW)}, MarkReleased()),
        (RELEASING, {"agent": Present(MARKED), "node": Present(NEW)}, MarkReleased()),
        # The marker was removed. No new boot has written since, so it can be set again in time.
        (RELEASING, {"agent": Present(UNMARKED)}, PlaceMarker(UNMARKED, MARKER)),
        # The kubelet of a boot that was proven over renews its Lease.
        (RELEASING, {"agent": Present(MARKED), "lease": Present(SPEAKS)}, RevokeRelease(SILENT_NODE, OURS)),
        (RELEASING, {"agent": Present(MARKED), "node": Present(READY)}, RevokeRelease(READY, OURS)),
        (
            RELEASING,
            {"agent": Present(MARKED), "lease": Present(SPEAKS), "revocation": OURS},
            ForgetEvidence(ProofContradicted("boot-1")),
        ),
        # A revocation beside evidence revokes it, even if all facts are healthy.
        (
            RELEASING,
            {"agent": Present(MARKED), "revocation": "rem-1.40"},
            ForgetEvidence(ProofContradicted("boot-1")),
        ),
        # Unknown facts hold.
        (RELEASING, {"agent": Unreadable("500")}, Hold(CannotRead("the agent's Lease", "500"))),
        (RELEASING, {"agent": Absent()}, Hold(NoAgent("n1"))),
        (
            RELEASING,
            {"agent": Present(MARKED), "lease": Unreadable("500")},
            Hold(CannotRead("the kubelet's Lease", "500")),
        ),
        (
            RELEASING,
            {"agent": Present(replace(MARKED, report=None, problem="odd"))},
            Hold(AgentReportInvalid("n1", "odd")),
        ),
        (
            RELEASING,
            {"agent": Present(MARKED), "policy": Present(DRY)},
            Hold(DryRun(policy_exists=True)),
        ),
        # Nodemend's taint is set.
        (RELEASING, {"node": Present(TAINTED)}, ReportRemaining(RemainingWorkloads(2, 1))),
        (
            RELEASING.but(pods_left=2, attachments_left=1),
            {"node": Present(TAINTED)},
            Hold(WorkloadsLeaving(2, 1)),
        ),
        (RELEASING, {"node": Present(TAINTED), "left": Present(RemainingWorkloads(0, 0))}, MarkReleased()),
        (
            RELEASING,
            {"node": Present(TAINTED), "lease": Present(SPEAKS)},
            RemoveTaint(TAINTED, contradicted=True, mark="rem-1.55.contradicted"),
        ),
        (
            RELEASING,
            {"node": Present(replace(TAINTED, boot_id="boot-2"))},
            RemoveTaint(replace(TAINTED, boot_id="boot-2")),
        ),
        # Another controller's taint is set.
        pytest.param(
            RELEASING,
            {"node": Present(BY_ANOTHER), "agent": Present(MARKED)},
            ReportRemaining(RemainingWorkloads(2, 1)),
            marks=pytest.mark.attack("F1"),
        ),
        pytest.param(
            RELEASING,
            {
                "node": Present(BY_ANOTHER),
                "agent": Present(MARKED),
                "left": Present(RemainingWorkloads(0, 0)),
            },
            MarkReleased(taint_stays=THEIRS),
            marks=pytest.mark.attack("F1"),
        ),
        pytest.param(
            RELEASING.but(pods_left=2, attachments_left=1),
            {"node": Present(BY_ANOTHER), "agent": Present(MARKED)},
            Hold(TaintedByAnother("n1", THEIRS, 2, 1)),
            marks=pytest.mark.attack("F1"),
        ),
    ],
)
def test_the_release(status: SelfRemediationStatus, changes: dict[str, Any], expected: Step) -> None:
    assert step(status, **changes) == expected


# Afterwards.


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        (RELEASED, {"node": Present(TAINTED)}, RemoveTaint(TAINTED)),
        (RELEASED, {"node": Present(TAINTED), "agent": Present(MARKED)}, RemoveTaint(TAINTED)),
        (RELEASED, {}, ForgetTaint()),
        (RECOVERING, {"revocation": OURS}, ClearRevocation(SILENT_NODE)),
        (RECOVERING, {"agent": Present(MARKED)}, RemoveMarker(MARKED)),
        (RECOVERING, {"agent": Present(BACK)}, RemoveMarker(BACK)),
        (RECOVERING, {"agent": Unreadable("500")}, Hold(CannotRead("the agent's Lease", "500"))),
        (RECOVERING, {}, Hold(WaitingForNewBoot("n1"))),
        (RECOVERING, {"agent": Absent()}, Hold(WaitingForNewBoot("n1"))),
        (RECOVERING, {"node": Present(NEW)}, Hold(WaitingForNewBoot("n1"))),
        (RECOVERING, {"node": Present(NEW_AND_READY)}, Close(node_gone=False)),
        (RECOVERING, {"node": Present(READY)}, Hold(ProofContradicted("boot-1"))),
        (RECOVERING.but(evidence=BY_NEW_BOOT), {"node": Present(READY)}, Hold(WaitingForNewBoot("n1"))),
        (RECOVERING.but(phase=SelfRemediationPhase.SUCCEEDED), {}, DropLock()),
        (RECOVERING.but(phase=SelfRemediationPhase.SUCCEEDED), {"lock": Absent()}, NothingLeft()),
        # The Node is gone, or another Node has its name.
        (NOTED, {"node": Absent(), "agent": Present(MARKED)}, RemoveMarker(MARKED)),
        (NOTED, {"node": Absent()}, Close(node_gone=True)),
        (NOTED, {"node": Present(replace(SILENT_NODE, uid="uid-2"))}, Close(node_gone=True)),
        (PENDING, {"node": Absent(), "agent": Unreadable("500")}, Close(node_gone=True)),
        (STATUS(epoch=7), {"node": Absent()}, Hold(NoNode("n1"))),
    ],
)
def test_afterwards(status: SelfRemediationStatus, changes: dict[str, Any], expected: Step) -> None:
    assert step(status, **changes) == expected


@pytest.mark.parametrize(
    ("status", "changes", "expected"),
    [
        (PENDING, {}, DropLock()),
        (PENDING, {"lock": Absent(), "agent": Unreadable("500")}, DropFinalizer()),
        (NOTED, {"agent": Present(MARKED)}, RemoveMarker(MARKED)),
        (NOTED, {"agent": Unreadable("500")}, Hold(CannotRead("the agent's Lease", "500"))),
        # A marker of another remediation stays.
        (
            NOTED,
            {"agent": Present(replace(MARKED, marker=MARKER.but(remediation_uid="rem-0")))},
            DropLock(),
        ),
        (NOTED, {"agent": Absent(), "lock": Absent()}, DropFinalizer()),
        (NOTED, {"revocation": OURS}, ClearRevocation(SILENT_NODE)),
        # The Node is cleaned up before the marker is removed.
        (RELEASING, {"agent": Present(MARKED), "node": Present(TAINTED)}, RemoveTaint(TAINTED)),
        (RELEASING, {"agent": Present(MARKED)}, RevokeRelease(SILENT_NODE, OURS)),
        (RELEASING, {"agent": Present(MARKED), "revocation": OURS}, ForgetEvidence(None)),
        (RELEASED, {"agent": Present(MARKED)}, RemoveMarker(MARKED)),
        (RELEASED, {"agent": Present(MARKED), "revocation": OURS}, ClearRevocation(SILENT_NODE)),
        (RELEASED, {"node": Unreadable("500")}, Hold(CannotRead("the Node", "500"))),
        (RELEASING, {"node": Absent(), "agent": Present(MARKED)}, RemoveMarker(MARKED)),
        (RELEASING, {"node": Absent(), "lock": Absent()}, DropFinalizer()),
    ],
)
def test_when_it_is_deleted(status: SelfRemediationStatus, changes: dict[str, Any], expected: Step) -> None:
    assert step(status, spec={"deleting": True}, **changes) == expected
