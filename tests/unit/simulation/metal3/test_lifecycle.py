"""Deletion and creation of a host: behaviour that was not recorded, and follows from reading the source."""

from collections.abc import Iterator

import pytest

from nodemend.api.resources import BARE_METAL_HOST, SECRET
from tests.campaigns.host_conformance.one_host_world import Stage
from tests.campaigns.host_conformance.recorded_states import NAME, NAMESPACE
from tests.campaigns.host_conformance.writes import CREDENTIALS, annotate, create, delete, patch_host


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage("ironic", luck=0.5)
    create(stage, "external")
    run(stage, 60.0)
    yield stage
    stage.close()
    assert not stage.failures


def run(stage: Stage, seconds: float) -> None:
    stage.scheduler.run(stage.now + seconds)


def orders(stage: Stage) -> list[str]:
    return [str(one.order) for one in stage.bmc.received]


def test_a_deleted_host_is_powered_off_hard_and_takes_its_secret_with_it(stage: Stage) -> None:
    delete(stage, "host")
    run(stage, 15.0)

    assert orders(stage) == ["ForceOff"]
    assert stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE) is None
    assert stage.api.get(SECRET, CREDENTIALS, NAMESPACE) is None


def test_a_deletion_does_not_wait_forever_for_a_machine_that_stays_on(stage: Stage) -> None:
    stage.bmc.faults.off_refused = True

    delete(stage, "host")
    run(stage, 300.0)
    assert stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE) is not None

    run(stage, 1800.0)
    assert orders(stage) == ["ForceOff"] * 4
    assert stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE) is None


def test_a_detached_host_can_make_its_deletion_wait(stage: Stage) -> None:
    annotate(stage, {"baremetalhost.metal3.io/detached": '{"deleteAction":"delay"}'})
    run(stage, 5.0)

    delete(stage, "host")
    run(stage, 60.0)
    assert stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE) is not None

    annotate(stage, {"baremetalhost.metal3.io/detached": None})
    run(stage, 60.0)
    assert stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE) is None
    assert orders(stage) == ["ForceOff"]


def test_a_host_whose_bmc_is_nowhere_stays_unregistered() -> None:
    stage = Stage("ironic", luck=0.5)
    create(stage, "external")
    patch_host(stage, {"spec": {"bmc": {"address": "redfish://nowhere"}}})

    run(stage, 600.0)

    host = stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE)
    assert host is not None
    assert host["status"]["provisioning"]["state"] == "registering"
    stage.close()
    assert not stage.failures


def test_a_machine_is_not_switched_before_its_power_is_known() -> None:
    stage = Stage("ironic", luck=0.5)
    stage.bmc.faults.unreachable = True
    create(stage, "external")
    run(stage, 300.0)

    stage.bmc.faults.unreachable = False
    run(stage, 300.0)

    host = stage.api.get(BARE_METAL_HOST, NAME, NAMESPACE)
    assert host is not None
    assert host["status"]["poweredOn"]
    assert orders(stage) == []
    stage.close()
