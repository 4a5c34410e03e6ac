"""Pauses the cluster, tells every remediation to end, and waits until nothing of ours is left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import REMEDIATION_POLICY
from nodemend.api.pause import Pause
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.pause.writing import set_pause
from nodemend.cli.remediations import node_of
from nodemend.cli.stop.writing import NotStopped, stop
from nodemend.cli.wind_down.facts import Known, OpenFacts
from nodemend.cli.wind_down.gather import look_at_everything, look_at_open
from nodemend.cli.wind_down.leftovers import Leftover, find_leftovers, is_leaderless, may_pass
from nodemend.cli.wind_down.progress import lines_of_left, lines_of_open, news
from nodemend.decide.facts import Absent

REASON: Final = "winding down"
LOOK_EVERY: Final = 3.0
LOOK_AT_ALL_EVERY: Final = 10.0
"""All nodes and hosts are read, and there may be thousands."""
LED_WITHIN: Final = 60.0
"""Seconds that another remediator may take to lead in the place of one that fell silent."""
SWEPT_WITHIN: Final = 90.0
"""Seconds in which a remediator takes away what a remediation that is gone has left: it looks each minute."""
_PASSES: Final = frozenset({ExitCode.NO_ANSWER, ExitCode.TIMED_OUT})
_SILENCE: Final = "silence"


@dataclass(slots=True)
class Course:
    """How far it has come: also of use to whoever breaks it off."""

    paused_for: str | None = None
    """Why nothing new begins; empty where there is no policy to pause, None before that is known."""
    told: dict[str, str] = field(default_factory=dict)
    """The nodes of remediations that were told to end, by UID."""
    open: frozenset[str] = frozenset()
    """The UIDs of those that were last seen."""
    refused: dict[str, str] = field(default_factory=dict)
    """Those that could not be told, by UID, and why."""
    switched: dict[str, str] = field(default_factory=dict)
    """The nodes of hosts that they had to do with, by NAMESPACE/NAME of the host."""

    @property
    def ending(self) -> int:
        """How many were told to end and have not, as far as was seen."""
        return len(self.open & (self.told.keys() - self.refused.keys()))

    @property
    def ended(self) -> tuple[str, ...]:
        return tuple(sorted(node for uid, node in self.told.items() if uid not in self.open))


def longest_wait(facts: OpenFacts) -> float:
    """For how many seconds it makes sense to wait while it stands so."""
    if is_leaderless(facts.leader):
        return LED_WITHIN
    return inf if facts.remediations else SWEPT_WITHIN


class Patience:
    """How much longer to wait: until the deadline, or for as long as there is hope."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._wait = inf
        self._since = -inf

    def is_over(self, facts: OpenFacts, now: float) -> bool:
        if longest_wait(facts) != self._wait:
            self._wait, self._since = longest_wait(facts), now
        return now >= min(self.deadline, self._since + self._wait)


class WindDown:
    """One run of the command. `tell` takes lines about what is waited for."""

    def __init__(self, cluster: Cluster, course: Course, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._course = course
        self._tell = tell
        self._told_lines: dict[str, str] = {}

    async def run(self, wait: float) -> tuple[Leftover, ...]:
        """What is left in the end. Raises CommandFailure.

        A cluster that does not answer for a while is asked again: power-offs disturb more than nodes.
        """
        clock = self._cluster.runtime
        patience = Patience(clock.monotonic() + wait)
        self._course.paused_for = await self._pause()
        begun = self._cluster.now
        while True:
            try:
                left = await self._turn(begun, patience)
            except CommandFailure as failure:
                if failure.code not in _PASSES or clock.monotonic() >= patience.deadline:
                    raise
                self._tell_news({_SILENCE: failure.message})
            else:
                if left is not None:
                    return left
            await clock.sleep(LOOK_EVERY if self._course.open else LOOK_AT_ALL_EVERY)

    async def _pause(self) -> str:
        """Why nothing new begins: a pause that stood before keeps its reason. Empty where nothing can."""
        found = await self._cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
        if isinstance(found, Absent):
            return ""
        pause = Pause(reason=REASON, by=await self._cluster.caller())
        change = await set_pause(self._cluster, pause, keep=True, dry_run=False)
        kept = change.before is not None and change.before.until is None
        return change.before.reason if kept and change.before else REASON

    async def _turn(self, begun: datetime, patience: Patience) -> tuple[Leftover, ...] | None:
        """What is left, once it is no use to wait any longer."""
        facts = await look_at_open(self._cluster)
        await self._end(facts)
        self._tell_news(lines_of_open(facts, self._cluster.system_namespace))
        over = patience.is_over(facts, self._cluster.runtime.monotonic())
        if facts.remediations and not over:
            return None
        known = Known(begun, self._course.refused, self._course.switched)
        everything = await look_at_everything(self._cluster, known)
        self._course.open = _uids(everything.open)
        left = find_leftovers(everything)
        if over or not any(map(may_pass, left)):
            return left
        self._tell_news(lines_of_left(left, self._cluster.system_namespace))
        return None

    async def _end(self, facts: OpenFacts) -> None:
        """Tell all of them, also those that somebody asked for since the last look."""
        course = self._course
        for uid in sorted(course.open - _uids(facts)):
            self._tell(f"{course.told.get(uid, uid)}: ended")
        course.open = _uids(facts)
        for found in facts.remediations:
            uid = found.metadata.uid
            course.told[uid] = node_of(found)
            if isinstance(found, Metal3Remediation) and found.status.host is not None:
                course.switched[str(found.status.host)] = node_of(found)
            outcome = await stop(self._cluster, found, dry_run=False)
            if isinstance(outcome, NotStopped):
                course.refused[uid] = outcome.why
            else:
                course.refused.pop(uid, None)

    def _tell_news(self, lines: dict[str, str]) -> None:
        for line in news(self._told_lines, lines):
            self._tell(line)
        self._told_lines |= lines


def _uids(facts: OpenFacts) -> frozenset[str]:
    return frozenset(found.metadata.uid for found in facts.remediations)
