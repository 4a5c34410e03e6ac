"""From a verdict on a machine to what is asked, and to what should stand on it."""

from typing import get_args

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds, holds
from nodemend.decide.escalation import Trying
from nodemend.decide.findings import AskedFor, Finding, Match, NeverStarted, NodeGone, PhaseFailed, Subject
from nodemend.decide.guard_holds import NobodyActs, OtherRemediation, RemediesExhausted
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.machine_marks import BRAKES, SILENT, UNSURE, Mark, Marks, reason_of
from nodemend.decide.machine_request import (
    Ask,
    ByDeletion,
    ByNobody,
    ByOwner,
    ByTemplate,
    Delete,
    Request,
    Way,
    decide_machine,
    is_at_work,
    marks_for,
    without_template,
)
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import Create, Leave, Open, Withdraw
from nodemend.decide.storm_guard import Go

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
SICK = Unhealthy(Match("Ready", UNKNOWN, 301.0, 300.0))
SUSPECT = Suspect(Match("Ready", UNKNOWN, 100.0, 300.0))
WELL = Healthy(50.0)
STORM = Hold(guard_holds.TooManyUnhealthy("workers", 3, 5, "40%", 1))
DRY = Hold(guard_holds.DryRun(policy_exists=True))
PACING = Hold(guard_holds.Pacing(3.0))
NONE = Marks()
PASSED = Mark(TRUE, "HealthCheckSucceeded")
FAILED = Mark(FALSE, "UnhealthyNode", "Unhealthy: Ready=Unknown for 300 s.")
WAITING = Mark(FALSE, "WaitingForRemediation")
DEFERRED = Mark(FALSE, "RemediationDeferred", "one at a time")
BEGUN = Mark(FALSE, "MachineDeleting")
DONE = Mark(TRUE, "Remediated")


def opened(*, ours: bool = True, failed: bool = False) -> Open:
    return Open(
        "Fix default/m1",
        ours=ours,
        ending=False,
        committed=False,
        finished=False,
        trying=Trying(0, 10.0, failed=failed),
    )


@pytest.mark.conforms("I03", "H02", "H11", "J04")
@pytest.mark.parametrize(
    ("health", "way", "shown", "guarded", "request_"),
    [
        (WELL, ByOwner(), NONE, Go(), Leave()),
        (SUSPECT, ByOwner(), NONE, Go(), Leave(200.0)),
        (Unjudged("x"), ByOwner(), NONE, Go(), Leave()),
        (SICK, ByOwner(), NONE, Go(), Ask()),
        (SICK, ByOwner(), NONE, STORM, STORM),
        (SICK, ByOwner(), Marks(owner=WAITING), Go(), Leave()),
        (SICK, ByOwner(), Marks(owner=WAITING), STORM, Leave()),
        (SICK, ByOwner(), Marks(owner=DONE), Go(), Ask()),
        (SICK, ByDeletion(), NONE, Go(), Delete()),
        (SICK, ByDeletion(), NONE, STORM, STORM),
        (Unjudged("it is being deleted"), ByDeletion(), NONE, Go(), Leave()),
        (Unjudged("it is being deleted"), ByOwner(), NONE, Go(), Leave()),
        (Unjudged("it is being deleted"), ByTemplate(None, 0.0), NONE, Go(), Leave()),
        (SICK, ByNobody("no owner"), NONE, Go(), Hold(NobodyActs("no owner"))),
        (SICK, ByNobody("no owner"), NONE, STORM, STORM),
        (WELL, ByNobody("no owner"), NONE, Go(), Leave()),
        (SICK, ByTemplate(None, 0.0), NONE, Go(), Create()),
        (SICK, ByTemplate(None, 0.0), NONE, STORM, STORM),
        (SICK, ByTemplate(opened(), 0.0), NONE, STORM, Leave()),
        (SICK, ByTemplate(opened(ours=False), 0.0), NONE, Go(), Hold(OtherRemediation("Fix default/m1"))),
        (SICK, ByTemplate(opened(failed=True), 0.0), NONE, Go(), Hold(RemediesExhausted(1))),
        (WELL, ByTemplate(opened(), 0.0), NONE, STORM, Withdraw()),
        (WELL, ByTemplate(opened(), 60.0), NONE, Go(), Leave(10.0)),
    ],
)
def test_what_is_asked(
    health: NodeHealth, way: Way, shown: Marks, guarded: Go | Hold, request_: Request
) -> None:
    assert decide_machine(health, way, shown, guarded) == request_


@pytest.mark.parametrize(
    ("health", "way", "shown", "guarded", "marks"),
    [
        (WELL, ByOwner(), NONE, Go(), Marks(PASSED)),
        (WELL, ByOwner(), NONE, STORM, Marks(PASSED)),
        (WELL, ByOwner(), NONE, DRY, NONE),
        (SUSPECT, ByOwner(), Marks(PASSED), Go(), Marks(PASSED)),
        (Unjudged("x"), ByOwner(), Marks(FAILED, WAITING), Go(), Marks(FAILED, WAITING)),
        (SICK, ByOwner(), Marks(PASSED), Go(), Marks(FAILED, WAITING)),
        (SICK, ByOwner(), Marks(PASSED, DONE), Go(), Marks(FAILED, WAITING)),
        (SICK, ByOwner(), Marks(PASSED), STORM, Marks(FAILED)),
        (SICK, ByOwner(), Marks(PASSED), PACING, Marks(FAILED)),
        (SICK, ByOwner(), Marks(PASSED), DRY, Marks(PASSED)),
        (SICK, ByOwner(), Marks(FAILED, WAITING), PACING, Marks(FAILED, WAITING)),
        (SICK, ByOwner(), Marks(FAILED, WAITING), STORM, Marks(FAILED)),
        (SICK, ByOwner(), Marks(FAILED, DEFERRED), STORM, Marks(FAILED)),
        (SICK, ByOwner(), Marks(FAILED, BEGUN), STORM, Marks(FAILED, BEGUN)),
        (SICK, ByOwner(), Marks(FAILED, WAITING), DRY, Marks(FAILED)),
        (WELL, ByOwner(), Marks(FAILED, WAITING), Go(), Marks(PASSED)),
        (WELL, ByOwner(), Marks(FAILED, BEGUN), Go(), Marks(PASSED, BEGUN)),
        (SICK, ByNobody("x"), NONE, Go(), Marks(FAILED)),
        (SICK, ByTemplate(None, 0.0), NONE, Go(), Marks(FAILED)),
        (SICK, ByTemplate(None, 0.0), Marks(FAILED, WAITING), Go(), Marks(FAILED)),
        (SICK, ByTemplate(opened(), 0.0), NONE, Go(), Marks(FAILED, None, WAITING)),
        (SICK, ByTemplate(opened(ours=False), 0.0), NONE, Go(), Marks(FAILED)),
        (SICK, ByTemplate(opened(), 0.0), Marks(external=BEGUN), Go(), Marks(FAILED, None, BEGUN)),
        (WELL, ByTemplate(opened(), 0.0), Marks(FAILED, None, WAITING), Go(), Marks(PASSED, None, WAITING)),
        (WELL, ByTemplate(None, 0.0), Marks(FAILED, None, WAITING), Go(), Marks(PASSED)),
        (WELL, ByTemplate(None, 0.0), Marks(FAILED, None, BEGUN), Go(), Marks(PASSED, None, BEGUN)),
        (WELL, ByOwner(), Marks(FAILED, None, WAITING), Go(), Marks(PASSED, None, WAITING)),
    ],
)
def test_what_should_stand_on_the_machine(
    health: NodeHealth, way: Way, shown: Marks, guarded: Go | Hold, marks: Marks
) -> None:
    request_ = decide_machine(health, way, shown, guarded)
    assert marks_for(health, way, shown, guarded, request_) == marks


def test_a_missing_template_is_told_unless_somebody_else_tells_something() -> None:
    missing = Mark(FALSE, "RemediationTemplateNotFound", "there is none")
    assert without_template(SICK, NONE, "there is none") == Marks(FAILED, None, missing)
    assert without_template(SICK, Marks(external=WAITING), "there is none") == Marks(FAILED, None, missing)
    assert without_template(SICK, Marks(PASSED, None, BEGUN), "there is none") == Marks(FAILED, None, BEGUN)


@pytest.mark.parametrize(
    ("finding", "reason"),
    [
        (Match("Ready", UNKNOWN, 1.0, 1.0), "UnhealthyNode"),
        (Match("Ready", UNKNOWN, 1.0, 1.0, Subject.MACHINE), "UnhealthyMachine"),
        (NeverStarted(1.0, 1.0), "NodeStartupTimeout"),
        (NodeGone("n1"), "NodeDeleted"),
        (AskedFor("a/b"), "HasRemediateAnnotation"),
        (PhaseFailed(""), "MachineFailed"),
    ],
)
def test_every_finding_has_its_reason(finding: Finding, reason: str) -> None:
    assert reason_of(finding) == reason


def test_the_holds_that_are_named_are_holds() -> None:
    known = set(get_args(HoldReason))
    assert {*SILENT, *BRAKES, *UNSURE} <= known
    assert set(UNSURE) <= set(SILENT)
    assert holds.ViewStale in UNSURE


@pytest.mark.parametrize(
    ("existing", "at_work"), [(None, False), (opened(ours=False), False), (opened(), True)]
)
def test_with_a_template_its_remediation_is_who_is_at_work(existing: Open | None, at_work: bool) -> None:
    asked = Marks(owner=Mark(ConditionStatus.FALSE, "RemediationInProgress"))
    assert is_at_work(ByTemplate(existing, 0.0), asked) is at_work
    assert is_at_work(ByOwner(), asked)
    assert not is_at_work(ByOwner(), Marks())


def test_what_nobody_can_vouch_for_is_not_written_down_whoever_holds_it() -> None:
    unread = Hold(holds.CannotRead("the Machine", "timeout"))
    assert marks_for(SICK, ByOwner(), NONE, Go(), unread) == NONE
    assert marks_for(SICK, ByOwner(), NONE, unread, unread) == NONE
    assert marks_for(SICK, ByOwner(), NONE, Go(), Hold(NobodyActs("no owner"))).checked == FAILED
