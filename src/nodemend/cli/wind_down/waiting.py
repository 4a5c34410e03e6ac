"""Pauses the cluster, deletes every remediation, and waits until nothing of Nodemend is left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from typing import Final

from nodemend.api.meta import Pause
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.cli.cluster import Cluster
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.listing import node_of
from nodemend.cli.pause import set_pause
from nodemend.cli.stop import NotStopped, stop
from nodemend.cli.wind_down.leftovers import (
    Known,
    Leftover,
    OpenFacts,
    find_leftovers,
    may_pass,
    read_everything,
    read_open,
)
from nodemend.cli.wind_down.view import lines_of_left, lines_of_open, news
from nodemend.safety.facts import Absent

REASON: Final = "winding down"
POLL_INTERVAL: Final = 3.0
FULL_READ_INTERVAL: Final = 10.0
"""Seconds. Each of these reads lists all nodes and hosts, possibly thousands."""
LED_WITHIN: Final = 60.0
"""Seconds within which another remediator becomes leader after the previous one stopped renewing."""
SWEPT_WITHIN: Final = 90.0
"""Seconds within which a remediator removes the leftovers of deleted remediations; it sweeps every minute."""
_SILENCE: Final = "silence"


@dataclass(slots=True)
class WindDownProgress:
    """Progress of a run, also for the note of an interrupted run."""

    paused_for: str | None = None
    """Reason of the pause; empty if there is no policy to pause, None until it is known."""
    reported: dict[str, str] = field(default_factory=dict)
    """Nodes of all remediations that this run has deleted or tried to delete, by UID."""
    open: frozenset[str] = frozenset()
    """UIDs of the remediations in the last read."""
    refused: dict[str, str] = field(default_factory=dict)
    """Remediations that could not be deleted: the reason by UID."""
    switched: dict[str, str] = field(default_factory=dict)
    """Nodes of the remediations' hosts, by NAMESPACE/NAME of the host."""

    @property
    def ending(self) -> int:
        """Number of deleted remediations that have not ended, by the last read."""
        return len(self.open & (self.reported.keys() - self.refused.keys()))

    @property
    def ended(self) -> tuple[str, ...]:
        return tuple(sorted(node for uid, node in self.reported.items() if uid not in self.open))


def longest_wait(facts: OpenFacts) -> float:
    """Return the seconds for which waiting is useful while this state lasts."""
    if facts.leader.absent:
        return LED_WITHIN
    return inf if facts.remediations else SWEPT_WITHIN


class WaitLimit:
    """Decides when to stop waiting: at the deadline, or earlier if waiting is no longer useful."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self._wait = inf
        self._since = -inf

    def is_over(self, facts: OpenFacts, now: float) -> bool:
        if longest_wait(facts) != self._wait:
            self._wait, self._since = longest_wait(facts), now
        return now >= min(self.deadline, self._since + self._wait)


class WindDown:
    """One run of the command. The callback receives progress lines."""

    def __init__(self, cluster: Cluster, course: WindDownProgress, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._course = course
        self._tell = tell
        self._reported_lines: dict[str, str] = {}

    async def run(self, wait: float) -> tuple[Leftover, ...]:
        """Return the leftovers at the end. Raises CommandFailure.

        A cluster that stops answering is retried for some time: power-offs can disturb more than nodes.
        """
        clock = self._cluster.runtime
        patience = WaitLimit(clock.monotonic() + wait)
        self._course.paused_for = await self._pause()
        begun = self._cluster.now
        while True:
            try:
                left = await self._turn(begun, patience)
            except CommandFailure as failure:
                if not failure.may_pass or clock.monotonic() >= patience.deadline:
                    raise
                self._tell_news({_SILENCE: failure.message})
            else:
                if left is not None:
                    return left
            await clock.sleep(POLL_INTERVAL if self._course.open else FULL_READ_INTERVAL)

    async def _pause(self) -> str:
        """Pause the cluster and return the reason, with that of an existing pause.

        Empty if there is no policy.
        """
        if isinstance(await self._cluster.policy(), Absent):
            return ""
        pause = Pause(reason=REASON, by=await self._cluster.caller())
        change = await set_pause(self._cluster, pause, keep=True, dry_run=False)
        return (change.after or pause).reason

    async def _turn(self, begun: datetime, patience: WaitLimit) -> tuple[Leftover, ...] | None:
        """Return the leftovers once waiting is no longer useful; otherwise None."""
        facts = await read_open(self._cluster)
        await self._end(facts)
        self._tell_news(lines_of_open(facts, self._cluster.system_namespace))
        over = patience.is_over(facts, self._cluster.runtime.monotonic())
        if facts.remediations and not over:
            return None
        known = Known(begun, self._course.refused, self._course.switched)
        everything = await read_everything(self._cluster, known)
        self._course.open = _uids(everything.open)
        left = find_leftovers(everything)
        if over or not any(map(may_pass, left)):
            return left
        self._tell_news(lines_of_left(left, self._cluster.system_namespace))
        return None

    async def _end(self, facts: OpenFacts) -> None:
        """Delete all remediations, including those created since the last read."""
        course = self._course
        for uid in sorted(course.open - _uids(facts)):
            self._tell(f"{course.reported.get(uid, uid)}: ended")
        course.open = _uids(facts)
        for found in facts.remediations:
            uid = found.metadata.uid
            course.reported[uid] = node_of(found)
            if isinstance(found, Metal3Remediation) and found.status.host is not None:
                course.switched[str(found.status.host)] = node_of(found)
            outcome = await stop(self._cluster, found, dry_run=False)
            if isinstance(outcome, NotStopped):
                course.refused[uid] = outcome.why
            else:
                course.refused.pop(uid, None)

    def _tell_news(self, lines: dict[str, str]) -> None:
        for line in news(self._reported_lines, lines):
            self._tell(line)
        self._reported_lines |= lines


def _uids(facts: OpenFacts) -> frozenset[str]:
    return frozenset(facts.by_uid)
