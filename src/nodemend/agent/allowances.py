"""How much each of many may ask for: a bucket of tokens for everybody, in bounded room."""

from dataclasses import dataclass, field
from typing import Final

MOST_KNOWN: Final = 256
"""Of whom something is remembered. A node is a peer of about 15."""


@dataclass(slots=True)
class Bucket:
    """So many a second, and so many at once."""

    rate: float
    most: float
    level: float
    at: float

    def take(self, now: float, leaving: float = 0.0) -> bool:
        """One, unless that would leave less for others."""
        self._fill(now)
        if self.level < 1.0 + leaving:
            return False
        self.level -= 1.0
        return True

    def is_full(self, now: float) -> bool:
        self._fill(now)
        return self.level == self.most

    def empty(self) -> None:
        self.level = 0.0

    def _fill(self, now: float) -> None:
        self.level = min(self.most, self.level + (now - self.at) * self.rate)
        self.at = now


@dataclass(slots=True)
class Allowances:
    """A bucket for each who asks, full at first. Who asked longest ago is forgotten when there is no room.

    `stern`: asking in vain costs, too. Whoever does not stop gets nothing until it does, and so takes nothing
    from those who ask as they should.
    """

    rate: float
    most: float
    stern: bool = False
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def has_rested(self, who: str, now: float) -> bool:
        """Whether it has asked for nothing in a while."""
        bucket = self._buckets.get(who)
        return bucket is None or bucket.is_full(now)

    def take(self, who: str, now: float) -> bool:
        bucket = self._buckets.pop(who, None) or Bucket(self.rate, self.most, level=self.most, at=now)
        self._buckets[who] = bucket
        if len(self._buckets) > MOST_KNOWN:
            del self._buckets[next(iter(self._buckets))]
        granted = bucket.take(now)
        if self.stern and not granted:
            bucket.empty()
        return granted

    def __len__(self) -> int:
        return len(self._buckets)
