"""Directed seeds: a write arrives when its sender has given it up, or when another leader has followed."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, NODE, REMEDIATION_POLICY
from nodemend.kube.request import Method, Request
from simulation.cluster.replicas import Replica
from simulation.metal3.rack import NAMESPACE
from simulation.network import GOOD_LINK, LinkQuality
from tests.simulation.power.directed import BEGUN_WITHIN, SICK, Directed, WriteKind
from tests.simulation.walking_path.invariants import LATEST_ARRIVAL, is_ours

LATE: Final = LinkQuality(late=1.0)


class LateWrite(Directed):
    """One write is on its way for up to a minute, and its reason has gone when it arrives."""

    latest_arrival: ClassVar[float] = LATEST_ARRIVAL

    def delays(self, is_late: Callable[[Request], bool], then: Callable[[], None]) -> None:
        """Delay the first such write of a remediator; act a few seconds after it is sent."""
        sent: list[Request] = []

        def plan(replica: Replica, request: Request) -> None:
            late = not sent and is_late(request)
            replica.link.quality = LATE if late else GOOD_LINK
            if late:
                sent.append(request)
                self.tell("a write is late")
                self.world.scheduler.after(self.chance.uniform(0.1, 4.0), then)

        for replica in self.remediators:
            replica.link.crash_plan = partial(plan, replica)


class LatePowerOff(LateWrite):
    """A power-off request is on its way while its node recovers and its remediation is deleted."""

    family: ClassVar[str] = "LatePowerOff"

    def play(self) -> None:
        self.begin()
        self.lose(self.sick)
        self.delays(_powers_off, self._withdraw)
        self.run(BEGUN_WITHIN)
        self.heal(self.sick)
        self.settles()

    def _withdraw(self) -> None:
        self.tell("withdrawn")
        self.heal(self.sick)
        self.api.delete(METAL3_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)


class LateRelease(LateWrite):
    """A release is on its way while its evidence is contradicted: its host is paused or detached."""

    family: ClassVar[str] = "LateRelease"

    def play(self) -> None:
        self.begin()
        self.lose(self.sick)
        unmanaged = self.chance.choice((well_known.HOST_PAUSED, well_known.HOST_DETACHED))
        self.delays(_taints, lambda: self.annotate(SICK, unmanaged, ""))
        self.run(BEGUN_WITHIN + LATEST_ARRIVAL)
        self.annotate(SICK, unmanaged, None)
        self.heal(self.sick)
        self.settles()


class Forbidden(Directed):
    """The policy forbids all steps between a power-off request and its release.

    In some seeds that is the moment between evidence and release, at which the leader dies. In some the API
    server's cache still has the policy as it was.
    """

    family: ClassVar[str] = "Forbidden"

    def play(self) -> None:
        self.begin()
        self.lose(self.sick)
        if self.chance.random() < 0.4:
            self.tell("a cache is behind")
            self.world.server.lag(REMEDIATION_POLICY, self.world.server.revision)
        if self.chance.random() < 0.5:
            self.once(WriteKind.EVIDENCE, self._between, after=0.0005)
        else:
            self.once(WriteKind.HELD, self.forbid, after=self.chance.uniform(0.0, 5.0))
        self.run(BEGUN_WITHIN + self.chance.uniform(20.0, 60.0))
        self.allow()
        self.world.server.lag(REMEDIATION_POLICY, None)
        self.heal(self.sick)
        self.settles()

    def _between(self) -> None:
        self.forbid()
        self.tell("the leader dies")
        self.leader("remediator").process.crash()


class Reboots(Directed):
    """A node reboots while its remediation waits, and its kubelet reports that once, and is not ready."""

    family: ClassVar[str] = "Reboots"

    def play(self) -> None:
        self.begin()
        self.forbid()
        self.lose(self.sick)
        self.run(self.chance.uniform(60.0, 90.0))
        self.ask(SICK)
        self.run(self.chance.uniform(3.0, 10.0))
        self.tell("it reboots")
        self.sick.connected = False
        self.sick.power_off()
        self.sick.power_on()
        self.run(20.0)
        self._reports()
        self.run(self.chance.uniform(20.0, 40.0))
        self.allow()
        self.run(BEGUN_WITHIN)
        self.api.delete(METAL3_REMEDIATION, SICK, NAMESPACE)
        self.heal(self.sick)
        self.settles()

    def _reports(self) -> None:
        node = self.api.get(NODE, SICK) or {}
        status = node["status"]
        said = [{**one, "status": "False"} if one["type"] == "Ready" else one for one in status["conditions"]]
        change = {"conditions": said, "nodeInfo": {"bootID": self.sick.boot_id}}
        self.api.patch(NODE, SICK, {"status": change}, at=("", "status"))


def _powers_off(request: Request) -> bool:
    if "/baremetalhosts/" not in request.path:
        return False
    changed = msgspec.json.decode(request.body)["metadata"].get("annotations") or {}
    prefix = well_known.POWER_OFF_REQUEST_PREFIX
    return any(key.startswith(prefix) and value is not None for key, value in changed.items())


def _taints(request: Request) -> bool:
    if request.method is not Method.PATCH or not request.path.startswith("/api/v1/nodes/"):
        return False
    taints = (msgspec.json.decode(request.body).get("spec") or {}).get("taints") or ()
    return any(map(is_ours, taints))
