"""Each reconcile is counted by its end, and those that failed are told."""

import io
import json
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.kube.reconcile_loop import Done, LoopObserver, Retry
from nodemend.telemetry.log_format import LogForm, LogLevel, LogStream, open_log
from nodemend.telemetry.loop_telemetry import LoopTelemetry
from nodemend.telemetry.metrics import Metrics


class Told:
    """A telemetry, and what it said and counted."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.registry = CollectorRegistry()
        metrics = Metrics(self.registry, program="p", version="1", monotonic=lambda: 0.0)
        log = open_log(
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
    told = Told()
    told.observer.took(("default", "edge-07"), 0.1)
    told.observer.finished(("default", "edge-07"), Done(), 0.25)

    assert told.count("Done") == 1
    labels = {"controller": "manual_remediation"}
    assert told.registry.get_sample_value("nodemend_reconcile_duration_seconds_sum", labels) == 0.25
    assert told.lines == []


def test_a_retry_says_why() -> None:
    told = Told()
    told.observer.finished(("default", "edge-07"), Retry("no answer by the deadline"), 5.0)

    assert told.count("Retry") == 1
    [line] = told.lines
    assert (line["level"], line["why"]) == ("warning", "no answer by the deadline")


def test_a_crash_says_what_and_where() -> None:
    told = Told()
    try:
        dict[str, str]()["boot"]
    except KeyError as error:
        told.observer.crashed(("default", "edge-07"), error, 0.1)

    assert told.count("Crashed") == 1
    [line] = told.lines
    assert (line["level"], line["error"]) == ("error", "KeyError: 'boot'")
    assert "test_loop_telemetry.py:" in line["frames"]


def test_a_full_queue_is_told() -> None:
    told = Told()
    told.observer.overflowed()

    assert told.lines[0]["level"] == "warning"
