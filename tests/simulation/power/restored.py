"""Directed seeds: etcd is restored to a moment between the evidence for a boot and the release of its node."""

from typing import ClassVar, Final

from nodemend.api.resources import POD
from simulation.api_server.storage import Snapshot
from simulation.cluster.engine import WORKLOAD_NAMESPACE
from tests.simulation.power.directed import Directed, Moment

HEALED_WITHIN: Final = 350.0
WORKLOAD: Final = "db-0"
"""It runs on the sick node, before and after its power cycle."""
RAISED: Final = 1_000_000
WATCHED_FOR: Final = 100.0


class Restored(Directed):
    """Meanwhile the node was released, and its next boot runs the same workload. It is cut off now.

    The operator of hosts sleeps, so the restored host is off under Nodemend's request. All that the evidence
    names is there again. Remediators go on, are restarted, or sleep through the restore.
    """

    family: ClassVar[str] = "Restored"

    def play(self) -> None:
        backups: list[Snapshot] = []
        self.begin()
        self.sick.hung = True
        self.once(Moment.EVIDENCE, lambda: backups.append(self.world.server.snapshot()), after=0.0005)
        self.run_until(lambda: self.sick.boots > 1 and self.remediation() is None, HEALED_WITHIN)
        self.run(self.chance.uniform(5.0, 30.0))
        self.api.delete(POD, WORKLOAD, WORKLOAD_NAMESPACE)
        self.run_until(lambda: WORKLOAD in self.sick.running.values(), 60.0)
        self.sick.connected = False
        self.rack.operator.process.pause(WATCHED_FOR + 60.0)
        self._restore(backups[0])
        self.run(WATCHED_FOR)

    def _restore(self, backup: Snapshot) -> None:
        what = self.chance.choice(("go on", "restart", "sleep"))
        self.tell(f"etcd is restored, and remediators {what}")
        asleep = self.chance.uniform(10.0, 50.0)
        for replica in self.world.replicas:
            replica.link.drop_requests()
            if not replica.name.startswith("remediator"):
                continue
            if what == "restart":
                replica.process.crash()
            elif what == "sleep":
                replica.process.pause(asleep)
        raised = self.chance.choice((0, RAISED))
        bump = self.world.server.revision - backup.revision + raised if raised else 0
        self.world.server.restore(backup, bump=bump)
