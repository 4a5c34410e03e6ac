"""Reports elections and reconcile loops to log and metrics."""

import traceback
from typing import ClassVar, Final, Protocol

from nodemend.telemetry import metric_labels
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics


class ElectionTelemetry:
    """Never raises."""

    def __init__(self, log: Log, metrics: Metrics) -> None:
        self._log = log
        self._metrics = metrics
        metrics.leader.set(0)

    def began(self, epoch: int) -> None:
        self._metrics.leader.set(1)
        self._metrics.epoch.set(epoch)
        self._log.info("leadership began", epoch=epoch)

    def renewed(self, left: float) -> None:
        """Not logged: the usual case, every two seconds. nodemend_leader shows it."""

    def ended(self, epoch: int, why: str) -> None:
        self._metrics.leader.set(0)
        self._metrics.forget_work()
        self._log.warning("leadership ended", epoch=epoch, why=why)

    def stumbled(self, why: str) -> None:
        self._log.warning("leader Lease could not be read or written, is tried again", why=why)


_MOST_FRAMES: Final = 12


class Outcome(Protocol):
    """The field that every outcome of the reconcile loop has."""

    outcome: ClassVar[str]
    """The value of the metric label."""


class LoopTelemetry:
    """For the loop of one controller. Never raises."""

    def __init__(self, controller: str, log: Log, metrics: Metrics) -> None:
        self._controller = controller
        self._log = log
        self._reconciles = metrics.reconciles
        self._seconds = metrics.reconcile_seconds.labels(controller)

    def took(self, key: object, late: float) -> None:
        """Not recorded: the depth of the queue shows a late loop."""

    def finished(self, key: object, outcome: Outcome, seconds: float) -> None:
        self._reconciles.labels(self._controller, outcome.outcome).inc()
        self._seconds.observe(seconds)
        why = getattr(outcome, "why", None)
        if why is not None:
            self._log.warning(
                "reconcile failed, is tried again", controller=self._controller, key=key, why=why
            )

    def crashed(self, key: object, error: Exception, seconds: float) -> None:
        self._reconciles.labels(self._controller, metric_labels.CRASHED).inc()
        self._seconds.observe(seconds)
        self._log.error(
            "reconcile crashed, a mistake in Nodemend",
            controller=self._controller,
            key=key,
            error=f"{type(error).__name__}: {error}",
            frames=_frames(error),
        )

    def overflowed(self) -> None:
        self._log.warning("queue was full, every key is queued again", controller=self._controller)


def _frames(error: Exception) -> str:
    """The stack at the error, outermost first, as file:line function."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    return " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames)
