"""For how long something has been as it is, by our own clock and our own eyes."""

from dataclasses import dataclass

_MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Sighting:
    what: object
    first_seen: float


class Sightings:
    """Since when each key has shown the same thing, as far as we looked. Forgets the oldest when full."""

    def __init__(self) -> None:
        self._by_key: dict[str, _Sighting] = {}

    def unchanged_for(self, key: str, what: object, *, asked_at: float, answered_at: float) -> float:
        """Seconds for which `key` has certainly shown just this.

        Each look happened at some moment between the question and its answer. So the time counts from the
        answer that first showed this to the last question that still did: never more than the truth.
        """
        known = self._by_key.pop(key, None)
        if known is None or known.what != what:
            known = _Sighting(what, answered_at)
        # Popped and put back, so that the order of the dict is that of the last look.
        self._by_key[key] = known
        if len(self._by_key) > _MOST_REMEMBERED:
            del self._by_key[next(iter(self._by_key))]
        return max(0.0, asked_at - known.first_seen)
