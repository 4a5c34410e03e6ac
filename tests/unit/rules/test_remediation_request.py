"""The action that a check requests for a target."""

from dataclasses import replace

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.rules import request as remediation_request
from nodemend.rules.node import Healthy, Match, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import (
    Create,
    DeleteRemediation,
    Escalate,
    ExistingRemediation,
    NoAction,
    RemedyAttempt,
    RemedyPolicy,
    Request,
    decide,
    decide_orphan,
)
from nodemend.safety import guard_holds
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold

MATCH = Match("Ready", ConditionStatus.UNKNOWN, 400, 300)
SICK = Unhealthy(MATCH)
SUSPECT = Suspect(replace(MATCH, age=100))
FINE = Healthy(60)
TRYING = RemedyAttempt(0, 0.0, failed=False)
OURS = ExistingRemediation(
    "ManualRemediation n1", ours=True, ending=False, committed=False, finished=False, trying=TRYING
)
REMEDY_POLICY = RemedyPolicy(timeouts=(None, 120.0), healthy_delay=30)
HELD = Hold(guard_holds.DryRun(policy_exists=True))


@pytest.mark.conforms("N5", "N8", "N12")
@pytest.mark.parametrize(
    ("health", "existing", "guarded", "expected"),
    [
        (SICK, None, Allowed(), Create()),
        (SICK, None, HELD, HELD),
        (SUSPECT, None, Allowed(), NoAction(200)),
        (FINE, None, Allowed(), NoAction()),
        (Unjudged("x"), None, Allowed(), NoAction()),
        # One exists: it is deleted once the node has stayed healthy. A closed guard stops neither.
        (SICK, OURS, Allowed(), NoAction()),
        (SUSPECT, OURS, Allowed(), NoAction(200)),
        (FINE, OURS, Allowed(), DeleteRemediation()),
        (FINE, OURS, HELD, DeleteRemediation()),
        (Healthy(30), OURS, Allowed(), DeleteRemediation()),
        (Healthy(29), OURS, Allowed(), NoAction(1)),
        (Healthy(0), OURS, Allowed(), NoAction(30)),
        (Healthy(None), OURS, Allowed(), NoAction()),
        (Unjudged("x"), OURS, Allowed(), NoAction()),
        # It does not heal: the next remedy follows, and after the last one a person must help.
        (SICK, replace(OURS, trying=replace(TRYING, failed=True)), Allowed(), Escalate(1)),
        (SICK, replace(OURS, trying=RemedyAttempt(1, 20.0, failed=False)), Allowed(), NoAction(100)),
        (
            SICK,
            replace(OURS, trying=RemedyAttempt(1, 120.0, failed=False)),
            HELD,
            Hold(remediation_request.RemediesExhausted(2)),
        ),
        (SUSPECT, replace(OURS, trying=RemedyAttempt(0, 0.0, failed=True)), Allowed(), NoAction(200)),
        (SICK, replace(OURS, committed=True, trying=replace(TRYING, failed=True)), Allowed(), NoAction()),
        # Workloads were released: only the remediator knows when it is over.
        (FINE, replace(OURS, committed=True), Allowed(), NoAction()),
        (FINE, replace(OURS, committed=True, finished=True), Allowed(), DeleteRemediation()),
        (SICK, replace(OURS, finished=True), Allowed(), DeleteRemediation()),
        # It is ending already, or belongs to another controller.
        (FINE, replace(OURS, ending=True), Allowed(), NoAction()),
        (SICK, replace(OURS, ending=True), Allowed(), NoAction()),
        (
            SICK,
            replace(OURS, ours=False),
            Allowed(),
            Hold(guard_holds.OtherRemediation("ManualRemediation n1")),
        ),
        (FINE, replace(OURS, ours=False), Allowed(), NoAction()),
        (SUSPECT, replace(OURS, ours=False), Allowed(), NoAction(200)),
    ],
)
def test_request(
    health: NodeHealth, existing: ExistingRemediation | None, guarded: Allowed | Hold, expected: Request
) -> None:
    assert decide(health, existing, guarded, REMEDY_POLICY) == expected


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (OURS, DeleteRemediation()),
        (replace(OURS, ending=True), NoAction()),
        (replace(OURS, committed=True), NoAction()),
        (replace(OURS, committed=True, finished=True), DeleteRemediation()),
        (replace(OURS, committed=True, finished=True, ending=True), NoAction()),
    ],
)
def test_an_unselected_remediation_is_withdrawn_unless_something_was_released(
    existing: ExistingRemediation, expected: DeleteRemediation | NoAction
) -> None:
    assert decide_orphan(existing) == expected


@pytest.mark.parametrize(
    ("health", "existing", "guarded", "expected"),
    [
        (SICK, None, Allowed(), Create()),
        (SUSPECT, None, Allowed(), Create()),
        (SUSPECT, None, HELD, HELD),
        (Healthy(None), None, Allowed(), Create()),
        (Unjudged("x"), None, Allowed(), Create()),
        (
            SUSPECT,
            replace(OURS, ours=False),
            Allowed(),
            Hold(guard_holds.OtherRemediation("ManualRemediation n1")),
        ),
        # An existing remediation continues.
        (SUSPECT, OURS, Allowed(), NoAction(200)),
        (SUSPECT, replace(OURS, ending=True), Allowed(), NoAction()),
    ],
)
def test_an_order_takes_the_place_of_a_threshold(
    health: NodeHealth, existing: ExistingRemediation | None, guarded: Allowed | Hold, expected: Request
) -> None:
    assert decide(health, existing, guarded, REMEDY_POLICY, ordered=True) == expected
