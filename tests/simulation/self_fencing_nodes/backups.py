"""Directed seeds: etcd is restored to a backup with evidence, after the node has long served again."""

from typing import ClassVar, Final

from simulation.api_server.storage import Snapshot
from tests.simulation.self_fencing_nodes.directed import SICK, Directed, Quick
from tests.simulation.self_fencing_nodes.lost_promises import BUMPED

SERVES_AGAIN: Final = 200.0
"""Seconds after evidence within which the node has left its gate."""
WATCHED_FOR: Final = 130.0


class EvidenceFromBackup(Directed):
    """The backup says that a boot of the node is over, and that its gate holds the next one back.

    Both were true when the backup was made. The node serves again, and is unreachable when etcd is restored:
    nothing on its Node or on its Lease shows that it runs. Managers go on, or restart.
    """

    family: ClassVar[str] = "EvidenceFromBackup"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.sick.chance = Quick()
        self.settle()
        by_time = chance.random() < 0.5
        cluster.counts["fault: restored to a proof" if by_time else "fault: restored to a new boot"] += 1
        self.backups: list[Snapshot] = []
        cluster.invariants.on_evidence = lambda _name: self.backups.append(cluster.world.server.snapshot())
        if by_time:
            self.mark()
        else:
            cluster.complain(SICK)
            self.has_revocation()
        self.waits_for(lambda: bool(self.backups))
        cluster.network.cut.clear()
        cluster.content(SICK)
        if not self.waits_for(lambda: self.sick.runs, SERVES_AGAIN):
            return
        cluster.run(chance.uniform(10.0, 40.0))
        self._restore()
        cluster.run(WATCHED_FOR)

    def _restore(self) -> None:
        """Restore etcd while the node serves, its kubelet hangs and its agent is cut off."""
        cluster, chance = self.cluster, self.chance
        cluster.isolate(SICK)
        self.sick.machine.hung = True
        bump = chance.choice((0, BUMPED))
        cluster.tell("etcd is restored")
        cluster.world.server.restore(self.backups[0], bump=bump)
        if not bump or chance.random() < 0.2:
            for replica in cluster.world.replicas:
                replica.process.crash()
