"""A node's certificate, and what it is worth by a wall clock that may be wrong."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from nodemend.agent.certificate import Held, NotHeld
from nodemend.decide.certificate_belief import Validity
from nodemend.decide.certificate_life import RENEWED_AFTER

LIFE: Final = 86_400.0
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Papers:
    """Valid from one true time to another. A run is too short for the next."""

    begins: float
    ends: float

    @classmethod
    def of_some_age(cls, chance: Random) -> "Papers":
        begins = -chance.uniform(0.0, LIFE * RENEWED_AFTER)
        return cls(begins, begins + LIFE)

    @property
    def validity(self) -> Validity:
        """As it stands in the certificate."""
        began = _BEGAN.timestamp()
        return Validity(began + self.begins, began + self.ends)

    def hold(self, wall: float) -> Held | NotHeld:
        """As its own node has it, by that clock."""
        return Held(LIFE, self.ends - wall) if self.are_believed(wall) else NotHeld()

    def are_believed(self, wall: float) -> bool:
        return self.begins <= wall <= self.ends


def as_date(wall: float) -> datetime:
    return _BEGAN + timedelta(seconds=wall)
