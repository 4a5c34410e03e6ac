"""A check that could not act says so, before a node needs it and when one does."""

import pytest

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION_TEMPLATE
from nodemend.kube.request import Method
from simulation.cluster.world import TEMPLATE
from tests.unit.health.node.stories import A_WHILE, CALL, REBOOT, StartStory, Story, remedy

REBOOTS = {"remedies": [remedy("Reboot"), CALL]}


def stall(story: Story) -> str:
    [found] = [one for one in story.status()["conditions"] if one["type"] == "Stalled"]
    assert found["status"] == ("True" if found.get("message") else "False")
    message: str = found.get("message", "")
    return message


@pytest.mark.conforms("W1")
def test_a_check_that_may_not_read_its_remedies_reports_that_before_a_node_fails(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",))
    story.world.checker.forbidden.add((Method.GET, "reboots"))
    story.change_check(REBOOTS).run(A_WHILE)
    assert "RebootTemplate cannot be used: the checker may not list reboots.example.com" in stall(story)
    assert (story.condition("Stalled"), story.status()["targets"]) == (("True", "RemedyUnusable"), 6)

    story.world.checker.forbidden.clear()
    story.run(A_WHILE)
    assert (stall(story), story.condition("Stalled")) == ("", ("False", "NotStalled"))


@pytest.mark.conforms("W1", "N3")
def test_a_kind_that_does_not_exist_is_reported_before_a_node_fails(begin: StartStory) -> None:
    story = begin().change_check(REBOOTS).run(A_WHILE)
    assert "RebootTemplate cannot be used: example.com/v1 has no kind RebootTemplate" in stall(story)


@pytest.mark.conforms("W1")
def test_a_creation_that_is_refused_is_a_hold_and_no_remediation(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",))
    story.world.checker.forbidden.add((Method.POST, "reboots"))
    story.fail("node-1")
    assert (story.open(REBOOT), story.verdict("node-1")) == ([], "Held")
    assert "The API server refuses a Reboot" in story.message("node-1")
    assert story.status().get("remediating", 0) == 0

    story.world.checker.forbidden.clear()
    assert story.run(60.0).open(REBOOT) == ["node-1"]
    assert story.verdict("node-1") == "Remediating"


@pytest.mark.slow
@pytest.mark.conforms("W20")
def test_a_failed_single_remedy_is_reported_and_left_to_an_operator(begin: StartStory) -> None:
    story = begin(check={"remedies": [remedy("Reboot")]}, kinds=("Reboot",)).fail("node-1")
    story.say("node-1", "False").run()
    assert "1 remedy was tried, and the node is still unhealthy" in story.message("node-1")
    assert story.run(3600.0).open(REBOOT) == ["node-1"]
    assert "Repair the node by hand" in story.message("node-1")


@pytest.mark.slow
@pytest.mark.attack("U8")
def test_a_missing_template_is_reported_before_a_node_fails_and_the_check_is_not_ready(
    begin: StartStory,
) -> None:
    story = begin().run(A_WHILE)
    assert story.condition("Ready") == ("True", "Watching")
    gone = {**CALL, "template": {**CALL["template"], "name": "nobody-made-it"}}
    story.change_check({"remedies": [gone]}).run(30.0)
    assert "its template nodemend-system/nobody-made-it does not exist" in stall(story)
    assert story.condition("Ready") == ("False", "RemedyUnusable")
    assert story.condition("Stalled") == ("True", "RemedyUnusable")

    story.change_check({"remedies": [CALL]}).run(A_WHILE)
    assert (story.condition("Ready"), stall(story)) == (("True", "Watching"), "")


@pytest.mark.attack("U8")
def test_a_template_that_is_deleted_later_is_missed_within_two_minutes_and_found_again(
    begin: StartStory,
) -> None:
    story = begin().run(A_WHILE)
    template = story.api.get(MANUAL_REMEDIATION_TEMPLATE, TEMPLATE, well_known.SYSTEM_NAMESPACE)
    assert template is not None
    story.api.delete(MANUAL_REMEDIATION_TEMPLATE, TEMPLATE, well_known.SYSTEM_NAMESPACE)
    assert story.run(120.0).condition("Ready") == ("False", "RemedyUnusable")
    made = {"metadata": {"name": TEMPLATE}, "spec": template.get("spec", {})}
    story.api.create(MANUAL_REMEDIATION_TEMPLATE, made, well_known.SYSTEM_NAMESPACE)
    assert story.run(60.0).condition("Ready") == ("True", "Watching")
