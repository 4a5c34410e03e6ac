"""Reports about admission policies, and their frequency."""

import pytest

from nodemend.guard.policy_proof import AdmissionTelemetry
from nodemend.kube.events import EventRecord
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven, PolicyProblem
from tests.unit.telemetry.scraped import Scraped

NAME = "nodemend-confirmation"


@pytest.mark.attack("S6")
@pytest.mark.parametrize(
    "problem", [PolicyNotInForce(NAME, "it is missing"), PolicyNotProven(NAME, "no answer")]
)
def test_a_missing_proof_is_reported_once_with_its_policy(problem: PolicyProblem) -> None:
    scraped, events = Scraped(), list[EventRecord]()
    telemetry = AdmissionTelemetry(scraped.log, scraped.metrics, events.append)

    for found in (None, problem, problem, None, problem):
        telemetry.proved({NAME: found})

    assert [one.reason for one in events] == ["AdmissionPolicyNotProven"] * 2
    assert (events[0].regarding.kind, events[0].regarding.name) == ("ValidatingAdmissionPolicy", NAME)
    assert problem.why in events[0].note
    assert scraped.value("nodemend_admission_policy_in_force", policy=NAME) == 0
