"""What people are told about admission policies, and how often."""

import pytest

from nodemend.controllers.admission_recorder import AdmissionTelemetry
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.guard_holds import PolicyNotInForce, PolicyNotProven
from nodemend.kube.event_book import Happening
from tests.unit.controllers.checking.scraped import Scraped

NAME = "nodemend-confirmation"


@pytest.mark.attack("S6")
@pytest.mark.parametrize(
    "doubt", [PolicyNotInForce(NAME, "it is missing"), PolicyNotProven(NAME, "no answer")]
)
def test_a_doubt_is_told_once_with_the_policy_that_it_is_about(doubt: Doubt) -> None:
    scraped, events = Scraped(), list[Happening]()
    telemetry = AdmissionTelemetry(scraped.log, scraped.metrics, events.append)

    for found in (None, doubt, doubt, None, doubt):
        telemetry.proved({NAME: found})

    assert [one.reason for one in events] == ["AdmissionPolicyNotProven"] * 2
    assert (events[0].regarding.kind, events[0].regarding.name) == ("ValidatingAdmissionPolicy", NAME)
    assert doubt.why in events[0].note
    assert scraped.value("nodemend_admission_policy_in_force", policy=NAME) == 0
