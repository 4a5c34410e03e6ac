"""The metrics of mode and pauses show what the policy and the checks say at the scrape."""

from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.api.meta import LabelSelector, ObjectMeta, Pause
from nodemend.api.node_health_check import NodeHealthCheck, NodeHealthCheckSpec
from nodemend.api.remediation_policy import Mode, RemediationPolicy, RemediationPolicySpec
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.cli.listing_caches import as_cache
from nodemend.cmd.controllers import follow_policy
from nodemend.health.node.targets import NodeView
from nodemend.health.remediation_index import RemediationIndex
from nodemend.kube.store import Store, whole
from nodemend.telemetry.metrics import Metrics

PAUSE = Pause(reason="kernel")
CHECK = NodeHealthCheck(
    metadata=ObjectMeta(name="workers", uid="1"),
    spec=NodeHealthCheckSpec(selector=LabelSelector(), thresholds=(), remedies=(), pause=PAUSE),
)


def scraped(*policies: RemediationPolicy) -> CollectorRegistry:
    registry = CollectorRegistry()
    metrics = Metrics(registry, program="nodemend-checker", version="1", monotonic=lambda: 0.0)
    view = NodeView(
        nodes=Store(lambda node: node.uid),
        checks=as_cache(whole(NODE_HEALTH_CHECK, NodeHealthCheck), [CHECK]),
        remedies=RemediationIndex(),
        policies=as_cache(whole(REMEDIATION_POLICY, RemediationPolicy), list(policies)),
        orders=Store(lambda order: order.metadata.uid),
    )
    follow_policy(metrics.readings, view, lambda: datetime(2026, 1, 31, 12, tzinfo=UTC))
    return registry


def test_mode_and_pause_are_as_the_policy_has_them() -> None:
    spec = RemediationPolicySpec(mode=Mode.ACT, pause=PAUSE)
    registry = scraped(RemediationPolicy(metadata=ObjectMeta(name="cluster", uid="2"), spec=spec))

    assert registry.get_sample_value("nodemend_paused") == 1
    assert registry.get_sample_value("nodemend_mode", {"mode": "Act"}) == 1
    assert registry.get_sample_value("nodemend_mode", {"mode": "DryRun"}) == 0
    for name in ("", "workers"):
        assert registry.get_sample_value("nodemend_paused_without_end", {"check": name}) == 1


def test_without_a_policy_the_mode_is_dry_run() -> None:
    registry = scraped()

    assert registry.get_sample_value("nodemend_paused") == 0
    assert registry.get_sample_value("nodemend_mode", {"mode": "DryRun"}) == 1
    assert registry.get_sample_value("nodemend_paused_without_end", {"check": ""}) is None
    assert registry.get_sample_value("nodemend_paused_without_end", {"check": "workers"}) == 1
