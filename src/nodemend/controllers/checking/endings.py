"""Remediations that have just ended. Every replica remembers them: none is lost between two leaders.

What ends while no replica is running is nobody's: it was there, and is gone.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from nodemend.api import keys
from nodemend.kube.remediation_record import RemediationRecord

MOST: Final = 200
"""Ten times what a check keeps; what ends faster than a leader writes is forgotten, the oldest first."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`at` is when we saw it gone; `with_node` whether its node was gone then."""

    record: RemediationRecord
    at: str
    with_node: bool


@dataclass(frozen=True, slots=True)
class Endings:
    _last: deque[Ending] = field(default_factory=lambda: deque(maxlen=MOST))

    def note(self, ending: Ending) -> None:
        """Only what a check asked for is anybody's history."""
        if keys.CHECK_UID in ending.record.annotations:
            self._last.append(ending)

    def of_check(self, uid: str) -> Iterator[Ending]:
        """The newest first."""
        for ending in reversed(self._last):
            if ending.record.annotations[keys.CHECK_UID] == uid:
                yield ending
