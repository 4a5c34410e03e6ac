"""The conditions under which a check creates a remediation, and the content of that remediation."""

from datetime import timedelta

import pytest

from nodemend.api.meta import print_time
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE
from simulation.cluster.foreign_kinds import foreign
from simulation.cluster.world import CHECK
from tests.unit.health.node.stories import A_WHILE, CALL, PERIOD, REBOOT, SOON, StartStory, remedy

REBOOT_TEMPLATE = foreign("RebootTemplate")
REBOOTS = {"remedies": [remedy("Reboot", "2m"), CALL]}


@pytest.mark.conforms("N4", "N21")
def test_each_unhealthy_node_has_one_remediation_that_names_its_check(begin: StartStory) -> None:
    story = begin().fail("node-1", "node-2").run(A_WHILE)
    assert story.open() == ["node-1", "node-2"]
    metadata, node = story.remediation("node-1")["metadata"], story.api.get(NODE, "node-1") or {}
    assert metadata["labels"] == {"nodemend.io/check": CHECK}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": node["metadata"]["uid"]}
    assert metadata["ownerReferences"] == [owner]
    status = story.status()
    assert (status["targets"], status["healthy"], status["remediating"]) == (6, 4, 2)


@pytest.mark.conforms("N4")
def test_at_the_limit_no_further_node_gets_a_remediation(begin: StartStory) -> None:
    story = begin(check={"maxUnhealthy": 3}).fail("node-1", "node-2", "node-3").run(A_WHILE)
    assert story.open() == []
    assert story.condition("RemediationAllowed") == ("False", "TooManyUnhealthy")
    assert story.status()["healthy"] == 3


@pytest.mark.conforms("W19")
def test_the_remediation_is_requested_at_the_deadline_and_not_a_second_later(begin: StartStory) -> None:
    story = begin().show("node-1", "False").run(PERIOD - 0.1)
    assert story.open() == []
    assert story.run(0.6).open() == ["node-1"]


@pytest.mark.conforms("W12")
def test_a_backdated_transition_counts_from_its_first_observation(begin: StartStory) -> None:
    story = begin()
    long_ago = print_time(story.world.scheduler.wall() - timedelta(days=1))
    assert story.show("node-1", "False", since=long_ago).run(PERIOD - SOON).open() == []
    assert story.run(2 * SOON).open() == ["node-1"]


@pytest.mark.conforms("N8")
def test_a_condition_that_turns_from_unknown_to_false_keeps_its_remediation(begin: StartStory) -> None:
    """The remedy also stays after the period has passed, since the new status has only begun."""
    story = begin(check=REBOOTS, kinds=("Reboot",))
    story.show("node-1", "Unknown").run(PERIOD + 100.0)
    first = story.remediation("node-1", REBOOT)["metadata"]["uid"]
    story.show("node-1", "False").run(PERIOD - SOON)
    assert story.remediation("node-1", REBOOT)["metadata"]["uid"] == first
    assert story.run(A_WHILE).open() == ["node-1"]


@pytest.mark.conforms("N6")
def test_only_one_of_two_checks_that_select_a_node_requests_a_remediation(begin: StartStory) -> None:
    story = begin().another_check("zebra", remedies=[CALL]).fail("node-1").run(A_WHILE)
    assert story.open() == ["node-1"]
    assert story.remediation("node-1")["metadata"]["labels"] == {"nodemend.io/check": CHECK}
    assert [one["message"] for one in story.status("zebra")["conditions"] if one["type"] == "Ready"] == [
        "All targets that this check selects belong to other checks: see the condition Overlapping."
    ]


@pytest.mark.conforms("N6", "W14")
def test_another_controller_s_remediation_is_left_alone_and_named(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",))
    theirs = story.api.create(REBOOT, {"metadata": {"name": "node-1"}, "spec": {}}, "default")
    story.fail("node-1").run(A_WHILE)
    assert story.verdict("node-1") == "Held"
    assert "Reboot default/node-1 is active on this node" in story.message("node-1")
    story.heal("node-1").run(A_WHILE)
    assert story.remediation("node-1", REBOOT)["metadata"]["uid"] == theirs["metadata"]["uid"]


@pytest.mark.conforms("W15")
def test_the_own_remediation_starts_at_once_after_another_controller_s_has_ended(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",))
    story.api.create(REBOOT, {"metadata": {"name": "node-1"}, "spec": {}}, "default")
    story.fail("node-1").run(A_WHILE)
    story.api.delete(REBOOT, "node-1", "default")
    assert "nodemend.io/check" in story.run().remediation("node-1", REBOOT)["metadata"]["labels"]


@pytest.mark.conforms("N7")
def test_the_check_waits_for_a_node_that_another_has_locked_and_leaves_the_lock_alone(
    begin: StartStory,
) -> None:
    story = begin()
    name = f"node-{(story.api.get(NODE, 'node-1') or {})['metadata']['uid']}"
    theirs = {"name": name, "annotations": {"nodemend.io/holder": "NodeFence default/x"}}
    lock = {"metadata": theirs, "spec": {"holderIdentity": "u8"}}
    story.api.create(LEASE, lock, "nodemend-system")
    story.fail("node-1").run(A_WHILE)
    assert "NodeFence default/x is active on this node" in story.remediation("node-1")["status"]["message"]
    story.heal("node-1").run(A_WHILE)
    left = story.api.get(LEASE, name, "nodemend-system")
    assert (story.open(), left is not None and left["spec"]["holderIdentity"]) == ([], "u8")
    story.api.delete(LEASE, name, "nodemend-system")
    story.fail("node-1").run(A_WHILE)
    assert story.remediation("node-1")["status"]["phase"] == "WaitingForConfirmation"


@pytest.mark.conforms("N13")
def test_a_remediation_is_deleted_with_its_node(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1", "node-2").run(A_WHILE)
    assert story.open(REBOOT) == ["node-1", "node-2"]
    story.api.delete(NODE, "node-1")
    story.run(A_WHILE)
    assert (story.open(REBOOT), story.status()["targets"]) == (["node-2"], 5)


@pytest.mark.conforms("N3")
def test_a_missing_template_is_reported_and_its_return_is_detected(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",))
    story.api.delete(REBOOT_TEMPLATE, "usual", "default")
    story.fail("node-1")
    assert (story.open(REBOOT), story.verdict("node-1")) == ([], "Held")
    assert "the template default/usual: it does not exist" in story.message("node-1")
    assert story.make_template("Reboot").run(A_WHILE).open(REBOOT) == ["node-1"]


@pytest.mark.conforms("W11")
def test_a_deleted_remediation_is_created_again_with_its_whole_timeout(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1").run(100.0)
    first = story.remediation("node-1", REBOOT)["metadata"]["uid"]
    story.api.delete(REBOOT, "node-1", "default")
    second = story.run().remediation("node-1", REBOOT)["metadata"]["uid"]
    assert second != first
    assert story.run(100.0).open(REBOOT) == ["node-1"]
    assert (story.run(A_WHILE).open(REBOOT), story.open(MANUAL_REMEDIATION)) == ([], ["node-1"])


@pytest.mark.conforms("W18")
@pytest.mark.parametrize("machines", [6, 40])
def test_the_reads_before_a_request_do_not_grow_with_the_number_of_healthy_nodes(
    begin: StartStory, machines: int
) -> None:
    story = begin(machines=machines)
    story.show("node-1", "False").run(PERIOD - SOON)
    before = story.world.checker.asked.total()
    story.run(2 * SOON)
    assert story.open() == ["node-1"]
    assert story.world.checker.asked.total() - before < 20
