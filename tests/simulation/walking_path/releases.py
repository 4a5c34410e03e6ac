"""Directed seeds: what happens to a node between its release and its next boot."""

from dataclasses import replace
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, VOLUME_ATTACHMENT
from nodemend.kube.request import Method, Request
from simulation.cluster.machines import system_uuid
from simulation.network import GOOD_LINK
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.hostile.attribution import NODES, taints_of
from tests.simulation.walking_path.directed import SICK, Directed
from tests.simulation.walking_path.wrong_confirmations import WrongConfirmation

SEEN_WITHIN: Final = 25.0
"""Seconds within which Nodemend has reacted to a node: it looks every 10."""
IN_FLIGHT: Final = (10.0, 45.0)
"""Seconds for which a write is on its way. Its sender gives up after 5."""


class SpeaksAgain(Directed):
    """A released node's kubelet reports while pods are left, because Kubernetes' controllers are away.

    The confirmed boot reports, as the machine was only suspended; or the disks were moved to another machine,
    which reports a new boot. That proves nothing about the old machine. In some seeds it reports before the
    release.
    """

    family: ClassVar[str] = "SpeaksAgain"
    healthy_delay: ClassVar[str] = "2m"

    def play(self) -> None:
        chance, sick = self.chance, self.sick
        self.run(chance.uniform(25.0, 40.0))
        self.lose_power()
        self.begins()
        self.world.engine.away = True
        same_boot, early = chance.random() < 0.4, chance.random() < 0.5
        if early and not same_boot:
            self.on_evidence(self.blind)
        self.confirm(self.statement())
        if early and not same_boot:
            self.has_evidence()
        else:
            self.until(lambda: self.tainted, 30.0, f"I13: {SICK} is not released")
        self.run(chance.uniform(0.0, 5.0))
        if same_boot:
            self.tell("the confirmed boot speaks")
            sick.powered = True
        else:
            self.tell("another machine speaks")
            sick.system_uuid = system_uuid("another machine")
            sick.power_on()
        self.until(self._is_ready, 60.0, f"I14: {SICK} does not speak")
        self.see_again()
        self.run(SEEN_WITHIN)
        if self.tainted:
            raise InvariantBrokenError(f"I8: our taint stays on {SICK}, whose kubelet has run for long")
        if self.status.get("released") and early and not same_boot:
            raise InvariantBrokenError(f"I2: {SICK} is released because another machine has booted")
        self.world.engine.away = False
        if not same_boot:
            # Its message advises that, as only the operator knows about the old machine.
            self.tell("the remediation is deleted")
            self.world.admin_api.delete(MANUAL_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
        self.settles()

    def _is_ready(self) -> bool:
        conditions = self.node["status"]["conditions"]
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


class RenewsInFlight(WrongConfirmation):
    """The operator confirms a node that is cut off. A renewal arrives while the release is on its way."""

    family: ClassVar[str] = "RenewsInFlight"

    def errs(self) -> None:
        chance, scheduler = self.chance, self.world.scheduler
        self.cut_off()
        self.begins()
        link = self.leader("remediator").link
        sent: list[float] = []

        def sending(request: Request) -> None:
            if request.method is Method.PATCH and request.path.startswith(NODES) and not sent:
                sent.append(scheduler.now)
                self.tell("a release is on its way for long")
                link.quality = replace(GOOD_LINK, late=1.0)
                scheduler.after(0.0, lambda: setattr(link, "quality", GOOD_LINK))
                scheduler.after(0.1, self.sick.renew)

        link.late_by = lambda: chance.uniform(*IN_FLIGHT)  # type: ignore[method-assign]
        link.crash_plan = sending
        self.confirm(self.statement())


class VolumesLeaveFirst(Directed):
    """The volumes of a released node are detached, while its pods are still there.

    Kubernetes' controllers are away for that time, and a user detaches the volumes by hand.
    """

    family: ClassVar[str] = "VolumesLeaveFirst"

    def play(self) -> None:
        chance, engine, api = self.chance, self.world.engine, self.world.admin_api
        self.run(chance.uniform(25.0, 40.0))
        self.lose_power()
        self.begins()
        engine.away = True
        self.tell("volumes are detached")
        for attachment in api.list(VOLUME_ATTACHMENT):
            if attachment["spec"]["nodeName"] == SICK:
                api.delete(VOLUME_ATTACHMENT, attachment["metadata"]["name"])
        self.confirm(self.statement())
        self.run(chance.uniform(5.0, 30.0))
        engine.away = False
        self.released_in_time()


class TaintBeside(Directed):
    """Another client has an out-of-service taint with another effect on the node."""

    family: ClassVar[str] = "TaintBeside"

    def play(self) -> None:
        chance = self.chance
        theirs = {"key": well_known.OUT_OF_SERVICE, "value": "theirs", "effect": "NoSchedule"}
        self.run(chance.uniform(25.0, 40.0))
        self.lose_power()
        self.run(chance.uniform(0.0, 100.0))
        self.tell("another client's taint")
        taints = [*taints_of(self.node), theirs]
        self.world.admin_api.patch(NODE, SICK, {"spec": {"taints": taints}})
        self.begins()
        self.confirm(self.statement())
        self.released_in_time()
        self.run(SEEN_WITHIN)
        if theirs not in taints_of(self.node):
            raise InvariantBrokenError(f"I8: another client's taint is gone from {SICK}")
