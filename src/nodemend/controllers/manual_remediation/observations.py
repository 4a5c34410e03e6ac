"""What we measure on our own clock: how long a Lease has been silent, how long a word has stood."""

from dataclasses import dataclass

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.timestamps import parse_time

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


def word_age(
    remediation: ManualRemediation, server_time: float | None, words: Sightings, now: float
) -> float | None:
    """Seconds since the word was given: by the API server's clock or by ours, whichever is more.

    None when the API server does not tell when it was written: then nobody knows.
    """
    word = remediation.spec.confirmation
    if word is None:
        return None
    ours = words.unchanged_for(remediation.metadata.uid, word, asked_at=now, answered_at=now)
    given_at = _given_at(remediation)
    if given_at is None or server_time is None:
        return None
    return max(ours, server_time - given_at)


def _given_at(remediation: ManualRemediation) -> float | None:
    """The earliest time at which somebody who owns the word wrote, from what the API server keeps of each."""
    times = [
        parse_time(entry.time).timestamp()
        for entry in remediation.metadata.managed_fields
        if not entry.subresource and entry.time and b'"f:confirmation"' in bytes(entry.fields_v1)
    ]
    return min(times, default=None)
