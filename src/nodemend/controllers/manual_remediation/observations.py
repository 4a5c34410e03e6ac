"""What we measure on our own clock: how long a word has stood."""

from typing import Any

import msgspec

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
    """The earliest time at which somebody who owns the word may have given it.

    The API server keeps one time for all that an owner wrote, the latest. One who owns anything else beside
    the word may have written that long after it: then only that the remediation was there before is sure.
    """
    metadata = remediation.metadata
    times = [
        entry.time if _owns_the_word_alone(bytes(entry.fields_v1)) else metadata.creation_timestamp
        for entry in metadata.managed_fields
        if not entry.subresource and entry.time and b'"f:confirmation"' in bytes(entry.fields_v1)
    ]
    if not all(times):
        return None
    return min((parse_time(time).timestamp() for time in times), default=None)


def _owns_the_word_alone(fields: bytes) -> bool:
    try:
        owned = msgspec.json.decode(fields, type=dict[str, dict[str, Any]])
    except msgspec.DecodeError:
        return False
    return owned.keys() == {"f:spec"} and owned["f:spec"].keys() <= {".", "f:confirmation"}
