"""A node's certificate, and its validity by a wall clock that may be wrong."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from nodemend.agent.certificates import CertificateHeld, NoCertificate
from nodemend.protocol.peers import Validity
from nodemend.protocol.timing import RENEWED_AFTER

LIFE: Final = 86_400.0
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Papers:
    """The validity in true time. A run is too short for a renewal."""

    begins: float
    ends: float

    @classmethod
    def of_some_age(cls, chance: Random) -> "Papers":
        begins = -chance.uniform(0.0, LIFE * RENEWED_AFTER)
        return cls(begins, begins + LIFE)

    @property
    def validity(self) -> Validity:
        """The validity in the certificate."""
        began = _BEGAN.timestamp()
        return Validity(began + self.begins, began + self.ends)

    def hold(self, wall: float) -> CertificateHeld | NoCertificate:
        """Return the certificate's state for its own node by this wall-clock time."""
        return CertificateHeld(LIFE, self.ends - wall) if self.are_accepted(wall) else NoCertificate()

    def are_accepted(self, wall: float) -> bool:
        return self.begins <= wall <= self.ends


def as_date(wall: float) -> datetime:
    return _BEGAN + timedelta(seconds=wall)
