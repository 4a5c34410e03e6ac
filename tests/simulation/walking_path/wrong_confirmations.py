"""Directed seeds: an operator confirms a node that runs, or whose confirmed boot is not the latest."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE
from nodemend.kube.request import Method
from simulation.cluster.direct import Object
from tests.simulation.walking_path.directed import SICK, Directed

WATCHED_FOR: Final = 90.0
"""Seconds after a confirmation that must have no effect: the kubelet is silent again after 40."""


REFUSED_SHARE: Final = 0.5
"""Share of seeds in which the status cannot be written for a while after the report."""


class WrongConfirmation(Directed):
    """Base of these families: in the end the operator switches the node off and confirms it once more."""

    healthy_delay: ClassVar[str] = "5m"
    """The node seems healthy in between, and its remediation must outlast that."""

    def play(self) -> None:
        self.run(self.chance.uniform(25.0, 40.0))
        self.errs()
        self.run(WATCHED_FOR)
        self.confirm(None)
        self.lose_power()
        self.run(0.5)
        self.begins()
        self.confirm(self.statement())
        self.released_in_time()

    def errs(self) -> None:
        raise NotImplementedError

    @property
    def renewed(self) -> str:
        lease = self.world.admin_api.get(LEASE, SICK, well_known.KUBELET_LEASE_NAMESPACE) or {"spec": {}}
        return str(lease["spec"].get("renewTime", ""))


class ConfirmedTooLate(WrongConfirmation):
    """The policy holds a release for a while, and the kubelet of the confirmed node reports meanwhile.

    The same boot renews its Lease once more; or a new boot reports itself, and no renewal follows. Then the
    node is cut off, and the release is no longer held.
    """

    family: ClassVar[str] = "ConfirmedTooLate"

    def errs(self) -> None:
        same_boot = self.chance.random() < 0.5
        if same_boot:
            self.cut_off()
        else:
            self.lose_power()
        self.begins()
        self.pause()
        self.run(0.5)
        self.confirm(self.statement())
        self._speak(same_boot=same_boot)
        self.run(self.chance.uniform(0.0, 45.0))
        self.allow()

    def _speak(self, *, same_boot: bool) -> None:
        self.tell("the same boot speaks" if same_boot else "a new boot speaks")
        before, sick = self.renewed, self.sick
        sick.connected = True
        sick.power_on()
        by = self.world.scheduler.now + 60.0
        while self.world.scheduler.now < by:
            self.run(0.05)
            if (self.renewed != before) if same_boot else self._reported() == sick.boot_id:
                break
        self.cut_off()

    def _reported(self) -> str:
        node: Object = self.node
        return str(node["status"]["nodeInfo"]["bootID"])


class ReportsWithoutRenewing(WrongConfirmation):
    """The operator confirms a node that is cut off. Then a report of its kubelet arrives, but no renewal.

    It arrives when the evidence is recorded. In some seeds the evidence cannot be forgotten until the Node is
    unknown again, since writes of statuses are refused.
    """

    family: ClassVar[str] = "ReportsWithoutRenewing"

    def errs(self) -> None:
        self.cut_off()
        self.begins()
        self.on_evidence(self._report)
        self.confirm(self.statement())

    def _report(self) -> None:
        self.reports_ready()
        if self.chance.random() < REFUSED_SHARE:
            self.tell("statuses cannot be written")
            forbidden = self.world.remediator.forbidden
            forbidden.add((Method.PATCH, "status"))
            self.world.scheduler.after(self.chance.uniform(20.0, 60.0), forbidden.clear)
