"""Directed seeds: etcd is restored from a backup, and what the backup says is true no longer."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.storage import Snapshot
from tests.simulation.walking_path.directed import Directed
from tests.simulation.walking_path.wrong_confirmations import WrongConfirmation

TAKES_OVER: Final = 30.0
"""Seconds within which another replica leads."""
FROZEN_FOR: Final = (20.0, 26.0)
"""Seconds. Meanwhile a leader notices the restore, and claims its Lease again after 15."""
RENEWED_SINCE: Final = (3.0, 10.0)
"""Seconds in which a leader renews its Lease at least once."""


class RestoredConfirmation(WrongConfirmation):
    """A confirmation is in the backup, but the operator has withdrawn it since, as the node runs.

    The policy holds the release until etcd is restored. The programs run on, are all started again, or one of
    them is frozen during the restore and leads later.
    """

    family: ClassVar[str] = "RestoredConfirmation"

    def errs(self) -> None:
        chance = self.chance
        self.cut_off()
        self.begins()
        self.pause()
        self.run(1.0)
        self.confirm(self.statement())
        self.run(chance.uniform(0.5, 10.0))
        backup = self.world.server.snapshot()
        self.confirm(None)
        self.run(chance.uniform(2.0, 30.0))
        chance.choice((self._run_on, self._start_again, self._freeze))(backup)
        self.allow()
        self.run(TAKES_OVER)

    def _run_on(self, backup: Snapshot) -> None:
        self.restore(backup, raised=True)

    def _start_again(self, backup: Snapshot) -> None:
        self.restore(backup, raised=self.chance.random() < 0.5)
        self.tell("all programs start again")
        for replica in self.world.replicas:
            replica.process.crash()

    def _freeze(self, backup: Snapshot) -> None:
        leader = self.leader("remediator")
        self.tell("the other remediator freezes")
        for replica in self.of("remediator"):
            if replica is not leader:
                replica.process.pause(self.chance.uniform(*FROZEN_FOR))
        self.run(1.0)
        self.restore(backup, raised=True)
        self.run(TAKES_OVER)
        leader.process.crash()


class RestoredBeforeTheRelease(Directed):
    """etcd is restored from a backup without the evidence, just when a leader has read all for a release."""

    family: ClassVar[str] = "RestoredBeforeTheRelease"

    def play(self) -> None:
        chance = self.chance
        self.run(chance.uniform(25.0, 40.0))
        self.lose_power()
        self.begins()
        self.run(chance.uniform(1.0, 10.0))
        backup, raised = self.world.server.snapshot(), chance.random() < 0.5
        self.run(chance.uniform(*RENEWED_SINCE))
        leader, restored = self.leader("remediator"), list[float]()

        def served(request: Request, _answer: ApiResponse) -> None:
            last = request.path.endswith(f"/{REMEDIATION_POLICY.plural}/{well_known.POLICY_NAME}")
            if last and self.status.get("evidence") and not restored:
                restored.append(self.world.scheduler.now)
                leader.process.pause(chance.uniform(1.5, 3.0))
                self.world.scheduler.after(1.0, lambda: self.restore(backup, raised=raised))

        self.around.endpoints[leader.name].heard.append(served)
        self.confirm(self.statement())
        self.run(TAKES_OVER)
