"""Control-plane nodes: one after the other, and never the one that the majority needs."""

import pytest

from nodemend.api.resources import POD
from nodemend.kube.request import Method
from nodemend.records.node import MIRROR
from tests.unit.health.node.stories import A_WHILE, StartStory, Story

ROLE = "node-role.kubernetes.io/control-plane"


def of(story: Story, *members: str) -> Story:
    for member in members:
        story.label(member, {ROLE: ""})
    return story


def hosting_etcd(story: Story, *members: str) -> Story:
    """Their kubelets mirror a static Pod of etcd, and no label marks them."""
    for member in members:
        metadata = {
            "name": f"etcd-{member}",
            "labels": {"component": "etcd", "tier": "control-plane"},
            "annotations": {MIRROR: "8c1"},
        }
        spec = {"nodeName": member, "containers": [{"name": "etcd", "image": "etcd"}]}
        story.api.create(POD, {"metadata": metadata, "spec": spec}, "kube-system")
    return story


@pytest.mark.conforms("N14", "N21")
def test_they_are_remediated_one_after_the_other(begin: StartStory) -> None:
    members = [f"node-{number}" for number in range(1, 6)]
    story = of(begin(), *members).fail("node-1", "node-2").run(A_WHILE)
    assert story.open() == ["node-1"]
    assert "node-1 is under remediation, and only one may be at a time" in story.message("node-2")
    assert story.heal("node-1").run(2 * A_WHILE).open() == ["node-2"]


@pytest.mark.conforms("N14")
def test_a_member_that_the_majority_needs_is_left_alone(begin: StartStory) -> None:
    story = of(begin(), "node-1", "node-2", "node-3").label("node-2", {"nodemend.io/exclude": ""})
    story.world.machines["node-2"].connected = False
    story.run(60.0).fail("node-1").run(A_WHILE)
    assert story.open() == []
    assert "Without this node 1 of 3 control-plane nodes would be Ready" in story.message("node-1")


@pytest.mark.conforms("N14")
def test_nodes_that_run_etcd_are_members_without_a_label(begin: StartStory) -> None:
    members = [f"node-{number}" for number in range(1, 6)]
    story = hosting_etcd(begin(), *members).fail("node-1", "node-2", "node-6").run(A_WHILE)
    assert story.open() == ["node-1", "node-6"]
    assert "node-1 is under remediation, and only one may be at a time" in story.message("node-2")


@pytest.mark.conforms("N14")
def test_the_majority_counts_members_from_labels_and_from_pods(begin: StartStory) -> None:
    story = hosting_etcd(of(begin(), "node-1"), "node-2", "node-3")
    story.label("node-2", {"nodemend.io/exclude": ""}).world.machines["node-2"].connected = False
    story.run(60.0).fail("node-1").run(A_WHILE)
    assert story.open() == []
    assert "Without this node 1 of 3 control-plane nodes would be Ready" in story.message("node-1")


def test_a_checker_that_may_not_read_the_pods_starts_nothing(begin: StartStory) -> None:
    story = begin()
    story.world.checker.forbidden.add((Method.GET, "kube-system"))
    story.checker.process.crash()
    assert story.run(60.0).fail("node-1").run(A_WHILE).open() == []
    story.world.checker.forbidden.clear()
    assert story.run(120.0).open() == ["node-1"]
