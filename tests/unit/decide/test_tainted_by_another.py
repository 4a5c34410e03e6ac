"""A power cycle of a node that another has put out of service: their taint keeps ours away, and stays."""

from dataclasses import replace

import pytest

from nodemend.api.node_deletion import NodeBackup, ReleaseBy
from nodemend.api.power_cycle import Metal3RemediationSpec
from nodemend.decide import holds, host_holds
from nodemend.decide.facts import Present
from nodemend.decide.holds import Hold
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_phases import decide
from nodemend.decide.power_cycle_steps import BackUp, Step
from nodemend.decide.remediation_steps import (
    ForgetEvidence,
    ForgetTaint,
    Left,
    MarkReleased,
    RecordEvidence,
    Release,
    ReportLeft,
    VoidOnNode,
)
from tests.unit.decide.power_worlds import (
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
GONE = Present(Left(0, 0))
BROKEN_OFF = f"{MARK}.contradicted"
PAUSED_OFF = replace(OFF, paused=True)
THEIRS = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
BY_ANOTHER = replace(TAINTED_NODE, taints=(replace(TAINTED_NODE.taints[0], value="nodeshutdown"),))
DELETES = Metal3RemediationSpec(release_by=ReleaseBy.NODE_DELETION)


@pytest.mark.attack("F1")
@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (facts(RELEASING, OFF, node=Present(BY_ANOTHER)), ReportLeft(Left(2, 1))),
        (
            facts(LEAVING, OFF, node=Present(BY_ANOTHER), in_phase_for=9999.0),
            Hold(holds.TaintedByAnother("n1", THEIRS, 2, 1)),
        ),
        (facts(LEAVING, OFF, node=Present(BY_ANOTHER), left=GONE), MarkReleased(taint_stays=THEIRS)),
        (facts(LEAVING, PAUSED_OFF, node=Present(BY_ANOTHER)), VoidOnNode(BY_ANOTHER, BROKEN_OFF)),
        (
            facts(LEAVING, PAUSED_OFF, node=Present(BY_ANOTHER), void_mark=BROKEN_OFF),
            ForgetEvidence(host_holds.OffUndated(H), contradicted=True),
        ),
        (
            facts(LEAVING, OFF, node=Present(BY_ANOTHER), left=GONE, void_mark="rem-1.54"),
            VoidOnNode(BY_ANOTHER, MARK),
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
def test_another_s_taint_keeps_ours_away_and_is_not_ours_to_remove(world: PowerFacts, expected: Step) -> None:
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
