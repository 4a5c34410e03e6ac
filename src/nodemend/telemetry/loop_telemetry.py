"""Tells of one reconcile loop: the observer that kube/reconcile_loop asks for."""

import traceback
from typing import Final

from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics

_MOST_FRAMES: Final = 12


class LoopTelemetry:
    """For the loop of one controller. Never raises."""

    def __init__(self, controller: str, log: Log, metrics: Metrics) -> None:
        self._controller = controller
        self._log = log
        self._reconciles = metrics.reconciles
        self._seconds = metrics.reconcile_seconds.labels(controller)

    def took(self, key: object, late: float) -> None:
        """How late a loop is shows in the depth of its queue."""

    def finished(self, key: object, outcome: object, seconds: float) -> None:
        name = type(outcome).__name__
        self._reconciles.labels(self._controller, name).inc()
        self._seconds.observe(seconds)
        why = getattr(outcome, "why", None)
        if why is not None:
            self._log.warning(
                "reconcile failed, is tried again", controller=self._controller, key=key, why=why
            )

    def crashed(self, key: object, error: Exception, seconds: float) -> None:
        self._reconciles.labels(self._controller, "Crashed").inc()
        self._seconds.observe(seconds)
        self._log.error(
            "reconcile crashed, a mistake in Nodemend",
            controller=self._controller,
            key=key,
            error=f"{type(error).__name__}: {error}",
            frames=_frames(error),
        )

    def overflowed(self) -> None:
        self._log.warning("queue was full, everything is asked for again", controller=self._controller)


def _frames(error: Exception) -> str:
    """Where it was raised, outermost first, as file:line function."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    return " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames)
