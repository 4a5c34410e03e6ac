"""The last remediations of a check, and their outcomes."""

from itertools import pairwise
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, NODE_HEALTH_CHECK, REMEDIATION_ORDER
from nodemend.kube.request import Method
from simulation.cluster.direct import Direct
from simulation.cluster.world import CHECK
from simulation.network import CrashPoint
from tests.unit.health.node.stories import A_WHILE, CALL, PERIOD, REBOOT, StartStory, Story, remedy

DELAY = 40.0
"""Seconds until a recovered node has been healthy for long enough."""


def history(story: Story) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = story.status().get("history", [])
    return found


def outcomes(story: Story) -> list[tuple[str, str, str]]:
    return [(one["node"], one["kind"], one["outcome"]) for one in history(story)]


def test_a_healed_remediation_shows_its_start_and_end(begin: StartStory) -> None:
    story = begin().fail("node-1")
    began = story.remediation("node-1")["metadata"]["creationTimestamp"]
    assert history(story) == []
    story.heal("node-1").run(DELAY)
    [past] = history(story)
    assert (past["node"], past["kind"], past["outcome"]) == ("node-1", "ManualRemediation", "Healed")
    assert past["began"] == began < past["ended"]
    assert "orderedBy" not in past


@pytest.mark.attack("U3")
def test_a_remediation_with_wrong_evidence_has_not_healed_even_if_the_node_is_ready(
    begin: StartStory,
) -> None:
    story = begin().fail("node-1")
    said = {"type": "EvidenceContradicted", "status": "True", "reason": "ConfirmationContradicted"}
    said["lastTransitionTime"] = "2026-01-01T12:00:00Z"
    shown = {"status": {"phase": "Contradicted", "conditions": [said]}}
    remediator = Direct(story.world.remediator)
    remediator.patch(MANUAL_REMEDIATION, "node-1", shown, at=(well_known.SYSTEM_NAMESPACE, "status"))
    story.heal("node-1").run(DELAY)
    assert outcomes(story) == [("node-1", "ManualRemediation", "Contradicted")]


def test_a_failed_remediation_is_listed_below_the_next_one(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot", "1m"), CALL]})
    story.fail("node-1").run(PERIOD + A_WHILE).heal("node-1").run(DELAY)
    assert outcomes(story) == [("node-1", "ManualRemediation", "Healed"), ("node-1", "Reboot", "Escalated")]


def test_an_unrequested_or_manually_deleted_remediation_has_the_outcome_withdrawn(
    begin: StartStory,
) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot")]}).fail("node-1")
    story.change_check({"remedies": [CALL]}).run(A_WHILE)
    assert outcomes(story) == [("node-1", "Reboot", "Withdrawn")]
    story.api.delete(MANUAL_REMEDIATION, "node-1", well_known.SYSTEM_NAMESPACE)
    assert outcomes(story.run(A_WHILE))[0] == ("node-1", "ManualRemediation", "Withdrawn")


def test_a_remediation_whose_node_is_deleted_has_the_outcome_gone(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot")]}).fail("node-1")
    story.world.machines["node-1"].power_off()
    story.api.delete(NODE, "node-1")
    assert outcomes(story.run(A_WHILE)) == [("node-1", "Reboot", "Gone")]


def test_the_author_of_an_order_is_recorded(begin: StartStory) -> None:
    story = begin().show("node-1", "False").run()
    uid = (story.api.get(NODE, "node-1") or {})["metadata"]["uid"]
    spec = {"by": "admin", "reason": "it smokes", "nodeUID": uid}
    story.api.create(REMEDIATION_ORDER, {"metadata": {"name": "node-1"}, "spec": spec})
    story.run(A_WHILE).heal("node-1").run(DELAY)
    assert [(one["outcome"], one["orderedBy"]) for one in history(story)] == [("Healed", "admin")]


@pytest.mark.slow
def test_the_last_twenty_are_kept_and_the_newest_is_first(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot")], "healthyDelay": "1s"})
    for number in range(23):
        node = f"node-{number % 6 + 1}"
        story.fail(node).heal(node).run(5.0)
    past = history(story)
    assert len(past) == 20
    assert past[0]["node"] == "node-5"
    times = [one["ended"] for one in past]
    assert times == sorted(times, reverse=True)


@pytest.mark.slow
def test_the_next_leader_keeps_the_previous_leader_s_records(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot")]})
    story.fail("node-1").heal("node-1").run(DELAY)
    before = history(story)
    story.checker.process.crash()
    story.run(60.0).fail("node-2").heal("node-2").run(DELAY)
    assert outcomes(story) == [("node-2", "Reboot", "Healed"), ("node-1", "Reboot", "Healed")]
    assert history(story)[1:] == before


def test_a_remediation_that_ends_without_a_leader_is_reported_by_the_next_leader(begin: StartStory) -> None:
    """The standby has watched: it knows which remediation existed and was deleted."""
    story = begin(replicas=2, kinds=("Reboot",), check={"remedies": [remedy("Reboot")]}).fail("node-1")
    leader = next(one for one in story.checkers if one.process.name in story.leader())
    leader.process.crash()
    story.api.delete(REBOOT, "node-1", "default")
    story.show("node-1", "True").run(60.0)
    assert [row for row in outcomes(story) if row[1] == "Reboot"][-1:] == [("node-1", "Reboot", "Healed")]


def test_any_number_of_simultaneous_ends_causes_at_most_one_write_per_second(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",), check={"remedies": [remedy("Reboot")]})
    nodes = [f"node-{number}" for number in range(1, 6)]
    story.fail(*nodes).run(3 * A_WHILE)
    writes: list[float] = []

    def witness(_user: str, request: Any, _answer: Any) -> None:
        if request.path.endswith(f"/{NODE_HEALTH_CHECK.plural}/{CHECK}/status"):
            writes.append(story.world.scheduler.now)

    story.world.checker.witnesses.append(witness)
    story.heal(*nodes).run(DELAY)
    assert len(history(story)) == 5
    assert all(later - earlier >= 0.9 for earlier, later in pairwise(writes))


def test_a_failed_remediation_is_reported_as_failed_by_the_next_leader_too(begin: StartStory) -> None:
    story = begin(replicas=2, kinds=("Reboot",), check={"remedies": [remedy("Reboot"), CALL]}).fail("node-1")
    leader = next(one for one in story.checkers if one.process.name in story.leader())
    leader.link.crash_plan = lambda request: (
        CrashPoint.AFTER_COMMIT if request.method is Method.DELETE else None
    )
    story.say("node-1", "False").run(PERIOD + A_WHILE)
    assert story.open() == ["node-1"]
    assert outcomes(story) == [("node-1", "Reboot", "Escalated")]
