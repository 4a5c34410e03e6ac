"""Whole lives of SelfRemediations: the shipped controller and shipped agents on simulated machines."""

from collections.abc import Iterator

import pytest

from nodemend.api.resources import LEASE, NODE
from nodemend.api.well_known import KUBELET_LEASE_NAMESPACE
from nodemend.remediation.node_state import LONGEST_LEASE_SECONDS
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld


@pytest.fixture
def world() -> Iterator[FencingWorld]:
    found = FencingWorld("self")
    yield found
    assert found.twice == []
    found.close()


@pytest.mark.slow
def test_a_node_that_is_cut_off_resets_itself_and_is_released_by_time(world: FencingWorld) -> None:
    bound = world.pods
    assert bound
    world.cut_off()
    world.ask()

    world.run_until(lambda: world.marker is not None, 5.0)
    took = world.run_until(lambda: "evidence" in world.status, 90.0)

    assert world.sick.resets >= 1
    assert world.status["evidence"]["class"] == "E4"
    assert 72.0 <= took <= 76.0
    assert world.status["provenSeconds"] >= world.status["safeTimeSeconds"] == 72
    world.run_until(lambda: world.status.get("released", False), 60.0)
    world.run(10.0)
    assert all(map(world.runs_elsewhere, bound))
    assert not world.out_of_service
    assert world.marker is None
    assert world.why == "WaitingForNewBoot"


@pytest.mark.attack("K5")
@pytest.mark.parametrize("slewed", [1.1, 0.9])
def test_a_clock_that_is_slewed_makes_no_proof_shorter(world: FencingWorld, slewed: float) -> None:
    """The time daemon of the leader's host corrects a wrong clock by at most a tenth."""
    for replica in world.world.replicas:
        replica.clock.slewed, replica.clock.slewed_from = slewed, world.world.scheduler.now
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.marker is not None, 8.0)

    took = world.run_until(lambda: "evidence" in world.status, 120.0)

    assert world.status["evidence"]["class"] == "E4"
    assert took >= 72.0


@pytest.mark.slow
@pytest.mark.attack("S9")
def test_a_kubelet_that_claims_years_of_silence_still_delays_the_release_some_minutes(
    world: FencingWorld,
) -> None:
    """The kubelet writes its own Lease.

    A remediation that never ends would hold its concurrency slot forever.
    """
    claimed = {"spec": {"leaseDurationSeconds": 2**31 - 1}}
    world.api.patch(LEASE, SICK, claimed, at=(KUBELET_LEASE_NAMESPACE, ""))
    world.cut_off()
    world.ask()

    world.run_until(lambda: "evidence" in world.status, LONGEST_LEASE_SECONDS + 120.0)


@pytest.mark.slow
def test_after_its_return_the_gate_opens_and_the_remediation_ends(world: FencingWorld) -> None:
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.status.get("released", False) and world.marker is None, 200.0)

    world.sick.machine.connected, world.sick.deaf = True, False

    world.run_until(lambda: world.status["phase"] == "Succeeded", 120.0)
    assert world.sick.machine.kubelet_works


def test_a_node_that_sees_its_marker_resets_at_once_and_its_new_boot_is_the_evidence(
    world: FencingWorld,
) -> None:
    world.ask()

    took = world.run_until(lambda: "evidence" in world.status, 60.0)

    assert world.status["evidence"]["class"] == "E2"
    assert took < 45.0
    world.run_until(lambda: world.status["phase"] == "Succeeded", 120.0)
    assert world.sick.resets == 1
    assert world.marker is None


def test_a_gate_stays_closed_as_long_as_the_marker_is_on(world: FencingWorld) -> None:
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.sick.resets > 0, 90.0)
    world.sick.machine.connected = True

    world.run_until(lambda: "evidence" in world.status, 90.0)

    # Regardless of evidence by report or by time: nothing of it ran before the marker was removed.
    while world.marker is not None:
        assert world.sick.machine.gated
        world.run(0.5)


@pytest.mark.slow
def test_nothing_is_released_while_half_of_its_peers_are_cut_off_too(world: FencingWorld) -> None:
    world.cut_off()
    for name in ("node-2", "node-3"):
        world.rack.members[name].machine.connected = False
    world.ask()

    world.run(300.0)

    assert "evidence" not in world.status
    assert world.why == "AccumulatingProof"


@pytest.mark.slow
def test_without_a_gate_time_proves_nothing_unless_the_policy_accepts_that() -> None:
    world = FencingWorld("no gate", gated=False)
    world.cut_off()
    world.ask()
    world.run(120.0)

    assert world.why == "NoTimeProof"
    assert "NoBootGate" in world.status["message"]
    assert "evidence" not in world.status

    world.withdraw()
    world.run_until(lambda: world.remediation is None, 10.0)
    assert world.marker is None
    world.ask(accept=["NoBootGate"])
    world.run_until(lambda: "evidence" in world.status, 120.0)
    assert world.status["evidence"]["class"] == "E4"
    world.close()


def test_a_time_that_is_too_short_is_refused_and_not_raised(world: FencingWorld) -> None:
    world.cut_off()
    world.ask(safeTimeSeconds=60)

    world.run(120.0)

    assert world.why == "NoTimeProof"
    assert "60 s prove nothing" in world.status["message"]


def test_withdrawn_before_there_is_evidence_it_leaves_nothing_behind(world: FencingWorld) -> None:
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.marker is not None, 5.0)
    world.run(20.0)

    world.withdraw()

    world.run_until(lambda: world.remediation is None, 10.0)
    assert world.marker is None
    assert not world.out_of_service


def test_another_leader_continues_with_the_proven_seconds(world: FencingWorld) -> None:
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.marker is not None, 5.0)
    world.run_until(lambda: world.status.get("provenSeconds", 0) >= 30, 60.0)
    leader = next(one for one in world.world.replicas if one.name == "remediator-0")

    leader.process.crash()

    took = world.run_until(lambda: "evidence" in world.status, 120.0)
    assert world.status["evidence"]["class"] == "E4"
    # Recorded seconds count; time that passed without a leader does not.
    assert took < 72.0


@pytest.mark.slow
def test_an_unmarked_node_continues_to_renew(world: FencingWorld) -> None:
    world.run(300.0)

    assert all(member.resets == 0 for member in world.rack.members.values())
    assert world.node["metadata"]["name"] == SICK


@pytest.mark.slow
@pytest.mark.attack("K6")
def test_after_an_abandoned_remediation_the_gate_stays_closed_under_nodemend_s_taint(
    world: FencingWorld,
) -> None:
    world.cut_off()
    world.ask()
    world.run_until(lambda: world.out_of_service, 120.0)

    world.abandon()
    world.sick.machine.connected, world.sick.deaf = True, False
    world.run(200.0)

    assert world.out_of_service
    assert world.marker is not None
    assert world.sick.machine.gated
    world.api.patch(NODE, SICK, {"spec": {"taints": None}})
    world.run_until(lambda: not world.sick.machine.gated, 90.0)
