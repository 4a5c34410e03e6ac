"""A power cycle of a node with another controller's out-of-service taint, which stays the only one."""

from dataclasses import replace

import pytest

from nodemend.api.metal3_remediation import Metal3RemediationSpec, NodeBackup, ReleaseBy
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import BackUp, PowerFacts, Step
from nodemend.safety import holds, host_power
from nodemend.safety.facts import Present
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    ForgetEvidence,
    ForgetTaint,
    MarkReleased,
    RecordEvidence,
    Release,
    RemainingWorkloads,
    ReportRemaining,
    RevokeRelease,
)
from tests.unit.remediation.metal3.power_worlds import (
    LEAVING,
    MARK,
    NOTED,
    OFF,
    PROOF,
    RELEASED,
    RELEASING,
    TAINTED_NODE,
    facts,
)

H = "metal3/h1"
GONE = Present(RemainingWorkloads(0, 0))
BROKEN_OFF = f"{MARK}.contradicted"
PAUSED_OFF = replace(OFF, paused=True)
THEIRS = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
BY_ANOTHER = replace(TAINTED_NODE, taints=(replace(TAINTED_NODE.taints[0], value="nodeshutdown"),))
DELETES = Metal3RemediationSpec(release_by=ReleaseBy.NODE_DELETION)


@pytest.mark.attack("F1")
@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (facts(RELEASING, OFF, node=Present(BY_ANOTHER)), ReportRemaining(RemainingWorkloads(2, 1))),
        (
            facts(LEAVING, OFF, node=Present(BY_ANOTHER), in_phase_for=9999.0),
            Hold(holds.TaintedByAnother("n1", THEIRS, 2, 1)),
        ),
        (facts(LEAVING, OFF, node=Present(BY_ANOTHER), left=GONE), MarkReleased(taint_stays=THEIRS)),
        (facts(LEAVING, PAUSED_OFF, node=Present(BY_ANOTHER)), RevokeRelease(BY_ANOTHER, BROKEN_OFF)),
        (
            facts(LEAVING, PAUSED_OFF, node=Present(BY_ANOTHER), revocation=BROKEN_OFF),
            ForgetEvidence(host_power.OffTimeUncertain(H), contradicted=True),
        ),
        (
            facts(LEAVING, OFF, node=Present(BY_ANOTHER), left=GONE, revocation="rem-1.54"),
            RevokeRelease(BY_ANOTHER, MARK),
        ),
        (facts(LEAVING, OFF, node=Present(replace(BY_ANOTHER, boot_id="boot-2"))), MarkReleased()),
        (
            facts(LEAVING, OFF, node=Present(BY_ANOTHER), deleting=True),
            Hold(holds.TaintedByAnother("n1", THEIRS, 2, 1)),
        ),
        (facts(RELEASED, OFF, node=Present(BY_ANOTHER)), ForgetTaint()),
        (
            facts(NOTED, OFF, node=Present(BY_ANOTHER)),
            RecordEvidence(PROOF),
        ),
    ],
    ids=[
        "what is left is told",
        "and waited for, with words",
        "gone, it is released and their taint stays",
        "what speaks against the evidence voids it",
        "and then it is forgotten",
        "as a mark that stands does",
        "a new boot ends it",
        "at the end it is waited for too",
        "afterwards theirs is left alone",
        "without evidence their taint is none",
    ],
)
def test_a_foreign_taint_blocks_nodemend_s_taint_and_is_not_removed(
    world: PowerFacts, expected: Step
) -> None:
    assert decide(world) == expected


@pytest.mark.attack("F1")
def test_another_s_taint_of_another_effect_is_no_matter() -> None:
    beside = replace(BY_ANOTHER, taints=(replace(BY_ANOTHER.taints[0], effect="NoSchedule"),))
    assert isinstance(decide(facts(RELEASING, OFF, node=Present(beside))), Release)


@pytest.mark.attack("F1")
def test_where_the_node_is_to_be_deleted_another_s_taint_is_no_release() -> None:
    kept = NodeBackup()
    world = facts(
        RELEASING, OFF, node=Present(BY_ANOTHER), spec=DELETES, belongings=kept, may_delete_nodes=True
    )
    assert decide(world) == BackUp(kept)
