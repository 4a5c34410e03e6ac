"""Every step has its words."""

from typing import get_args

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.cli.explain.step_words import spell_step
from nodemend.decide import remediation_steps as steps
from nodemend.decide.facts import NodeFacts
from nodemend.decide.holds import Hold, NoWord
from nodemend.decide.manual_remediation_steps import ReportSilence, Step

NODE = NodeFacts("n1", "uid-1", "1", "boot-1", ConditionStatus.UNKNOWN)
EVIDENCE = Evidence(class_="E5", node_uid="uid-1", boot_id="boot-1", by="anna")
FILLED: dict[type, tuple[object, ...]] = {
    steps.RecordTarget: ("uid-1", "boot-1"),
    ReportSilence: ("12:00",),
    steps.RecordEvidence: (EVIDENCE,),
    steps.Release: (None,),
    steps.ReportLeft: (steps.Left(1, 2),),
    steps.Untaint: (NODE,),
    steps.VoidOnNode: (NODE, "mark"),
    steps.ForgetEvidence: (None,),
    steps.ClearVoidMark: (NODE,),
    steps.Close: (False,),
    Hold: (NoWord("n1"),),
}


@pytest.mark.parametrize("kind", get_args(Step), ids=lambda kind: kind.__name__)
def test_a_step_completes_the_sentence_that_begins_with_the_remediator(kind: type) -> None:
    said = spell_step(kind(*FILLED.get(kind, ())))

    assert said
    assert said[0].islower()
    assert not said.endswith(".")


def test_numbers_agree_with_their_nouns() -> None:
    assert "1 pod and 2 volumes" in spell_step(steps.ReportLeft(steps.Left(1, 2)))
