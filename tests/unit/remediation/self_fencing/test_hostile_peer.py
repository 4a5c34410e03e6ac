"""One peer reports nonsense: it counts as absent, and what the others cover is enough."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import LEASE
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld

HOSTILE = "node-5"


@pytest.fixture
def world() -> Iterator[FencingWorld]:
    found = FencingWorld("hostile")
    yield found
    assert found.twice == []
    found.close()


def report_from_now_on(world: FencingWorld, node: str, change: dict[str, Any]) -> None:
    """Its agent is gone; a hostile root on the node renews in its place."""
    world.rack.members[node].seize()
    numbers = iter(range(1000, 100_000))

    def write() -> None:
        lease = world.api.get(LEASE, node, well_known.AGENT_NAMESPACE)
        assert lease is not None
        report = json.loads(lease["metadata"]["annotations"][well_known.AGENT_REPORT])
        number = next(numbers)
        report |= {"sequence": number, "acknowledged": number - 1, "steadySince": 1, **change}
        noted = {"metadata": {"annotations": {well_known.AGENT_REPORT: json.dumps(report)}}}
        world.api.patch(LEASE, node, noted, at=(well_known.AGENT_NAMESPACE, ""))
        world.world.scheduler.after(5.0, write)

    world.world.scheduler.after(0.1, write)
    world.run(10)


@pytest.mark.slow
@pytest.mark.attack("S9")
@pytest.mark.parametrize(
    "change",
    [
        {"acknowledged": -1},
        {"acknowledged": 2**63},
        {"bootID": "x" * 200},
        {"bootID": ""},
        {"nodeUID": "u" * 100},
        {"address": "[]@"},
        {"peers": [["a"]] * 5000},
    ],
    ids=",".join,
)
def test_a_release_by_time_does_not_depend_on_what_one_peer_writes(
    world: FencingWorld, change: dict[str, Any]
) -> None:
    report_from_now_on(world, HOSTILE, change)
    world.cut_off()
    world.ask()

    world.run_until(lambda: "evidence" in world.status, 120.0)

    assert world.status["evidence"]["class"] == "E4"
    assert HOSTILE not in {one["name"] for one in world.status["proven"]}


@pytest.mark.attack("S9")
def test_the_remediation_of_a_node_with_a_nonsensical_report_is_held_with_words(world: FencingWorld) -> None:
    report_from_now_on(world, SICK, {"acknowledged": -1})
    world.cut_off()
    world.ask()
    world.run(60)

    assert world.why == "AgentReportInvalid"
    assert "`$.acknowledged`" in world.status["message"]
    assert "evidence" not in world.status


@pytest.mark.slow
@pytest.mark.attack("S1")
def test_a_node_with_a_nonsensical_report_is_proposed_to_no_peer(world: FencingWorld) -> None:
    report_from_now_on(world, HOSTILE, {"address": "[]@"})
    world.run(400)

    for node in set(world.rack.members) - {HOSTILE}:
        lease = world.api.get(LEASE, node, well_known.AGENT_NAMESPACE)
        assert lease is not None
        proposal = json.loads(lease["metadata"]["annotations"][well_known.PEER_PROPOSAL])
        assert HOSTILE not in {one["name"] for one in proposal["peers"]}
