"""Tells which workload clusters are seen: a log line for each change."""

from typing import Protocol, assert_never

from nodemend.controllers.machine_health_check.cluster_line import Trouble
from nodemend.controllers.machine_health_check.clusters import ClusterNodes, NotSeen, OutOfReach, Whereabouts
from nodemend.controllers.machine_health_check.workload_cluster import CONNECTING
from nodemend.telemetry.log_format import Log


class ClusterRecorder(Protocol):
    def looked(self, cluster: str, found: Whereabouts, trouble: Trouble) -> None:
        """How a workload cluster is seen from now on; `trouble` is what was last in the way."""
        ...


class WorkloadClusterRecorder:
    def __init__(self, log: Log) -> None:
        self._log = log

    def looked(self, cluster: str, found: Whereabouts, trouble: Trouble) -> None:
        match found:
            case ClusterNodes():
                self._log.info("workload cluster is seen", cluster=cluster, nodes=len(found.nodes))
            case NotSeen(why):
                self._log.warning("workload cluster is not vouched for", cluster=cluster, why=why)
            case OutOfReach(why):
                say = self._log.info if trouble == CONNECTING else self._log.warning
                say("workload cluster is out of reach", cluster=cluster, why=why, detail=trouble.detail)
            case _:
                assert_never(found)
