"""Each reconcile is counted by its outcome, and failures are logged."""

import io
import json
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.kube.controller import Done, LoopObserver, Retry
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.observers import LoopTelemetry


class RecordedEvents:
    """Loop telemetry, with its log and its counts."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, program="p", version="1", monotonic=lambda: 0.0)
        log = Log(
            LogStream(self.stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        self.observer: LoopObserver[tuple[str, str]] = LoopTelemetry("manual_remediation", log, metrics)

    def count(self, outcome: str) -> float | None:
        labels = {"controller": "manual_remediation", "outcome": outcome}
        return self.registry.get_sample_value("nodemend_reconciles_total", labels)

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def test_an_ordinary_end_is_counted_and_timed_and_not_logged() -> None:
    reported = RecordedEvents()
    reported.observer.took(("default", "edge-07"), 0.1)
    reported.observer.finished(("default", "edge-07"), Done(), 0.25)

    assert reported.count("Done") == 1
    labels = {"controller": "manual_remediation"}
    assert reported.registry.get_sample_value("nodemend_reconcile_duration_seconds_sum", labels) == 0.25
    assert reported.lines == []


def test_a_retry_says_why() -> None:
    reported = RecordedEvents()
    reported.observer.finished(("default", "edge-07"), Retry("no answer by the deadline"), 5.0)

    assert reported.count("Retry") == 1
    [line] = reported.lines
    assert (line["level"], line["why"]) == ("warning", "no answer by the deadline")


def test_a_crash_says_what_and_where() -> None:
    reported = RecordedEvents()
    try:
        dict[str, str]()["boot"]
    except KeyError as error:
        reported.observer.crashed(("default", "edge-07"), error, 0.1)

    assert reported.count("Crashed") == 1
    [line] = reported.lines
    assert (line["level"], line["error"]) == ("error", "KeyError: 'boot'")
    assert "test_loop_telemetry.py:" in line["frames"]


def test_a_full_queue_is_reported() -> None:
    reported = RecordedEvents()
    reported.observer.overflowed()

    assert reported.lines[0]["level"] == "warning"
