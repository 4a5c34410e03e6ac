"""The guard of machine health checks in figures."""

from collections.abc import Callable

import pytest

from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.kube.events import EventRecord
from tests.unit.health.machine.conftest import NewWorld
from tests.unit.health.machine.machine_world import FIX_TEMPLATE, SPACE, MachineWorld
from tests.unit.telemetry.scraped import Scraped

CHECK = "default/workers"
HERE = "machine_health_check"


def started(
    new_world: NewWorld,
    scraped: Scraped,
    record: Callable[[EventRecord], None] = lambda event_record: None,
    *,
    template: bool = False,
) -> MachineWorld:
    world = new_world()
    world.add_pool(4)
    reference = {"apiVersion": FIX_TEMPLATE.api_version, "kind": FIX_TEMPLATE.kind, "name": "reboot"}
    remediation = {"triggerIf": {"unhealthyLessThanOrEqualTo": "50%"}}
    world.add_check(remediation=remediation | ({"templateRef": reference} if template else {}))
    recorder = MachineHealthCheckRecorder(scraped.log, scraped.metrics, record)
    return world.start(recorder=recorder)


@pytest.mark.conforms("G12")
@pytest.mark.parametrize(("template", "kind"), [(False, "OwnerRemediation"), (True, "Metal3Remediation")])
def test_what_begins_is_counted_by_kind_with_the_time_it_took(
    new_world: NewWorld, kind: str, *, template: bool
) -> None:
    scraped = Scraped()
    world = started(new_world, scraped, template=template)
    world.set_condition("m1", "Ready", "Unknown")
    world.run(80)
    assert scraped.series("nodemend_remediations_started_total") == {(CHECK, kind): 1.0}
    assert scraped.value("nodemend_time_to_start_seconds_count", check=CHECK) == 1
    assert scraped.value("nodemend_time_to_start_seconds_sum", check=CHECK) == pytest.approx(60.0, abs=3.0)


@pytest.mark.conforms("G12")
def test_a_storm_closes_the_guard_and_the_figures_show_where(new_world: NewWorld) -> None:
    scraped = Scraped()
    world = started(new_world, scraped)
    assert scraped.series("nodemend_guard_closed") == {(CHECK, ""): 0.0}
    for name in ("m1", "m2", "m3"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(80)
    assert scraped.series("nodemend_guard_closed") == {(CHECK, "TooManyUnhealthy"): 1.0}
    check, cluster = (HERE, "check", CHECK), (HERE, "cluster", "default/prod")
    assert scraped.series("nodemend_guard_used_nodes") == {check: 3.0, cluster: 3.0}
    assert scraped.series("nodemend_guard_limit_nodes") == {check: 3.0, cluster: 4.0}


@pytest.mark.slow
def test_a_long_storm_repeats_one_event_on_the_check(new_world: NewWorld) -> None:
    scraped, events = Scraped(), list[EventRecord]()
    world = started(new_world, scraped, events.append)
    for name in ("m1", "m2", "m3"):
        world.set_condition(name, "Ready", "Unknown")
    world.run(600)
    [reported] = [event for event in events if event.reason == "StillHeld"]
    assert (reported.regarding.kind, reported.regarding.name) == ("MachineHealthCheck", "workers")
    assert "3 of 4 machines (TooManyUnhealthy 3)" in reported.note


def test_metrics_of_a_deleted_check_are_removed(new_world: NewWorld) -> None:
    scraped = Scraped()
    world = started(new_world, scraped)
    world.api.delete(world.checks_at, "workers", SPACE)
    world.run(10)
    assert scraped.series("nodemend_guard_closed") == {}
    assert scraped.series("nodemend_guard_used_nodes") == {}
