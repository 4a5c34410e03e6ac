"""A recorder of power cycles, and what it reported."""

import io
import json
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from nodemend.kube.events import EventRecord
from nodemend.kube.ports import Runtime
from nodemend.remediation.metal3.controller import PowerRecorder
from nodemend.remediation.metal3.events import PowerCycleRecorder
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler


class RecordedEvents:
    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.runtime: Runtime = SimulatedProcess(scheduler, "telling", HostClock())
        self.registry = CollectorRegistry()
        self.metrics = Metrics(self.registry, program="p", version="1", monotonic=self.runtime.monotonic)
        self.events: list[EventRecord] = []
        self._stream = io.StringIO()
        log = Log(
            LogStream(self._stream),
            form=LogForm.JSON,
            level=LogLevel.INFO,
            fixed={},
            wall=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        self.recorder: PowerRecorder = PowerCycleRecorder(log, self.metrics, self.events.append, self.runtime)

    def later(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    def value(self, metric: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"nodemend_{metric}", labels)

    def samples(self, metric: str) -> dict[tuple[str, ...], float]:
        """Every series of a metric: the label values, in the order of the label names."""
        return {
            tuple(sample.labels[key] for key in sorted(sample.labels)): sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == f"nodemend_{metric}"
        }
