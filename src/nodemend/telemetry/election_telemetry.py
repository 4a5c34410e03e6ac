"""Tells of one election: the observer that kube/leader_loop asks for."""

from nodemend.telemetry.log_format import Log
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
        """The ordinary case, every two seconds: it shows in nodemend_leader."""

    def ended(self, epoch: int, why: str) -> None:
        self._metrics.leader.set(0)
        self._metrics.forget_work()
        self._log.warning("leadership ended", epoch=epoch, why=why)

    def stumbled(self, why: str) -> None:
        self._log.warning("leader Lease could not be read or written, is tried again", why=why)
