"""Remediations of every kind are found, also where another kind is not there or not to be seen."""

from dataclasses import replace

import pytest

from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.metal3_remediation import Metal3RemediationPhase as PowerPhase
from nodemend.api.resources import MANUAL_REMEDIATION, METAL3_REMEDIATION, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.listing import (
    Listing,
    is_open,
    list_remediations,
    may_need_a_person,
    open_remediations,
    resource_of,
)
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.node_cases import a_power_cycle, by_hand, by_itself, condition
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld

ALL = Listing(
    Present([by_hand(ManualPhase.PENDING)]),
    Present([a_power_cycle(PowerPhase.PENDING)]),
    Present([by_itself(SelfRemediationPhase.FENCING)]),
)


def held(reason: str, phase: SelfRemediationPhase = SelfRemediationPhase.FENCING) -> SelfRemediation:
    return by_itself(phase, conditions=(condition("Processing", "True", 352.0, reason),))


def test_each_kind_has_its_resource() -> None:
    assert [resource_of(one) for one in ALL.visible] == [
        MANUAL_REMEDIATION,
        METAL3_REMEDIATION,
        SELF_REMEDIATION,
    ]


@pytest.mark.parametrize("unseen", [Absent(), Unreadable("forbidden")])
def test_an_unreadable_kind_hides_no_other(unseen: Absent | Unreadable) -> None:
    assert len(replace(ALL, by_itself=unseen).visible) == 2
    assert len(replace(ALL, power=unseen).visible) == 2
    assert len(replace(ALL, manual=unseen).visible) == 2


def test_one_that_succeeded_is_over() -> None:
    assert not is_open(by_itself(SelfRemediationPhase.SUCCEEDED))
    assert is_open(by_itself(SelfRemediationPhase.RECOVERING))


@pytest.mark.parametrize("reason", ["NoAgent", "NoUsableWatchdog", "NoTimeProof", "ProofContradicted"])
def test_what_time_alone_may_never_change_needs_a_person(reason: str) -> None:
    assert may_need_a_person(held(reason))
    assert not may_need_a_person(held(reason, SelfRemediationPhase.SUCCEEDED))


@pytest.mark.parametrize(
    "one",
    [held("AccumulatingProof"), by_itself(SelfRemediationPhase.PENDING), ALL.visible[0], ALL.visible[1]],
)
def test_a_remediation_that_progresses_by_itself_needs_no_operator(one: SelfRemediation) -> None:
    assert not may_need_a_person(one)


def test_they_are_found_in_a_cluster_and_hidden_ones_are_reported() -> None:
    world = FencingWorld("found")
    world.cut_off()
    world.ask()
    world.run(10.0)

    async def read(cluster: Cluster) -> Listing:
        return await list_remediations(cluster)

    async def name(cluster: Cluster) -> list[str]:
        return [one.metadata.name for one in await open_remediations(cluster)]

    hidden = SimulatedCaller(world.world, hidden=("selfremediations",))
    assert SimulatedCaller(world.world).run(name) == [SICK]
    assert isinstance(hidden.run(read).by_itself, Unreadable)
    with pytest.raises(CommandFailure, match="cannot be read"):
        hidden.run(name)
    world.close()
