"""A new boot is evidence (E2) only if it is of the recorded machine."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.api.self_remediation import SelfRemediationStatus
from nodemend.remediation.manual import decide
from nodemend.remediation.metal3 import decide as power_cycle_phases
from nodemend.remediation.metal3 import model
from nodemend.remediation.self_fencing import decide as self_remediation
from nodemend.safety.facts import NodeFacts, Present
from nodemend.safety.holds import Hold, NewBootUnproven
from nodemend.safety.identity import hardware_id
from nodemend.safety.lifecycle import (
    MarkReleased,
    RecordEvidence,
    RemoveTaint,
    RevokeRelease,
    evaluate_new_boot,
)
from tests.unit.remediation.metal3 import power_worlds
from tests.unit.remediation.self_fencing import fencing_worlds
from tests.unit.safety import worlds
from tests.unit.safety.worlds import BOARD, OUR_TAINT, SILENT_NODE

NEW = replace(SILENT_NODE, boot_id="boot-2", version="102")
CLONE = replace(NEW, hardware_id="system-uuid/2")
SILENT = replace(NEW, hardware_id="")
UUID = "4c4c4544-0051-4a10-8052-b4c04f4e3132"


@pytest.mark.parametrize(
    ("system_uuid", "machine_id", "found"),
    [
        (UUID, "f00", "system-uuid/4c4c454400514a108052b4c04f4e3132"),
        (UUID.upper(), "", "system-uuid/4c4c454400514a108052b4c04f4e3132"),
        ("Not Settable", "F00", "machine-id/f00"),
        ("", "", ""),
        ("", "x" * 65, ""),
    ],
)
def test_which_machine_reports(system_uuid: str, machine_id: str, found: str) -> None:
    assert hardware_id(system_uuid, machine_id) == found


@pytest.mark.attack("K7")
@pytest.mark.parametrize(
    ("node", "recorded", "unproven"),
    [
        (NEW, BOARD, None),
        (CLONE, BOARD, NewBootUnproven("n1", BOARD, "system-uuid/2")),
        (SILENT, BOARD, NewBootUnproven("n1", BOARD, "")),
        (NEW, "", NewBootUnproven("n1", "", BOARD)),
        (SILENT, "", NewBootUnproven("n1", "", "")),
    ],
)
def test_only_from_the_same_machine(node: NodeFacts, recorded: str, unproven: NewBootUnproven | None) -> None:
    assert evaluate_new_boot(node, recorded) == unproven


@pytest.mark.attack("K7")
@pytest.mark.parametrize("node", [CLONE, SILENT])
def test_a_clone_releases_nothing_of_a_self_remediation(node: NodeFacts) -> None:
    unproven = Hold(NewBootUnproven("n1", BOARD, node.hardware_id))

    def step(status: SelfRemediationStatus, shown: NodeFacts) -> object:
        about = fencing_worlds.remediation(status)
        return self_remediation.decide(fencing_worlds.facts(about, node=Present(shown)))

    assert step(fencing_worlds.FENCING, node) == unproven
    assert isinstance(step(fencing_worlds.FENCING, NEW), RecordEvidence)
    assert step(fencing_worlds.RELEASING, node) == unproven
    assert step(fencing_worlds.RELEASING, NEW) == MarkReleased()


@pytest.mark.attack("K7")
@pytest.mark.parametrize("node", [CLONE, SILENT])
def test_a_clone_releases_nothing_of_a_manual_remediation(node: NodeFacts) -> None:
    about = worlds.remediation(worlds.RELEASING)
    tainted = replace(node, taints=(OUR_TAINT,))

    def step(shown: NodeFacts) -> object:
        return decide.decide(worlds.facts(about, node=Present(shown)))

    assert step(tainted) == RemoveTaint(tainted)
    assert step(node) == Hold(NewBootUnproven("n1", BOARD, node.hardware_id))
    assert step(NEW) == MarkReleased()


@pytest.mark.attack("K7")
@pytest.mark.parametrize("node", [CLONE, SILENT])
def test_a_clone_voids_the_evidence_of_a_power_cycle(node: NodeFacts) -> None:
    """The host is off, and another machine reports as its Node: it is unknown which of them the Node was."""
    found = power_cycle_phases.decide(
        power_worlds.facts(power_worlds.RELEASING, power_worlds.OFF, node=Present(node))
    )

    assert isinstance(found, RevokeRelease)


@pytest.mark.attack("K7")
@pytest.mark.parametrize("node", [CLONE, SILENT])
def test_no_host_is_switched_off_for_a_clone(node: NodeFacts) -> None:
    found = power_cycle_phases.decide(
        power_worlds.facts(power_worlds.BOUND, power_worlds.HOST, node=Present(node))
    )

    assert found == Hold(NewBootUnproven("n1", BOARD, node.hardware_id))


@pytest.mark.attack("K7")
def test_a_clone_that_registers_after_the_node_was_deleted_is_no_evidence() -> None:
    another = replace(CLONE, uid="uid-2", ready=ConditionStatus.TRUE)
    found = power_cycle_phases.decide(
        power_worlds.facts(power_worlds.RELEASING, power_worlds.OFF, node=Present(another))
    )

    assert found == Hold(NewBootUnproven("n1", BOARD, "system-uuid/2"))


def test_what_was_recorded_before_an_upgrade_is_completed_while_nothing_has_begun() -> None:
    old = power_worlds.BOUND.but(hardware_id="")
    found = power_cycle_phases.decide(power_worlds.facts(old, power_worlds.HOST))

    assert isinstance(found, model.RecordHostTarget)
    assert found.hardware_id == BOARD
