"""What `kubectl mend probe` says."""

from dataclasses import dataclass
from enum import StrEnum

from nodemend.cli.agents import AgentState


class Possible(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One class of evidence on which the node could be released."""

    remedy: int
    """The number of the remedy that leads there; 0 where no check asks for one."""
    kind: str
    """Of the remediation."""
    evidence: str
    """E1 to E5."""
    possible: Possible
    after: str = ""
    """When there would be evidence, for a person."""
    after_seconds: int | None = None
    """The same in seconds from the marker, where that is known."""
    rests_on: str = ""
    because: str = ""
    """Why not, or why that is not known."""
    to_change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    node: str
    agent: AgentState
    renewed_ago: float | None
    why: str = ""
    """Why nothing is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeView:
    node: str
    headline: str
    steps: tuple[str, ...]
    """What would happen, in order."""
    ways: tuple[Way, ...]
    peers: tuple[PeerRow, ...]
    needed_peers: tuple[str, ...]
    """For each list of peers that the node may go by, how many must stay in contact."""
    certificate_left_seconds: float | None
    """Of the one by which its peers know it; None where it tells of none."""
    notes: tuple[str, ...]
    unread: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""

    @property
    def releasable(self) -> bool:
        """Whether a remedy that is asked for could come to evidence, as far as is known."""
        return any(way.possible is Possible.YES for way in self.ways if way.remedy)
