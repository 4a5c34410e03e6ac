"""Every step has a text."""

from typing import get_args

import pytest

from nodemend.api.evidence import Evidence
from nodemend.api.meta import ConditionStatus
from nodemend.cli.explain.view import spell_step
from nodemend.remediation.manual.decide import ReportSilence, Step
from nodemend.safety import lifecycle as steps
from nodemend.safety.facts import NodeFacts
from nodemend.safety.holds import Hold, WaitingForConfirmation

NODE = NodeFacts("n1", "uid-1", "1", "boot-1", ConditionStatus.UNKNOWN)
EVIDENCE = Evidence(class_="E5", node_uid="uid-1", boot_id="boot-1", by="anna")
FILLED: dict[type, tuple[object, ...]] = {
    steps.RecordTarget: ("uid-1", "boot-1"),
    ReportSilence: ("12:00",),
    steps.RecordEvidence: (EVIDENCE,),
    steps.Release: (None,),
    steps.ReportRemaining: (steps.RemainingWorkloads(1, 2),),
    steps.RemoveTaint: (NODE,),
    steps.RevokeRelease: (NODE, "mark"),
    steps.ForgetEvidence: (None,),
    steps.ClearRevocation: (NODE,),
    steps.Close: (False,),
    Hold: (WaitingForConfirmation("n1"),),
}


@pytest.mark.parametrize("kind", get_args(Step), ids=lambda kind: kind.__name__)
def test_a_step_completes_the_sentence_that_begins_with_the_remediator(kind: type) -> None:
    said = spell_step(kind(*FILLED.get(kind, ())))

    assert said
    assert said[0].islower()
    assert not said.endswith(".")


def test_numbers_agree_with_their_nouns() -> None:
    assert "1 pod and 2 volumes" in spell_step(steps.ReportRemaining(steps.RemainingWorkloads(1, 2)))
