"""What a node concludes from what its peers said, where it cannot reach the API itself. A complete table."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Answer(StrEnum):
    """What one peer said of us."""

    HEALTHY = "healthy"
    """It has read our Lease since we asked, and there is no marker for this boot."""
    CONDEMNED = "condemned"
    """It has, and there is one."""
    API_OUT_OF_REACH = "api-out-of-reach"
    """It has not had an acknowledged contact itself for K."""
    SILENT = "silent"
    """Nothing in time, nothing that can be believed, or "I could not tell"."""


class Verdict(StrEnum):
    HEALTHY = "healthy"
    """The feed lease is renewed, from when the question was sent."""
    CONDEMNED = "condemned"
    """The feed lease ends now, for this boot for ever."""
    OUTAGE = "control-plane-outage"
    """Renewed, too: the manager cannot release by time while so many are out of its reach."""
    ASK_THE_REST = "ask-the-rest"
    UNDETERMINED = "undetermined"
    """Nothing is renewed: the feed lease runs out by itself unless something better is heard."""
    UNDECIDABLE = "undecidable"
    """There is nobody to ask. Without peers a node does not fence itself, and promises nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """What was said in the rounds so far. Those of the published list that are not counted were silent."""

    peers: int
    """The whole published list, asked or not."""
    healthy: int = 0
    condemned: int = 0
    out_of_reach: int = 0
    all_asked: bool = False
    healthy_wanted: int = 1
    """More than one guards against a peer that lies."""

    def __post_init__(self) -> None:
        said = self.healthy + self.condemned + self.out_of_reach
        if min(self.peers, self.healthy, self.condemned, self.out_of_reach) < 0 or said > self.peers:
            raise ValueError(f"more answers than peers: {self}")

    @property
    def majority(self) -> int:
        """More than half of the whole list. An outage and a marker cannot both have so many."""
        return self.peers // 2 + 1

    @property
    def condemned_wanted(self) -> int:
        """A majority, so that a minority of liars never resets a node; never fewer than may lie.

        Release safety does not rest on it: a marked node that is not told so ends with its feed lease.
        """
        return max(self.majority, self.healthy_wanted)


TABLE: Final[tuple[tuple[str, Callable[[Poll], bool], Verdict], ...]] = (
    ("there are no peers", lambda poll: poll.peers == 0, Verdict.UNDECIDABLE),
    (
        "enough have looked and seen no marker",
        lambda poll: poll.healthy >= min(poll.healthy_wanted, poll.peers),
        Verdict.HEALTHY,
    ),
    (
        "more than half of the whole list cannot reach the API either",
        lambda poll: poll.out_of_reach >= poll.majority,
        Verdict.OUTAGE,
    ),
    (
        "more than half of the whole list have seen the marker",
        lambda poll: poll.condemned >= poll.condemned_wanted,
        Verdict.CONDEMNED,
    ),
    ("not all were asked yet", lambda poll: not poll.all_asked, Verdict.ASK_THE_REST),
    ("all were asked", lambda poll: poll.all_asked, Verdict.UNDETERMINED),
)
"""The first row that holds decides. The last two are one another's opposite, so some row always does."""


def conclude(poll: Poll) -> Verdict:
    return next(verdict for _, holds, verdict in TABLE if holds(poll))
