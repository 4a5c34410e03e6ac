"""Nodes that one of medik8s' operators is working on, according to their Leases."""

import pytest

from nodemend.api.meta import print_micro_time
from nodemend.api.resources import LEASE, NAMESPACE
from nodemend.kube.request import Method
from tests.unit.health.node.stories import A_WHILE, PERIOD, Object, StartStory, Story

SPACE = "medik8s-leases"
LASTS = 120
"""Seconds; medik8s uses 660 or 3600."""


def held(story: Story, node: str, holder: str = "node-maintenance", lasts: int | None = LASTS) -> Story:
    """Another operator takes the Lease of a node, in the namespace that it creates for that."""
    if story.api.get(NAMESPACE, SPACE) is None:
        story.api.create(NAMESPACE, {"metadata": {"name": SPACE}})
    now = print_micro_time(story.world.scheduler.wall())
    spec: Object = {"holderIdentity": holder, "acquireTime": now, "renewTime": now}
    spec |= {"leaseDurationSeconds": lasts} if lasts is not None else {}
    story.api.create(LEASE, {"metadata": {"name": f"node-{node}"}, "spec": spec}, SPACE)
    return story


def renew(story: Story, node: str, at: str) -> Story:
    story.api.patch(LEASE, f"node-{node}", {"spec": {"renewTime": at}}, at=(SPACE, ""))
    return story


@pytest.mark.conforms("N7")
def test_a_node_that_another_operator_holds_is_left_alone_until_it_is_released(begin: StartStory) -> None:
    story = held(begin(medik8s_leases=SPACE), "node-1").fail("node-1", "node-2")
    assert story.open() == ["node-2"]
    assert "node-maintenance (by the Lease medik8s-leases/node-node-1) is active" in story.message("node-1")
    story.api.delete(LEASE, "node-node-1", SPACE)
    assert story.run(A_WHILE).open() == ["node-1", "node-2"]


@pytest.mark.slow
@pytest.mark.conforms("N7")
def test_an_unrenewed_lease_ends_by_the_checker_s_clock_from_its_first_read(begin: StartStory) -> None:
    story = held(begin(medik8s_leases=SPACE), "node-1").run(2 * LASTS)
    # By its timestamps it expired long ago, but those come from another machine's clock.
    assert story.fail("node-1").run(LASTS - PERIOD / 2).open() == []
    assert story.run(PERIOD).open() == ["node-1"]


def test_a_renewal_counts_regardless_of_its_timestamp(begin: StartStory) -> None:
    story = held(begin(medik8s_leases=SPACE), "node-1").fail("node-1").run(LASTS - PERIOD / 2)
    renew(story, "node-1", at="2001-01-01T00:00:00.000000Z")
    assert story.run(LASTS - PERIOD / 2).open() == []
    assert story.run(PERIOD).open() == ["node-1"]


def test_without_the_lease_namespace_no_node_is_held(begin: StartStory) -> None:
    assert begin(medik8s_leases=SPACE).fail("node-1").open() == ["node-1"]


def test_a_lease_without_a_holder_holds_no_node(begin: StartStory) -> None:
    assert held(begin(medik8s_leases=SPACE), "node-1", holder="").fail("node-1").open() == ["node-1"]


def test_without_the_read_right_nothing_starts_and_the_report_has_the_reason(begin: StartStory) -> None:
    story = begin(medik8s_leases=SPACE)
    story.world.checker.forbidden.add((Method.GET, SPACE))
    assert story.fail("node-1").open() == []
    assert "Cannot read the Lease that medik8s has for this node" in story.message("node-1")
    assert "has no right to GET" in story.message("node-1")


def test_without_the_setting_no_leases_are_read(begin: StartStory) -> None:
    story = held(begin(), "node-1")
    story.world.checker.forbidden.add((Method.GET, SPACE))
    assert story.fail("node-1").open() == ["node-1"]
