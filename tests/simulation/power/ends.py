"""Directed seeds: the end of a power cycle leaves nothing behind, and the host is on again."""

from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, NODE, POD, VOLUME_ATTACHMENT
from simulation.metal3.rack import BY_DELETION
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.power.directed import BEGUN_WITHIN, SICK, Directed, WriteKind
from tests.simulation.walking_path.invariants import is_ours

BACK_WITHIN: Final = 400.0
"""Seconds from the loss of a node until its host is on again, though its remediation ended early."""
HEALED_WITHIN: Final = 600.0
TWO_SWEEPS: Final = 130.0
"""Seconds."""
THEIR_TAINT: Final = {"key": well_known.OUT_OF_SERVICE, "value": "theirs", "effect": "NoSchedule"}


class Ends(Directed):
    """A power cycle ends too early, or its remediation is deleted by force, at some moment.

    Its requester's time limit is over, or an impatient person removes the finalizer. Nodes that hang need
    a further power cycle.
    """

    family: ClassVar[str] = "Ends"

    def play(self) -> None:
        self.begin()
        if self.chance.random() < 0.5:
            self._was_off_before()
        self.tell("it hangs")
        self.sick.hung = True
        end = self.chance.choice((self._call_off, self._call_off, self._force_away))
        moment = self.chance.choice((WriteKind.PREPARED, WriteKind.HELD, WriteKind.HELD, WriteKind.SEEN_OFF))
        self.once(moment, end, after=self.chance.uniform(0.0, 3.0))
        self.run(BEGUN_WITHIN)
        self._stays_on()
        self.settles()

    def _was_off_before(self) -> None:
        """Let another client power the host off and on, which leaves events."""
        self.tell("it was off before")
        another = f"{well_known.HOLD_PREFIX}somebody-else"
        self.annotate(SICK, another, "")
        self.run_until(lambda: not self.sick.powered, 60.0)
        self.annotate(SICK, another, None)
        self.run_until(lambda: self.sick.kubelet_works, 120.0)
        self.run(10.0)

    def _call_off(self) -> None:
        self.tell("called off")
        at, now = (well_known.SYSTEM_NAMESPACE, ""), self.world.scheduler.wall().isoformat()
        change = {"metadata": {"annotations": {well_known.TIMED_OUT: now}}}
        self.api.patch(METAL3_REMEDIATION, SICK, change, at=at)
        self.heal(self.sick)

    def _force_away(self) -> None:
        self.force_away()
        if self.chance.random() < 0.5:
            self.heal(self.sick)

    def _stays_on(self) -> None:
        """Check I7: power returns, though a cancelled remediation still exists."""
        self.run(BACK_WITHIN - BEGUN_WITHIN)
        if self.counts["called off"]:
            self.invariants.hosts_are_back()
            self.api.delete(METAL3_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)


class Waits(Directed):
    """A remediation is deleted by force while it waits for a paused host, and its node has just recovered.

    It has the lock on the node, and no other remediation follows that could take the lock over.
    """

    family: ClassVar[str] = "Waits"

    def play(self) -> None:
        self.begin()
        self.annotate(SICK, well_known.HOST_PAUSED, "")
        self.lose(self.sick)
        self.run_until(lambda: self.remediation() is not None, BEGUN_WITHIN)
        self.run(self.chance.uniform(5.0, 40.0))
        self.heal(self.sick)
        self.run(self.chance.uniform(3.0, 6.0))
        self.force_away()
        self.annotate(SICK, well_known.HOST_PAUSED, None)
        self.settles()


class PodsLeave(Directed):
    """The workloads of a released node leave slowly: Kubernetes' controllers are away for a while.

    Its volumes leave before its pods, and another client taints the node for its own reasons. In some seeds
    the API server's caches are from before there were pods.
    """

    family: ClassVar[str] = "PodsLeave"

    def play(self) -> None:
        if self.chance.random() < 0.4:
            self.tell("caches are behind")
            self._lag(self.world.server.revision)
        self.begin()
        self.sick.hung = True
        self.once(WriteKind.RELEASED, self._released, after=0.01)
        self.run_until(lambda: self.sick.boots > 1 and self.sick.kubelet_works, HEALED_WITHIN)
        self.run(60.0)
        node = self.api.get(NODE, SICK) or {}
        if self.counts["tainted by another"] and THEIR_TAINT not in node["spec"]["taints"]:
            raise InvariantBrokenError(f"I8: another client's out-of-service taint is gone from {SICK}")
        self.invariants.hosts_are_back()
        self._lag(None)
        self._untaint(THEIR_TAINT)
        self.settles()

    def _released(self) -> None:
        engine = self.world.engine
        engine.away = True
        self.tell("tainted by another")
        node = self.api.get(NODE, SICK) or {}
        taints = [*node["spec"]["taints"], THEIR_TAINT]
        self.api.patch(NODE, SICK, {"spec": {"taints": taints}})
        for volume in self.api.list(VOLUME_ATTACHMENT):
            if volume["spec"]["nodeName"] == SICK:
                self.api.delete(VOLUME_ATTACHMENT, volume["metadata"]["name"])
        self.world.scheduler.after(self.chance.uniform(5.0, 40.0), lambda: setattr(engine, "away", False))

    def _lag(self, revision: int | None) -> None:
        for resource in (POD, VOLUME_ATTACHMENT):
            self.world.server.lag(resource, revision)

    def _untaint(self, taint: dict[str, str]) -> None:
        node = self.api.get(NODE, SICK) or {}
        kept = [one for one in node["spec"]["taints"] if one != taint]
        self.api.patch(NODE, SICK, {"spec": {"taints": kept}})


class ForcedUnderTaint(PodsLeave):
    """A remediation is deleted by force while its taint is on the node, whose volumes never leave.

    Its power-off request stays until a person has removed the taint: pods may still be removed by force.
    """

    family: ClassVar[str] = "ForcedUnderTaint"

    def play(self) -> None:
        self.begin()
        self.sick.hung = True
        self.world.engine.stuck.add(SICK)
        self.once(WriteKind.RELEASED, self.force_away, after=self.chance.uniform(0.5, 20.0))
        self.run(BEGUN_WITHIN + TWO_SWEEPS)
        self.world.engine.stuck.clear()
        node = self.api.get(NODE, SICK) or {}
        for taint in filter(is_ours, node["spec"]["taints"]):
            self._untaint(taint)
        self.settles()


class DeletedNode(Directed):
    """A node is released by deleting it, and its remediation is deleted before its pods have left.

    Then Kubernetes' controllers fall behind, so they go on removing the pods of a Node that is back by then.
    """

    family: ClassVar[str] = "DeletedNode"
    deletes: ClassVar[bool] = True
    spec = BY_DELETION

    def play(self) -> None:
        self.begin()
        self.sick.hung = True
        self.once(WriteKind.RELEASED, self._released, after=self.chance.uniform(0.1, 3.0))
        self.run(BEGUN_WITHIN + TWO_SWEEPS)
        self.world.engine.fall_behind(0.0)
        self.settles()

    def _released(self) -> None:
        self.tell("withdrawn")
        self.api.delete(METAL3_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
        after = self.chance.uniform(5.0, 20.0)
        self.world.scheduler.after(after, lambda: self.world.engine.fall_behind(90.0))
