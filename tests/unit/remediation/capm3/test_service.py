"""A cluster whose health checks create CAPM3's remediations, with and without a running CAPM3."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import CAPM3_REMEDIATION, LEASE, METAL3_REMEDIATION
from nodemend.kube.request import Method
from simulation.cluster.direct import Object
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.metal3.power_world import MACHINE, SICK, PowerWorld, owned_by

REBOOT = {"type": "Reboot", "retryLimit": 1, "timeout": "5m0s"}
ELSEWHERE = "kube-system"
LISTED_LEASES = "/apis/coordination.k8s.io/v1/leases"


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("capm3", capm3_kinds=True)
    found.world.machines[SICK].hung = True
    yield found
    found.close()


def ask(world: PowerWorld, strategy: Object | None = None, **metadata: Any) -> None:
    """Create the remediation as Cluster API's MachineHealthCheck does."""
    owner = owned_by(MACHINE, world.machine)
    body = {
        "metadata": {"name": "m-1", "ownerReferences": [owner], **metadata},
        "spec": {"strategy": strategy or REBOOT},
    }
    world.api.create(CAPM3_REMEDIATION, body, NAMESPACE)


def theirs(world: PowerWorld) -> Object | None:
    return world.api.get(CAPM3_REMEDIATION, "m-1", NAMESPACE)


def their_status(world: PowerWorld) -> Object:
    found = theirs(world)
    assert found is not None
    status: Object = found.get("status", {})
    return status


@pytest.mark.slow
def test_the_node_is_healed_and_capm3s_users_see_what_they_know(world: PowerWorld) -> None:
    ask(world)
    world.run(25.0)
    assert their_status(world)["phase"] == "Running"
    assert their_status(world)["lastRemediated"]
    world.run(180.0)

    assert their_status(world)["phase"] == "Waiting"
    assert world.status["phase"] == "succeeded"
    assert world.world.machines[SICK].boots == 2
    remediation = world.remediation
    assert remediation is not None
    assert remediation["spec"]["deleteAfterRetries"] == 1
    assert remediation["spec"]["powerOnTimeoutSeconds"] == 300


def test_a_deleted_capm3_remediation_first_ends_its_delegate(world: PowerWorld) -> None:
    ask(world)
    while not world.holds:
        world.run(1.0)
    world.api.delete(CAPM3_REMEDIATION, "m-1", NAMESPACE)
    while theirs(world) is not None:
        world.run(1.0)

    assert world.remediation is None
    assert not world.holds
    # The requested cycle is carried out, and nothing keeps the host off.
    world.run(120.0)
    assert world.world.machines[SICK].powered


def test_nothing_is_touched_where_capm3s_finalizer_is_on_it(world: PowerWorld) -> None:
    ask(world, finalizers=[well_known.CAPM3_FINALIZER])
    before = theirs(world)
    world.run(60.0)

    assert world.remediation is None
    assert theirs(world) == before


def hold_lease(world: PowerWorld, name: str = well_known.CAPM3_LEASE) -> None:
    spec = {"holderIdentity": "capm3-0", "leaseDurationSeconds": 15}
    world.api.create(LEASE, {"metadata": {"name": name}, "spec": spec}, ELSEWHERE)


def test_it_stays_while_its_leader_lease_is_held_in_any_namespace(world: PowerWorld) -> None:
    hold_lease(world)
    ask(world)
    for minute in range(4):
        renewed = f"2026-01-01T00:0{minute}:00.000000Z"
        world.api.patch(LEASE, well_known.CAPM3_LEASE, {"spec": {"renewTime": renewed}}, at=(ELSEWHERE, ""))
        world.run(10.0)
    assert world.remediation is None
    assert well_known.SAFE_END not in (theirs(world) or {})["metadata"].get("finalizers", [])

    world.run(60.0)
    assert world.remediation is not None, "nobody has renewed it for its whole duration"


def test_anothers_lease_says_nothing(world: PowerWorld) -> None:
    hold_lease(world, "somebody-elses")
    ask(world)
    world.run(20.0)
    assert world.remediation is not None


def test_what_cannot_be_read_may_be_held(world: PowerWorld) -> None:
    world.world.remediator.forbidden.add((Method.GET, LISTED_LEASES))
    ask(world)
    world.run(60.0)
    assert world.remediation is None


@pytest.mark.slow
def test_capm3_that_turns_up_later_is_left_the_field(world: PowerWorld) -> None:
    ask(world)
    while not world.holds:
        world.run(1.0)
    finalizers = [well_known.SAFE_END, well_known.CAPM3_FINALIZER]
    world.api.patch(CAPM3_REMEDIATION, "m-1", {"metadata": {"finalizers": finalizers}}, at=(NAMESPACE, ""))
    world.run(180.0)

    assert world.remediation is None
    assert not world.holds
    assert (theirs(world) or {})["metadata"]["finalizers"] == [well_known.CAPM3_FINALIZER]


def test_an_unknown_strategy_touches_nothing(world: PowerWorld) -> None:
    ask(world, {"type": "Pray"})
    before = theirs(world)
    world.run(30.0)
    assert theirs(world) == before
    assert world.remediation is None


@pytest.mark.slow
def test_a_delegate_that_a_user_stops_is_not_created_again(world: PowerWorld) -> None:
    ask(world)
    world.run(20.0)
    world.api.delete(METAL3_REMEDIATION, "m-1", NAMESPACE)
    world.run(240.0)

    assert world.remediation is None
    assert their_status(world)["phase"] == "Failed"
    assert not world.holds


def test_a_delegate_without_its_owner_powers_nothing_off_and_is_deleted(world: PowerWorld) -> None:
    """As a delegate of a remediation that no longer exists, created late."""
    metadata = {
        "name": "m-1",
        "annotations": {well_known.DELEGATE_OF: "gone"},
        "ownerReferences": [owned_by(MACHINE, world.machine)],
    }
    world.api.create(METAL3_REMEDIATION, {"metadata": metadata}, NAMESPACE)
    world.run(30.0)

    assert world.remediation is None
    assert world.world.machines[SICK].boots == 1
    assert world.world.machines[SICK].powered


@pytest.mark.slow
def test_a_cluster_without_the_kind_is_served_as_before() -> None:
    world = PowerWorld("no capm3", capm3_kinds=True, installed=False)
    world.world.machines[SICK].hung = True
    world.ask()
    world.run(300.0)
    assert world.status["phase"] == "succeeded"
    world.close()


def test_they_are_left_alone_if_the_feature_is_off() -> None:
    world = PowerWorld("capm3 off")
    world.world.machines[SICK].hung = True
    ask(world)
    before = theirs(world)
    world.run(60.0)
    assert theirs(world) == before
    assert world.remediation is None
    world.close()
