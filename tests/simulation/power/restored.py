"""Directed seeds: etcd is restored to a moment between the evidence for a boot and its release."""

from typing import ClassVar, Final

from nodemend.api.resources import POD
from nodemend.kube.request import Request
from simulation.api_server.storage import Snapshot
from simulation.cluster.engine import WORKLOAD_NAMESPACE
from simulation.cluster.replicas import Replica
from simulation.network import CrashPoint
from tests.simulation.power.directed import Directed, WriteKind

HEALED_WITHIN: Final = 350.0
WORKLOAD: Final = "db-0"
"""It runs on the unhealthy node, before and after its power cycle."""
RAISED: Final = 1_000_000
WATCHED_FOR: Final = 100.0


class Restored(Directed):
    """Meanwhile the node was released, and its next boot runs the same workload. It is cut off now.

    The operator of hosts sleeps, so the restored host is off under Nodemend's request. Every object that
    the evidence names exists again. Remediators go on, are restarted, or sleep through the restore. Or one
    sleeps, and wakes when the other has claimed the leader's Lease and died.
    """

    family: ClassVar[str] = "Restored"

    def play(self) -> None:
        backups: list[Snapshot] = []
        self.begin()
        self.sick.hung = True
        self.once(WriteKind.EVIDENCE, lambda: backups.append(self.world.server.snapshot()), after=0.0005)
        self.run_until(lambda: self.sick.boots > 1 and self.remediation() is None, HEALED_WITHIN)
        self.run(self.chance.uniform(5.0, 30.0))
        self.api.delete(POD, WORKLOAD, WORKLOAD_NAMESPACE)
        self.run_until(lambda: WORKLOAD in self.sick.running.values(), 60.0)
        self.sick.connected = False
        self.rack.operator.process.pause(WATCHED_FOR + 60.0)
        self._restore(backups[0])
        self.run(WATCHED_FOR)

    def _restore(self, backup: Snapshot) -> None:
        what = self.chance.choice(
            (self._go_on, self._restart, self._sleep, self._one_sleeps, self._one_sleeps)
        )
        self.tell(f"etcd is restored, and remediators {what.__name__.strip('_').replace('_', ' ')}")
        for replica in self.world.replicas:
            replica.link.drop_requests()
        what()
        raised = self.chance.choice((0, RAISED, RAISED))
        bump = self.world.server.revision - backup.revision + raised if raised else 0
        self.world.server.restore(backup, bump=bump)

    def _go_on(self) -> None:
        """Leave the remediators alone."""

    def _restart(self) -> None:
        for replica in self.remediators:
            replica.process.crash()

    def _sleep(self) -> None:
        for replica in self.remediators:
            replica.process.pause(self.chance.uniform(10.0, 50.0))

    def _one_sleeps(self) -> None:
        leader = self.leader("remediator")
        for replica in self.remediators:
            if replica is not leader:
                replica.process.pause(self.chance.uniform(40.0, 50.0))
        leader.on_start = _dies_at_its_claim
        leader.process.crash()


def _dies_at_its_claim(replica: Replica) -> None:
    def plan(request: Request) -> CrashPoint | None:
        return CrashPoint.AFTER_COMMIT if request.path.endswith("/leases/nodemend-remediator") else None

    replica.link.crash_plan = plan
