"""From a verdict on a Machine to the requested action and the conditions to set."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.health.machine.request import (
    AskOwnerByCondition,
    ByDeletion,
    ByNobody,
    ByOwner,
    ByTemplate,
    Delete,
    NoRemedy,
    RemediationPath,
    Request,
    decide_machine,
    health_conditions_for,
    is_remediating,
    without_template,
)
from nodemend.rules.machine import BRAKES, SILENT, UNSURE, HealthCondition, HealthConditions, reason_of
from nodemend.rules.node import (
    AskedFor,
    ConditionOwner,
    Finding,
    Healthy,
    Match,
    NeverStarted,
    NodeGone,
    NodeHealth,
    PhaseFailed,
    Suspect,
    Unhealthy,
    Unjudged,
)
from nodemend.rules.request import (
    Create,
    DeleteRemediation,
    ExistingRemediation,
    NoAction,
    RemediesExhausted,
    RemedyAttempt,
)
from nodemend.safety import guard_holds, holds
from nodemend.safety.guard import Allowed
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import Hold
from tests.unit.safety.hold_reasons import all_hold_reasons

TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN
SICK = Unhealthy(Match("Ready", UNKNOWN, 301.0, 300.0))
SUSPECT = Suspect(Match("Ready", UNKNOWN, 100.0, 300.0))
WELL = Healthy(50.0)
STORM = Hold(guard_holds.TooManyUnhealthy("workers", 3, 5, "40%", 1))
DRY = Hold(guard_holds.DryRun(policy_exists=True))
START_INTERVAL = Hold(guard_holds.StartInterval(3.0))
NONE = HealthConditions()
PASSED = HealthCondition(TRUE, "HealthCheckSucceeded")
FAILED = HealthCondition(FALSE, "UnhealthyNode", "Unhealthy: Ready=Unknown for 300 s.")
WAITING = HealthCondition(FALSE, "WaitingForRemediation")
DEFERRED = HealthCondition(FALSE, "RemediationDeferred", "one at a time")
BEGUN = HealthCondition(FALSE, "MachineDeleting")
DONE = HealthCondition(TRUE, "Remediated")


def opened(*, ours: bool = True, failed: bool = False) -> ExistingRemediation:
    return ExistingRemediation(
        "Fix default/m1",
        ours=ours,
        ending=False,
        committed=False,
        finished=False,
        trying=RemedyAttempt(0, 10.0, failed=failed),
    )


@pytest.mark.conforms("I03", "H02", "H11", "J04")
@pytest.mark.parametrize(
    ("health", "way", "shown", "guarded", "request_"),
    [
        (WELL, ByOwner(), NONE, Allowed(), NoAction()),
        (SUSPECT, ByOwner(), NONE, Allowed(), NoAction(200.0)),
        (Unjudged("x"), ByOwner(), NONE, Allowed(), NoAction()),
        (SICK, ByOwner(), NONE, Allowed(), AskOwnerByCondition()),
        (SICK, ByOwner(), NONE, STORM, STORM),
        (SICK, ByOwner(), HealthConditions(owner=WAITING), Allowed(), NoAction()),
        (SICK, ByOwner(), HealthConditions(owner=WAITING), STORM, NoAction()),
        (SICK, ByOwner(), HealthConditions(owner=DONE), Allowed(), AskOwnerByCondition()),
        (SICK, ByDeletion(), NONE, Allowed(), Delete()),
        (SICK, ByDeletion(), NONE, STORM, STORM),
        (Unjudged("it is being deleted"), ByDeletion(), NONE, Allowed(), NoAction()),
        (Unjudged("it is being deleted"), ByOwner(), NONE, Allowed(), NoAction()),
        (Unjudged("it is being deleted"), ByTemplate(None, 0.0), NONE, Allowed(), NoAction()),
        (SICK, ByNobody("no owner"), NONE, Allowed(), Hold(NoRemedy("no owner"))),
        (SICK, ByNobody("no owner"), NONE, STORM, STORM),
        (WELL, ByNobody("no owner"), NONE, Allowed(), NoAction()),
        (SICK, ByTemplate(None, 0.0), NONE, Allowed(), Create()),
        (SICK, ByTemplate(None, 0.0), NONE, STORM, STORM),
        (SICK, ByTemplate(opened(), 0.0), NONE, STORM, NoAction()),
        (
            SICK,
            ByTemplate(opened(ours=False), 0.0),
            NONE,
            Allowed(),
            Hold(OtherRemediation("Fix default/m1")),
        ),
        (SICK, ByTemplate(opened(failed=True), 0.0), NONE, Allowed(), Hold(RemediesExhausted(1))),
        (WELL, ByTemplate(opened(), 0.0), NONE, STORM, DeleteRemediation()),
        (WELL, ByTemplate(opened(), 60.0), NONE, Allowed(), NoAction(10.0)),
    ],
)
def test_what_is_asked(
    health: NodeHealth,
    way: RemediationPath,
    shown: HealthConditions,
    guarded: Allowed | Hold,
    request_: Request,
) -> None:
    assert decide_machine(health, way, shown, guarded) == request_


@pytest.mark.parametrize(
    ("health", "way", "shown", "guarded", "marks"),
    [
        (WELL, ByOwner(), NONE, Allowed(), HealthConditions(PASSED)),
        (WELL, ByOwner(), NONE, STORM, HealthConditions(PASSED)),
        (WELL, ByOwner(), NONE, DRY, NONE),
        (SUSPECT, ByOwner(), HealthConditions(PASSED), Allowed(), HealthConditions(PASSED)),
        (
            Unjudged("x"),
            ByOwner(),
            HealthConditions(FAILED, WAITING),
            Allowed(),
            HealthConditions(FAILED, WAITING),
        ),
        (SICK, ByOwner(), HealthConditions(PASSED), Allowed(), HealthConditions(FAILED, WAITING)),
        (SICK, ByOwner(), HealthConditions(PASSED, DONE), Allowed(), HealthConditions(FAILED, WAITING)),
        (SICK, ByOwner(), HealthConditions(PASSED), STORM, HealthConditions(FAILED)),
        (SICK, ByOwner(), HealthConditions(PASSED), START_INTERVAL, HealthConditions(FAILED)),
        (SICK, ByOwner(), HealthConditions(PASSED), DRY, HealthConditions(PASSED)),
        (
            SICK,
            ByOwner(),
            HealthConditions(FAILED, WAITING),
            START_INTERVAL,
            HealthConditions(FAILED, WAITING),
        ),
        (SICK, ByOwner(), HealthConditions(FAILED, WAITING), STORM, HealthConditions(FAILED)),
        (SICK, ByOwner(), HealthConditions(FAILED, DEFERRED), STORM, HealthConditions(FAILED)),
        (SICK, ByOwner(), HealthConditions(FAILED, BEGUN), STORM, HealthConditions(FAILED, BEGUN)),
        (SICK, ByOwner(), HealthConditions(FAILED, WAITING), DRY, HealthConditions(FAILED)),
        (WELL, ByOwner(), HealthConditions(FAILED, WAITING), Allowed(), HealthConditions(PASSED)),
        (WELL, ByOwner(), HealthConditions(FAILED, BEGUN), Allowed(), HealthConditions(PASSED, BEGUN)),
        (SICK, ByNobody("x"), NONE, Allowed(), HealthConditions(FAILED)),
        (SICK, ByTemplate(None, 0.0), NONE, Allowed(), HealthConditions(FAILED)),
        (SICK, ByTemplate(None, 0.0), HealthConditions(FAILED, WAITING), Allowed(), HealthConditions(FAILED)),
        (SICK, ByTemplate(opened(), 0.0), NONE, Allowed(), HealthConditions(FAILED, None, WAITING)),
        (SICK, ByTemplate(opened(ours=False), 0.0), NONE, Allowed(), HealthConditions(FAILED)),
        (
            SICK,
            ByTemplate(opened(), 0.0),
            HealthConditions(external=BEGUN),
            Allowed(),
            HealthConditions(FAILED, None, BEGUN),
        ),
        (
            WELL,
            ByTemplate(opened(), 0.0),
            HealthConditions(FAILED, None, WAITING),
            Allowed(),
            HealthConditions(PASSED, None, WAITING),
        ),
        (
            WELL,
            ByTemplate(None, 0.0),
            HealthConditions(FAILED, None, WAITING),
            Allowed(),
            HealthConditions(PASSED),
        ),
        (
            WELL,
            ByTemplate(None, 0.0),
            HealthConditions(FAILED, None, BEGUN),
            Allowed(),
            HealthConditions(PASSED, None, BEGUN),
        ),
        (
            WELL,
            ByOwner(),
            HealthConditions(FAILED, None, WAITING),
            Allowed(),
            HealthConditions(PASSED, None, WAITING),
        ),
    ],
)
def test_the_condition_that_the_machine_must_have(
    health: NodeHealth,
    way: RemediationPath,
    shown: HealthConditions,
    guarded: Allowed | Hold,
    marks: HealthConditions,
) -> None:
    request_ = decide_machine(health, way, shown, guarded)
    assert health_conditions_for(health, way, shown, guarded, request_) == marks


def test_a_missing_template_is_reported_unless_another_controller_reports_a_reason() -> None:
    missing = HealthCondition(FALSE, "RemediationTemplateNotFound", "there is none")
    assert without_template(SICK, NONE, "there is none") == HealthConditions(FAILED, None, missing)
    assert without_template(SICK, HealthConditions(external=WAITING), "there is none") == HealthConditions(
        FAILED, None, missing
    )
    assert without_template(SICK, HealthConditions(PASSED, None, BEGUN), "there is none") == HealthConditions(
        FAILED, None, BEGUN
    )


@pytest.mark.parametrize(
    ("finding", "reason"),
    [
        (Match("Ready", UNKNOWN, 1.0, 1.0), "UnhealthyNode"),
        (Match("Ready", UNKNOWN, 1.0, 1.0, ConditionOwner.MACHINE), "UnhealthyMachine"),
        (NeverStarted(1.0, 1.0), "NodeStartupTimeout"),
        (NodeGone("n1"), "NodeDeleted"),
        (AskedFor("a/b"), "HasRemediateAnnotation"),
        (PhaseFailed(""), "MachineFailed"),
    ],
)
def test_every_finding_has_its_reason(finding: Finding, reason: str) -> None:
    assert reason_of(finding) == reason


def test_the_holds_that_are_named_are_holds() -> None:
    known = set(all_hold_reasons())
    assert {*SILENT, *BRAKES, *UNSURE} <= known
    assert set(UNSURE) <= set(SILENT)
    assert holds.CacheStale in UNSURE


@pytest.mark.parametrize(
    ("existing", "in_progress"), [(None, False), (opened(ours=False), False), (opened(), True)]
)
def test_with_a_template_its_remediation_is_the_one_in_progress(
    existing: ExistingRemediation | None, in_progress: bool
) -> None:
    asked = HealthConditions(owner=HealthCondition(ConditionStatus.FALSE, "RemediationInProgress"))
    assert is_remediating(ByTemplate(existing, 0.0), asked) is in_progress
    assert is_remediating(ByOwner(), asked)
    assert not is_remediating(ByOwner(), HealthConditions())


def test_an_unproven_state_is_not_recorded_regardless_of_the_hold() -> None:
    unread = Hold(holds.CannotRead("the Machine", "timeout"))
    assert health_conditions_for(SICK, ByOwner(), NONE, Allowed(), unread) == NONE
    assert health_conditions_for(SICK, ByOwner(), NONE, unread, unread) == NONE
    assert (
        health_conditions_for(SICK, ByOwner(), NONE, Allowed(), Hold(NoRemedy("no owner"))).checked == FAILED
    )
