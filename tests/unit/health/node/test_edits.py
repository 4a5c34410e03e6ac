"""A check may be edited or deleted at any time, and what it had asked for does not stay behind."""

from typing import Any

import pytest

from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE_HEALTH_CHECK, Resource
from nodemend.kube.request import Selection
from simulation.cluster.world import CHECK
from tests.unit.health.node.stories import A_WHILE, CALL, DISKS, PERIOD, REBOOT, SOON, StartStory, remedy

REBOOTS = {"remedies": [remedy("Reboot")]}
RACK = "example.com/rack"


@pytest.mark.conforms("N19", "W13")
@pytest.mark.parametrize(("check", "kind"), [({}, MANUAL_REMEDIATION), (REBOOTS, REBOOT)])
def test_with_a_check_go_its_remediations_and_their_locks(
    begin: StartStory, check: dict[str, Any], kind: Resource
) -> None:
    story = begin(check=check, kinds=("Reboot",)).fail("node-1").run(A_WHILE)
    assert story.open(kind) == ["node-1"]
    story.api.delete(NODE_HEALTH_CHECK, CHECK)
    story.run(A_WHILE)
    leases = story.api.list(LEASE, Selection(namespace="nodemend-system"))
    assert story.open(kind) == []
    assert not [lease for lease in leases if lease["metadata"]["name"].startswith("node-")]


@pytest.mark.conforms("N17", "N19")
def test_a_node_that_is_selected_no_longer_loses_its_remediation(begin: StartStory) -> None:
    story = begin().change_check({"selector": {"matchLabels": {RACK: "a"}}})
    for node in ("node-1", "node-2", "node-3", "node-4"):
        story.label(node, {RACK: "a"})
    story.fail("node-1", "node-2").run(A_WHILE)
    assert (story.open(), story.status()["targets"]) == (["node-1", "node-2"], 4)
    story.label("node-1", {RACK: "b"}).run(A_WHILE)
    assert (story.open(), story.status()["targets"]) == (["node-2"], 3)


@pytest.mark.conforms("N19")
def test_another_remedy_starts_after_the_previously_configured_one_is_deleted(begin: StartStory) -> None:
    story = begin(check=REBOOTS, kinds=("Reboot",)).fail("node-1").keep("node-1", ["example.com/safe-end"])
    story.change_check({"remedies": [CALL]}).run(60.0)
    assert story.remediation("node-1", REBOOT)["metadata"]["deletionTimestamp"]
    assert story.open(MANUAL_REMEDIATION) == []
    story.keep("node-1", None).run(A_WHILE)
    assert (story.open(REBOOT), story.open(MANUAL_REMEDIATION)) == ([], ["node-1"])


@pytest.mark.slow
@pytest.mark.conforms("N19")
def test_limits_thresholds_and_delay_may_change_during_a_remediation(begin: StartStory) -> None:
    story = begin().fail("node-1").run(A_WHILE)
    first = story.remediation("node-1")["metadata"]["uid"]
    story.change_check({"maxUnhealthy": "90%", "thresholds": DISKS[:1], "healthyDelay": "20s"}).run(A_WHILE)
    assert story.remediation("node-1")["metadata"]["uid"] == first
    assert story.heal("node-1").run(15.0).open() == ["node-1"]
    assert story.run(10.0).open() == []


@pytest.mark.conforms("N19")
def test_a_node_unhealthy_by_a_new_threshold_is_found_without_a_node_change(
    begin: StartStory,
) -> None:
    story = begin().show("node-1", "False", "example.com/Fan").run(PERIOD + SOON)
    assert story.open() == []
    fans = {"type": "example.com/Fan", "status": "False", "period": f"{PERIOD:.0f}s"}
    story.change_check({"thresholds": [*DISKS, fans]}).run(PERIOD + A_WHILE)
    assert story.open() == ["node-1"]


@pytest.mark.conforms("N19")
def test_a_recreated_check_continues_the_former_one_s_remediations(begin: StartStory) -> None:
    story = begin().fail("node-1").run(A_WHILE)
    first = story.remediation("node-1")["metadata"]["uid"]
    story.checker.process.crash()
    story.api.delete(NODE_HEALTH_CHECK, CHECK)
    story.another_check(CHECK).run(60.0)
    assert story.remediation("node-1")["metadata"]["uid"] == first
    assert story.heal("node-1").run(A_WHILE).open() == []


@pytest.mark.conforms("N19")
def test_an_operator_s_own_remediation_stays_regardless_of_the_checks(begin: StartStory) -> None:
    story = begin(kinds=("Reboot",))
    story.api.create(MANUAL_REMEDIATION, {"metadata": {"name": "node-2"}, "spec": {}}, "nodemend-system")
    story.api.delete(NODE_HEALTH_CHECK, CHECK)
    assert story.run(A_WHILE).open() == ["node-2"]


@pytest.mark.conforms("N19")
def test_a_node_that_another_check_takes_over_starts_again_under_that_check(begin: StartStory) -> None:
    story = begin().fail("node-1").run(A_WHILE)
    story.another_check("aardvark").run(A_WHILE + SOON)
    assert story.open() == ["node-1"]
    assert story.remediation("node-1")["metadata"]["labels"] == {"nodemend.io/check": "aardvark"}
