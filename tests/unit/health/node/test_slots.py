"""Slots of maxConcurrent: a remediation has one from its start to its release, if a remediator serves it."""

from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.node_health_check import NodeHealthCheckStatus
from nodemend.api.resources import (
    MANUAL_REMEDIATION,
    METAL3_REMEDIATION,
    METAL3_REMEDIATION_TEMPLATE,
    Resource,
)
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Silent
from tests.unit.health.node.stories import A_WHILE, CALL, FREE_HAND, StartStory, Story

ONE_AT_A_TIME = {**FREE_HAND, "maxConcurrent": 1}
NOW = "2026-01-01T12:00:00Z"
CYCLE = {
    "template": {
        "apiVersion": METAL3_REMEDIATION_TEMPLATE.api_version,
        "kind": METAL3_REMEDIATION_TEMPLATE.kind,
        "name": "cycle",
        "namespace": well_known.SYSTEM_NAMESPACE,
    }
}


def say(story: Story, node: str, **conditions: str) -> None:
    """Report as its remediator would.

    No remediator of this world serves power cycles, so the status stays.
    """
    said = [
        {"type": type_, "status": status, "reason": "Said", "lastTransitionTime": NOW}
        for type_, status in conditions.items()
    ]
    Direct(story.world.remediator).patch(
        METAL3_REMEDIATION, node, {"status": {"conditions": said}}, at=(well_known.SYSTEM_NAMESPACE, "status")
    )


def open_ones(story: Story, kind: Resource = METAL3_REMEDIATION) -> list[str]:
    return sorted(one["metadata"]["name"] for one in story.api.list(kind))


def by_power(begin: StartStory, **story: Any) -> Story:
    begun = begin(**story)
    template = {"metadata": {"name": "cycle"}, "spec": {"template": {"spec": {}}}}
    begun.api.create(METAL3_REMEDIATION_TEMPLATE, template, well_known.SYSTEM_NAMESPACE)
    return begun.change_check({"remedies": [CYCLE]}).run(A_WHILE)


@pytest.mark.attack("U5")
def test_a_node_whose_workloads_are_released_frees_its_slot(begin: StartStory) -> None:
    story = by_power(begin, policy=ONE_AT_A_TIME).fail("node-1")
    story.fail("node-2")
    assert (open_ones(story), story.verdict("node-2")) == (["node-1"], "Held")

    say(story, "node-1", WorkloadReleased="True")
    story.run(A_WHILE)
    assert open_ones(story) == ["node-1", "node-2"]


@pytest.mark.attack("U5")
@pytest.mark.parametrize(
    ("policy", "conditions"),
    [
        ({**ONE_AT_A_TIME, "countReleased": True}, {"WorkloadReleased": "True"}),
        (ONE_AT_A_TIME, {"WorkloadReleased": "True", "EvidenceContradicted": "True"}),
    ],
    ids=["the policy says so", "its workloads may run twice"],
)
def test_it_keeps_its_slot_when(
    begin: StartStory, policy: dict[str, Any], conditions: dict[str, str]
) -> None:
    story = by_power(begin, policy=policy).fail("node-1")
    say(story, "node-1", **conditions)
    story.run(A_WHILE).fail("node-2").run(A_WHILE)
    assert (open_ones(story), story.verdict("node-2")) == (["node-1"], "Held")


@pytest.mark.attack("U5")
def test_it_still_counts_as_unhealthy_in_the_storm_guard(begin: StartStory) -> None:
    story = by_power(begin, policy={**ONE_AT_A_TIME, "maxUnhealthy": 2}).fail("node-1")
    say(story, "node-1", WorkloadReleased="True")
    story.run(A_WHILE).fail("node-2").run(A_WHILE)
    assert (open_ones(story), story.verdict("node-2")) == (["node-1"], "Held")
    assert "TooManyUnhealthy" in story.condition("RemediationAllowed")


class Heard(Silent):
    """The checks that report that they cannot act."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def stalled(self, *reported: object) -> None:
        for one in reported:
            if isinstance(one, NodeHealthCheckStatus):
                self.reasons += [said.reason for said in one.conditions if said.type == "Stalled"]


@pytest.mark.attack("U1")
def test_an_unserved_remediation_is_reported_and_takes_no_slot(begin: StartStory) -> None:
    """Power cycles are disabled here."""
    heard = Heard()
    story = by_power(begin, policy=ONE_AT_A_TIME, recorder=heard).fail("node-1")
    assert open_ones(story) == ["node-1"]
    story.fail("node-2")
    assert story.verdict("node-2") == "Held"

    story.run(120.0)
    assert "No controller has started Metal3Remediation nodemend-system/node-1" in story.message("node-1")
    assert story.condition("Stalled") == ("True", "RemediationUnserved")
    assert story.condition("Ready") == ("False", "RemediationUnserved")
    assert "RemediationUnserved" in heard.reasons
    assert open_ones(story) == ["node-1", "node-2"]

    story.change_check({"remedies": [CALL]}).run(A_WHILE)
    assert (open_ones(story, MANUAL_REMEDIATION), open_ones(story)) == (["node-1"], [])
    assert story.run(A_WHILE).condition("Ready") == ("True", "Watching")


@pytest.mark.slow
@pytest.mark.attack("U1")
def test_a_served_remediation_does_not_count_as_unserved(begin: StartStory) -> None:
    story = begin().fail("node-1").run(600.0)
    assert story.condition("Stalled") == ("False", "NotStalled")
    assert story.message("node-1") == ""
