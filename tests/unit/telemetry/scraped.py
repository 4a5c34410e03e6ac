"""The result of scraping a checker's metrics."""

import io

from prometheus_client import CollectorRegistry

from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from nodemend.telemetry.metrics import Metrics
from simulation.scheduler import Scheduler


class Scraped:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.metrics = Metrics(self._registry, program="p", version="1", monotonic=lambda: 0.0)

    @property
    def log(self) -> Log:
        """A log that is discarded."""
        nowhere = LogStream(io.StringIO())
        return Log(nowhere, form=LogForm.JSON, level=LogLevel.INFO, fixed={}, wall=Scheduler(1).wall)

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(name, labels)

    def series(self, name: str) -> dict[tuple[str, ...], float]:
        """Every series of a gauge, by the values of its labels."""
        return {
            tuple(sample.labels.values()): sample.value
            for metric in self._registry.collect()
            for sample in metric.samples
            if sample.name == name
        }
