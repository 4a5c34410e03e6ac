"""A node that is healthy again: which remediation is deleted, when, and what remains."""

import pytest

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION
from nodemend.kube.request import Method, Selection
from simulation.cluster.foreign_kinds import foreign
from tests.unit.health.node.stories import A_WHILE, CALL, PERIOD, REBOOT, SOON, StartStory, Story, remedy

REBOOTS = {"remedies": [remedy("Reboot")], "healthyDelay": "30s"}


def locks(story: Story) -> list[str]:
    leases = story.api.list(LEASE, Selection(namespace="nodemend-system"))
    names = [lease["metadata"]["name"] for lease in leases]
    return [name for name in names if name.startswith("node-")]


@pytest.mark.conforms("N5")
def test_only_a_recovered_node_loses_its_remediation(begin: StartStory) -> None:
    story = begin().fail("node-1", "node-2").run(A_WHILE)
    assert story.heal("node-1").run(A_WHILE).open() == ["node-2"]
    assert (story.verdict("node-1"), story.verdict("node-2")) == ("", "Remediating")


@pytest.mark.conforms("N5")
def test_a_node_stays_under_remediation_until_its_remediation_is_deleted(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1").keep("node-1", ["example.com/safe-end"])
    story.heal("node-1").run(60.0)
    assert story.remediation("node-1", REBOOT)["metadata"]["deletionTimestamp"]
    assert (story.verdict("node-1"), story.status()["healthy"]) == ("Remediating", 5)
    story.keep("node-1", None).run()
    assert (story.open(REBOOT), story.verdict("node-1"), story.status()["healthy"]) == ([], "", 6)


@pytest.mark.conforms("N12")
def test_a_node_must_stay_healthy_for_the_delay(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1").heal("node-1")
    assert story.run(30.0 - 1.0).open(REBOOT) == ["node-1"]
    assert story.run(SOON).open(REBOOT) == []


@pytest.mark.conforms("W9")
def test_a_node_that_fails_again_within_the_delay_restarts_the_delay(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1").heal("node-1").run(20.0)
    story.show("node-1", "False").run(20.0).heal("node-1")
    assert story.run(30.0 - 1.0).open(REBOOT) == ["node-1"]
    assert story.run(SOON).open(REBOOT) == []


@pytest.mark.conforms("W10")
def test_a_checker_with_read_only_access_to_nodes_starts_and_ends_remediations(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",))
    writing = {(method, "nodes") for method in Method if method is not Method.GET}
    story.world.checker.forbidden |= writing
    assert story.fail("node-1").open(REBOOT) == ["node-1"]
    story.heal("node-1").run(60.0)
    assert (story.open(REBOOT), story.status()["healthy"]) == ([], 6)


@pytest.mark.conforms("N15", "W16")
def test_during_a_pause_recovering_nodes_are_released_and_all_nodes_are_counted(begin: StartStory) -> None:
    story = begin().fail("node-1")
    story.change_check({"pause": {"reason": "switch swap"}}).fail("node-2")
    assert (story.open(), story.verdict("node-2")) == (["node-1"], "Held")
    assert story.condition("Paused") == ("True", "Paused")
    story.heal("node-1").run(A_WHILE)
    assert (story.open(), story.status()["targets"], story.status()["healthy"]) == ([], 6, 5)
    story.change_check({"pause": None}).run(A_WHILE)
    assert story.open() == ["node-2"]


@pytest.mark.conforms("N7")
def test_the_lock_on_a_node_is_deleted_with_its_remediation(begin: StartStory) -> None:
    story = begin().fail("node-1").run(A_WHILE)
    assert len(locks(story)) == 1
    story.heal("node-1").run(A_WHILE)
    assert (story.open(), locks(story)) == ([], [])


@pytest.mark.conforms("N11")
def test_an_excluded_node_is_remediated_after_the_label_is_removed(begin: StartStory) -> None:
    label = "remediation.medik8s.io/exclude-from-remediation"
    story = begin().label("node-1", {label: "true"}).fail("node-1").run(A_WHILE)
    assert (story.open(), story.verdict("node-1")) == ([], "Held")
    assert story.label("node-1", {label: None}).run(SOON).open() == ["node-1"]


@pytest.mark.slow
@pytest.mark.conforms("N10", "N21")
def test_four_remedies_are_tried_one_after_the_other_and_none_is_left(begin: StartStory) -> None:
    kinds = ("Reboot", "Reset", "Reimage")
    remedies = [*(remedy(kind, "1m") for kind in kinds), CALL]
    story = begin(check={"remedies": remedies}, kinds=kinds).fail("node-1")
    tried = []
    for _ in range(4):
        tried += [kind for kind in kinds if story.open(foreign(kind))]
        tried += ["Call"] if story.open(MANUAL_REMEDIATION) else []
        story.run(PERIOD + SOON)
    assert tried == ["Reboot", "Reset", "Reimage", "Call"]
    story.heal("node-1").run(A_WHILE)
    assert not any(story.open(kind) for kind in (*map(foreign, kinds), MANUAL_REMEDIATION))
