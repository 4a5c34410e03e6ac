"""A scrape shows the state at that moment."""

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from nodemend.telemetry.metrics import (
    CACHE_STALENESS,
    CAN_SIGN,
    EVENTS,
    LOG_LINES_LOST,
    METRIC_NAMES,
    MODE,
    PAUSED,
    PAUSED_WITHOUT_END,
    REMEDIATIONS_IN_FLIGHT,
    WORKLOAD_CLUSTERS,
    HeldRemediation,
    Metrics,
)


def exported() -> tuple[CollectorRegistry, Metrics]:
    registry = CollectorRegistry()
    return registry, Metrics(registry, program="nodemend-checker", version="1.2.3", monotonic=lambda: 100.0)


def test_it_says_what_runs() -> None:
    registry, _ = exported()

    labels = {"program": "nodemend-checker", "version": "1.2.3"}
    assert registry.get_sample_value("nodemend_build_info", labels) == 1


def test_values_kept_elsewhere_are_read_at_each_scrape() -> None:
    registry, metrics = exported()
    ages = [float("inf"), 4.5]
    metrics.readings.follow_value(CACHE_STALENESS, lambda: ages.pop(0), "nodes")

    first = registry.get_sample_value("nodemend_cache_staleness_seconds", {"resource": "nodes"})
    second = registry.get_sample_value("nodemend_cache_staleness_seconds", {"resource": "nodes"})

    assert (first, second) == (float("inf"), 4.5)


def test_one_metric_shows_the_values_of_all_its_sources() -> None:
    registry, metrics = exported()
    metrics.readings.follow(REMEDIATIONS_IN_FLIGHT, lambda: {("ManualRemediation", "Releasing"): 2})
    metrics.readings.follow(REMEDIATIONS_IN_FLIGHT, lambda: {("SelfRemediation", "Releasing"): 1})

    for kind, count in (("ManualRemediation", 2), ("SelfRemediation", 1)):
        labels = {"kind": kind, "phase": "Releasing"}
        assert registry.get_sample_value("nodemend_remediations_in_flight", labels) == count


@pytest.mark.conforms("N20")
def test_a_hold_shows_its_start_time_until_it_is_over() -> None:
    registry, metrics = exported()
    held = HeldRemediation("ManualRemediation", "default", "edge-07")
    metrics.holds.note(held, "WaitingForConfirmation", "waiting", wall=1234.0, now=100.0)
    labels = {
        "kind": held.kind,
        "namespace": held.namespace,
        "name": held.name,
        "reason": "WaitingForConfirmation",
    }
    labels["released"] = "no"
    name = "nodemend_remediation_held_since_timestamp_seconds"

    assert registry.get_sample_value(name, labels) == 1234.0
    metrics.forget_work()
    assert registry.get_sample_value(name, labels) is None


def test_workload_clusters_are_counted_by_how_they_are_seen() -> None:
    registry, metrics = exported()
    metrics.readings.follow(WORKLOAD_CLUSTERS, lambda: {("seen",): 2, ("out_of_reach",): 1})

    for state, count in (("seen", 2.0), ("out_of_reach", 1.0)):
        assert registry.get_sample_value("nodemend_workload_clusters", {"state": state}) == count


def test_a_former_leader_exports_no_node_metrics() -> None:
    registry, metrics = exported()
    metrics.nodes.labels("workers", "healthy").set(24)
    metrics.guard_closed.labels("workers", "Paused").set(1)
    metrics.forget_work()

    assert registry.get_sample_value("nodemend_nodes", {"check": "workers", "state": "healthy"}) is None
    closed = {"check": "workers", "reason": "Paused"}
    assert registry.get_sample_value("nodemend_guard_closed", closed) is None


def test_every_metric_of_the_table_is_exported_under_its_name_and_kind() -> None:
    registry, metrics = exported()
    for optional in (
        PAUSED,
        MODE,
        PAUSED_WITHOUT_END,
        EVENTS,
        LOG_LINES_LOST,
        CAN_SIGN,
        WORKLOAD_CLUSTERS,
    ):
        metrics.readings.follow_value(optional, lambda: 1.0, *optional.labels)
    text = generate_latest(registry).decode()

    for metric in METRIC_NAMES:
        assert f"# TYPE {metric.name} {metric.kind}\n" in text
        assert f"# HELP {metric.name} {metric.help}\n" in text


def test_registries_of_two_programs_do_not_meet() -> None:
    (one, metrics), (other, _) = exported(), exported()
    metrics.leader.set(1)

    assert (one.get_sample_value("nodemend_leader"), other.get_sample_value("nodemend_leader")) == (1, 0)
