"""A request from any source never marks a node past a limit, nor a healthy one, except in a drill."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE, SELF_REMEDIATION
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from tests.unit.remediation.complaints import OPEN
from tests.unit.remediation.self_fencing.fencing_world import FencingWorld

SICK = ("node-1", "node-2", "node-3")


class Marked(FencingWorld):
    """Counts the markers on Leases, and those that exist at once."""

    def __init__(self, seed: str, **remedy_policy: Any) -> None:
        self.placed: dict[str, float] = {}
        super().__init__(seed, **remedy_policy)
        self.world.remediator.witnesses.append(self._saw_write)

    def ask_as_a_stranger(self, *nodes: str, **named: Any) -> None:
        for name in nodes:
            body = {"metadata": {"name": name, **named}, "spec": {}}
            self.api.create(SELF_REMEDIATION, body, well_known.SYSTEM_NAMESPACE)

    def lose_and_ask(self, *nodes: str) -> None:
        """Each node is cut off long enough to be known not to be Ready before its remediation is created."""
        for name in nodes:
            member = self.rack.members[name]
            member.machine.connected, member.deaf = False, True
        self.run(75.0)
        self.ask_as_a_stranger(*nodes)

    def why_not(self, node: str) -> str:
        found = self.api.get(SELF_REMEDIATION, node, well_known.SYSTEM_NAMESPACE)
        assert found is not None
        said: str = found["status"].get("message", "")
        return said

    def _saw_write(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        name = request.path.rpartition("/")[2]
        if f"/{LEASE.plural}/" in request.path and well_known.MARKER.encode() in request.body:
            self.placed.setdefault(name, self.world.scheduler.now)


@contextmanager
def world(seed: str, **policy: Any) -> Iterator[Marked]:
    made = Marked(seed, machines=10, policy={**OPEN, **policy})
    try:
        yield made
        assert made.twice == []
    finally:
        made.close()


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_healthy_nodes_are_not_marked() -> None:
    with world("well") as here:
        here.ask_as_a_stranger(*SICK)
        here.run(300.0)
        assert not here.placed
        assert "node-1 is Ready" in here.why_not("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_nothing_is_marked_in_a_storm() -> None:
    with world("storm", maxUnhealthy="30%") as here:
        here.lose_and_ask(*SICK)
        here.run(200.0)
        assert not here.placed
        assert "3 of 10" in here.why_not("node-1")


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_share_of_all_nodes_is_the_most_at_once() -> None:
    with world("share", maxConcurrentPercent=10) as here:
        here.lose_and_ask(*SICK)
        here.run(60.0)
        assert len(here.placed) == 1
        here.run(600.0)
        assert len(here.placed) == 3


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_two_remediations_do_not_start_within_the_interval() -> None:
    with world("pace", minInterval="45s") as here:
        here.lose_and_ask(*SICK)
        here.run(200.0)
        times = sorted(here.placed.values())
        assert len(times) == 3
        assert all(44.0 <= later - earlier <= 46.5 for earlier, later in pairwise(times))


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_failure_domain_never_has_more_active_remediations_than_it_allows() -> None:
    zone = "topology.kubernetes.io/zone"
    with world("domain", failureDomains={"key": zone, "maxUnhealthy": "100%", "maxConcurrent": 1}) as here:
        for number, node in enumerate(here.world.machines):
            here.api.patch(NODE, node, {"metadata": {"labels": {zone: f"z{number // 2}"}}})
        here.run(5.0)
        here.lose_and_ask(*SICK)
        here.run(30.0)
        assert len(here.placed) == 2
        assert "node-3" in here.placed


@pytest.mark.slow
@pytest.mark.attack("S7")
def test_a_drill_resets_a_healthy_node_and_respects_every_limit() -> None:
    drill = {"annotations": {well_known.DRILL: "admin"}}
    with world("drill", maxUnhealthy=1) as here:
        here.ask_as_a_stranger("node-1", **drill)
        here.run(60.0)
        assert not here.placed
    with world("drill") as here:
        here.ask_as_a_stranger("node-1", **drill)
        here.run(60.0)
        assert "node-1" in here.placed
