"""Directed seeds: the end of a power cycle, in time or not, leaves nothing behind and gives power back."""

from collections.abc import Callable
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, METAL3_REMEDIATION, NODE, VOLUME_ATTACHMENT
from simulation.metal3.rack import BY_DELETION
from simulation.network import Fate
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.power.directed import BEGUN_WITHIN, SICK, Directed, Moment

BACK_WITHIN: Final = 400.0
"""Seconds from the end of a remediation until its host is on: power-on may take 120."""
AN_OUT_OF_SERVICE_TAINT: Final = {"key": well_known.OUT_OF_SERVICE, "value": "theirs", "effect": "NoSchedule"}


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
        end = self.chance.choice((self._call_off, self._force_away, self._force_away))
        moment = self.chance.choice((Moment.PREPARED, Moment.HELD, Moment.HELD, Moment.SEEN_OFF))
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
        """Check I7: power returns, though a remediation that was called off is still there."""
        self.run(BACK_WITHIN - BEGUN_WITHIN)
        if self.counts["called off"]:
            self.invariants.hosts_are_back()
            self.api.delete(METAL3_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
