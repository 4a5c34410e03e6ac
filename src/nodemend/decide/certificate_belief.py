"""What a peer's certificate is worth: TLS checks everything about it but its times, and they are judged here.

An outage of the API server for all may last longer than certificates do, and nobody gets a new one meanwhile.
So a certificate that was still good when this node last had settled contact lets its owner say one thing:
that it cannot reach the API server either. Release safety bounds that answer by the manager's coverage rule,
not by certificates (docs/decisions/0066). Whatever else a peer says counts only while its certificate lasts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nodemend.decide.peer_verdict import Answer

SETTLED_AFTER: Final = 900.0
"""Seconds of unbroken contact, after which an outage is over for good: by then every agent that can has a new
certificate. An API server that comes back for a moment only must not void the certificates of everybody."""


class Belief(StrEnum):
    FULL = "full"
    OUTAGE_ONLY = "outage-only"
    """It may say that it cannot reach the API server, and nothing else."""
    NONE = "none"

    def admits(self, answer: Answer) -> bool:
        match self:
            case Belief.FULL:
                return True
            case Belief.OUTAGE_ONLY:
                return answer is Answer.API_OUT_OF_REACH
            case Belief.NONE:
                return False


@dataclass(frozen=True, slots=True)
class Validity:
    """Of a certificate: seconds since 1970, by its own words."""

    begins: float
    ends: float

    def lasts_at(self, wall: float) -> bool:
        return self.begins <= wall <= self.ends


def judge_validity(
    shown: Validity, authority: Sequence[Validity], wall: float, trusted_at: Sequence[float]
) -> Belief:
    """`authority`: those that may have signed it. `trusted_at`: the last settled contact, by wall clocks.

    A certificate that begins later than this node's contact is a newer one, and not worth less.
    """
    if shown.lasts_at(wall) and any(one.lasts_at(wall) for one in authority):
        return Belief.FULL
    if authority and any(shown.ends >= at for at in trusted_at):
        return Belief.OUTAGE_ONLY
    return Belief.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledContact:
    """When this node last had contact with the API server, and could have had any certificate replaced.

    `began`, `at`: of the unbroken contact, on CLOCK_BOOTTIME. `offset`: what a wall clock showed beyond that
    at the first contact of this boot; a clock that somebody steps later does not change it.
    """

    began: float
    at: float
    offset: float
    trusted_at: tuple[float, ...]
    """By the wall clock as it was then, and by the one of the first contact."""

    def renewed(self, now: float, wall: float, *, unbroken_for: float, heard: bool) -> "SettledContact":
        """After an acknowledged renewal. `heard`: this node has a certificate that lasts."""
        began = self.began if now - self.at < unbroken_for else now
        settled = heard and now - began >= SETTLED_AFTER
        trusted_at = (wall, now + self.offset) if settled else self.trusted_at
        return SettledContact(began=began, at=now, offset=self.offset, trusted_at=trusted_at)


def first_contact(now: float, wall: float) -> SettledContact:
    """In this boot. Certificates that were over by then are not believed at all."""
    return SettledContact(began=now, at=now, offset=wall - now, trusted_at=(wall,))
