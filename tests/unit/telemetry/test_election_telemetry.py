"""A gauge shows the leader, and a log line each change."""

import io
import json
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.kube.leader_runner import ElectionObserver
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.observers import ElectionTelemetry


def test_a_leadership_from_its_beginning_to_its_end() -> None:
    registry, stream = CollectorRegistry(), io.StringIO()
    metrics = Metrics(registry, program="p", version="1", monotonic=lambda: 0.0)
    log = Log(
        LogStream(stream),
        form=LogForm.JSON,
        level=LogLevel.INFO,
        fixed={},
        wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    observer: ElectionObserver = ElectionTelemetry(log, metrics)
    seen = [registry.get_sample_value("nodemend_leader")]

    observer.stumbled("connection refused")
    observer.began(77)
    metrics.nodes.labels("workers", "healthy").set(3)
    observer.renewed(8.0)
    seen += [registry.get_sample_value("nodemend_leader"), registry.get_sample_value("nodemend_epoch")]
    observer.ended(77, "the Lease was taken")
    seen.append(registry.get_sample_value("nodemend_leader"))

    assert seen == [0, 1, 77, 0]
    assert registry.get_sample_value("nodemend_nodes", {"check": "workers", "state": "healthy"}) is None
    reported = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["level"], line.get("epoch"), line.get("why")) for line in reported] == [
        ("warning", None, "connection refused"),
        ("info", 77, None),
        ("warning", 77, "the Lease was taken"),
    ]
