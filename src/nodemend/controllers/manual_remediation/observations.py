"""What we measure on our own clock: how long a word has stood."""

from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.timestamps import parse_time
from nodemend.controllers.sightings import Sightings


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
