"""An accepted confirmation whose node sends a heartbeat afterwards is not accepted again."""

from dataclasses import replace

import pytest

from nodemend.api.manual_remediation import ManualRemediationStatus
from nodemend.api.meta import ConditionStatus
from nodemend.remediation.manual.decide import StatusStep, Step, after, decide
from nodemend.safety import holds
from nodemend.safety.facts import NodeFacts, Present
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import (
    ClearRevocation,
    ForgetEvidence,
    RecordEvidence,
    Release,
    RemoveTaint,
    RevokeRelease,
)
from tests.unit.safety.worlds import OUR_TAINT, RELEASING, SILENT_NODE, facts, remediation

READY = ConditionStatus.TRUE
TAINTED = replace(SILENT_NODE, taints=(OUR_TAINT,))


class Life:
    """One remediation, whose steps are applied as the controller does."""

    def __init__(self) -> None:
        self.status: ManualRemediationStatus = RELEASING
        self.generation = 3
        self.version = 55
        self.mark = ""

    def step(self, node: NodeFacts) -> Step:
        about = remediation(self.status)
        metadata = about.metadata.but(resource_version=str(self.version), generation=self.generation)
        world = facts(about.but(metadata=metadata), node=Present(node), revocation=self.mark)
        step = decide(world)
        match step:
            case RemoveTaint(mark=mark) | RevokeRelease(mark=mark):
                self.mark = mark or self.mark
            case ClearRevocation():
                self.mark = ""
            case ForgetEvidence() | RecordEvidence() | Hold():
                self._write(step)
            case _:
                pass
        return step

    def _write(self, step: StatusStep) -> None:
        now = "2026-01-01T12:00:00Z"
        self.status = after(self.status, step, epoch=7, generation=self.generation, now=now)
        self.version += 1


@pytest.fixture
def life() -> Life:
    return Life()


def test_the_confirmation_of_an_aborted_release_releases_nothing_any_longer(life: Life) -> None:
    assert isinstance(life.step(replace(TAINTED, ready=READY)), RemoveTaint)
    assert isinstance(life.step(SILENT_NODE), ForgetEvidence)
    assert isinstance(life.step(SILENT_NODE), ClearRevocation)
    assert life.step(SILENT_NODE) == Hold(holds.ConfirmationDisproved())


def test_nor_does_one_that_fell_before_its_release(life: Life) -> None:
    assert isinstance(life.step(replace(SILENT_NODE, ready=READY)), RevokeRelease)
    assert isinstance(life.step(replace(SILENT_NODE, ready=READY)), ForgetEvidence)
    assert isinstance(life.step(SILENT_NODE), ClearRevocation)
    assert life.step(SILENT_NODE) == Hold(holds.ConfirmationDisproved())


def test_a_confirmation_given_after_that_counts(life: Life) -> None:
    for node in (replace(TAINTED, ready=READY), SILENT_NODE, SILENT_NODE):
        life.step(node)
    life.generation += 2  # Withdrawn and confirmed again.
    assert isinstance(life.step(SILENT_NODE), RecordEvidence)
    assert isinstance(life.step(SILENT_NODE), Release)
