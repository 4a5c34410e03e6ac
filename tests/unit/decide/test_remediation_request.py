"""What a check asks for a target."""

from dataclasses import replace

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds
from nodemend.decide.escalation import Trying
from nodemend.decide.findings import Match
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import (
    Create,
    Escalate,
    Leave,
    Open,
    Request,
    Wishes,
    Withdraw,
    decide,
    decide_orphan,
)
from nodemend.decide.storm_guard import Go

MATCH = Match("Ready", ConditionStatus.UNKNOWN, 400, 300)
SICK = Unhealthy(MATCH)
SUSPECT = Suspect(replace(MATCH, age=100))
FINE = Healthy(60)
TRYING = Trying(0, 0.0, failed=False)
OURS = Open("ManualRemediation n1", ours=True, ending=False, committed=False, finished=False, trying=TRYING)
WISHES = Wishes(timeouts=(None, 120.0), healthy_delay=30)
HELD = Hold(guard_holds.DryRun(policy_exists=True))


@pytest.mark.conforms("N5", "N8", "N12")
@pytest.mark.parametrize(
    ("health", "existing", "guarded", "expected"),
    [
        (SICK, None, Go(), Create()),
        (SICK, None, HELD, HELD),
        (SUSPECT, None, Go(), Leave(200)),
        (FINE, None, Go(), Leave()),
        (Unjudged("x"), None, Go(), Leave()),
        # One exists: it is withdrawn once the node has stayed healthy. A closed guard stops neither.
        (SICK, OURS, Go(), Leave()),
        (SUSPECT, OURS, Go(), Leave(200)),
        (FINE, OURS, Go(), Withdraw()),
        (FINE, OURS, HELD, Withdraw()),
        (Healthy(30), OURS, Go(), Withdraw()),
        (Healthy(29), OURS, Go(), Leave(1)),
        (Healthy(0), OURS, Go(), Leave(30)),
        (Healthy(None), OURS, Go(), Leave()),
        (Unjudged("x"), OURS, Go(), Leave()),
        # It does not heal: the next, and after the last a person.
        (SICK, replace(OURS, trying=replace(TRYING, failed=True)), Go(), Escalate(1)),
        (SICK, replace(OURS, trying=Trying(1, 20.0, failed=False)), Go(), Leave(100)),
        (
            SICK,
            replace(OURS, trying=Trying(1, 120.0, failed=False)),
            HELD,
            Hold(guard_holds.RemediesExhausted(2)),
        ),
        (SUSPECT, replace(OURS, trying=Trying(0, 0.0, failed=True)), Go(), Leave(200)),
        (SICK, replace(OURS, committed=True, trying=replace(TRYING, failed=True)), Go(), Leave()),
        # Something was released: only the remediator knows when it is over.
        (FINE, replace(OURS, committed=True), Go(), Leave()),
        (FINE, replace(OURS, committed=True, finished=True), Go(), Withdraw()),
        (SICK, replace(OURS, finished=True), Go(), Withdraw()),
        # It is ending already, or another's.
        (FINE, replace(OURS, ending=True), Go(), Leave()),
        (SICK, replace(OURS, ending=True), Go(), Leave()),
        (SICK, replace(OURS, ours=False), Go(), Hold(guard_holds.OtherRemediation("ManualRemediation n1"))),
        (FINE, replace(OURS, ours=False), Go(), Leave()),
        (SUSPECT, replace(OURS, ours=False), Go(), Leave(200)),
    ],
)
def test_request(health: NodeHealth, existing: Open | None, guarded: Go | Hold, expected: Request) -> None:
    assert decide(health, existing, guarded, WISHES) == expected


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (OURS, Withdraw()),
        (replace(OURS, ending=True), Leave()),
        (replace(OURS, committed=True), Leave()),
        (replace(OURS, committed=True, finished=True), Withdraw()),
        (replace(OURS, committed=True, finished=True, ending=True), Leave()),
    ],
)
def test_what_no_check_answers_for_goes_unless_something_was_released(
    existing: Open, expected: Withdraw | Leave
) -> None:
    assert decide_orphan(existing) == expected


@pytest.mark.parametrize(
    ("health", "existing", "guarded", "expected"),
    [
        (SICK, None, Go(), Create()),
        (SUSPECT, None, Go(), Create()),
        (SUSPECT, None, HELD, HELD),
        (Healthy(None), None, Go(), Create()),
        (Unjudged("x"), None, Go(), Create()),
        (
            SUSPECT,
            replace(OURS, ours=False),
            Go(),
            Hold(guard_holds.OtherRemediation("ManualRemediation n1")),
        ),
        # What is there goes on as ever.
        (SUSPECT, OURS, Go(), Leave(200)),
        (SUSPECT, replace(OURS, ending=True), Go(), Leave()),
    ],
)
def test_an_order_takes_the_place_of_a_threshold(
    health: NodeHealth, existing: Open | None, guarded: Go | Hold, expected: Request
) -> None:
    assert decide(health, existing, guarded, WISHES, ordered=True) == expected
