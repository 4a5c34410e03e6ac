"""For how long something has been as it is, by our own clock and our own eyes."""

from dataclasses import dataclass

from nodemend.controllers.recent import Recent


@dataclass(frozen=True, slots=True)
class _Sighting:
    what: object
    first_seen: float


class Sightings:
    """Since when each key has shown the same thing, as far as we looked. Forgets the oldest when full."""

    def __init__(self) -> None:
        self._by_key: Recent[str, _Sighting] = Recent()

    def unchanged_for(self, key: str, what: object, *, asked_at: float, answered_at: float) -> float:
        """Seconds for which `key` has certainly shown just this.

        Each look happened at some moment between the question and its answer. So the time counts from the
        answer that first showed this to the last question that still did: never more than the truth.
        """
        known = self._by_key.find(key)
        if known is None or known.what != what:
            known = _Sighting(what, answered_at)
        self._by_key.keep(key, known)
        return max(0.0, asked_at - known.first_seen)
