"""Compares the answers of two servers, except for names that each server may choose.

UIDs are numbered by first appearance. Revisions become ranks among the revisions of all objects that the side
returned, so that only order and identity count. Times that a server set may differ by a second.
"""

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from tests.simulation.differential.known_differences import known_difference
from tests.simulation.differential.sides import Event
from tests.simulation.differential.steps import Outcome

UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME: Final = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NUMBER: Final = re.compile(r"\b\d+\b")
SPEAKING: Final = frozenset({401, 403, 404, 409, 410})
"""Codes whose messages are compared.

Many parts of the server write the messages of 400 and 422, so only the causes of these are compared.
"""
SECONDS_APART: Final = 1.0


@dataclass(slots=True)
class Run:
    """All answers and events of one side."""

    outcomes: list[Outcome]
    events: list[list[Event]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference."""

    where: str
    real: Any
    simulated: Any

    def __str__(self) -> str:
        return f"{self.where}\n  real:      {_short(self.real)}\n  simulated: {_short(self.simulated)}"


def _short(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) < 1500 else text[:1500] + " ..."


class Normal:
    """One side's output with names that both sides share."""

    def __init__(self, run: Run) -> None:
        self._uids: dict[str, str] = {}
        self._revisions = sorted(set(_revisions([run.events, [outcome.body for outcome in run.outcomes]])))

    def outcome(self, outcome: Outcome) -> dict[str, Any]:
        return {"status": outcome.status, "retryAfter": outcome.retry_after, "body": self.value(outcome.body)}

    def value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if value.get("kind") == "Status" and "code" in value:
                value = _comparable_status(value)
            return {name: self.value(part, name) for name, part in sorted(value.items())}
        if isinstance(value, list):
            if key == "managedFields":
                value = sorted(value, key=_entry_order)
            return [self.value(part) for part in value]
        if isinstance(value, str):
            return self._text(value, key)
        return value

    def _text(self, text: str, key: str) -> Any:
        if key == "resourceVersion" and text.isdigit():
            return f"revision {self._rank(int(text))}"
        if key == "continue" and text:
            return self._token(text)
        if key == "refusal":
            return "".join(part if named else NUMBER.sub("#", part) for part, named in self._named(text))
        return UID.sub(lambda found: self._uids.setdefault(found[0], f"uid {len(self._uids)}"), text)

    def _named(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield the text in parts, with renamed UIDs. Other numbers in a refusal are mostly revisions."""
        end = 0
        for found in UID.finditer(text):
            yield text[end : found.start()], False
            yield self._text(found[0], ""), True
            end = found.end()
        yield text[end:], False

    def _rank(self, revision: int) -> int:
        return bisect_right(self._revisions, revision)

    def _token(self, token: str) -> Any:
        try:
            found = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            return token
        # The key begins with a slash or not, depending on the server's code path that made the token.
        found["start"] = found["start"].lstrip("/")
        return {**found, "rv": found["rv"] if found["rv"] < 0 else f"revision {self._rank(found['rv'])}"}


def _revisions(value: Any) -> Iterator[int]:
    """Yield the revision of every contained object that has a UID and a resourceVersion."""
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and "uid" in metadata and "resourceVersion" in metadata:
            yield int(metadata["resourceVersion"])
        for part in value.values():
            yield from _revisions(part)
    elif isinstance(value, list):
        for part in value:
            yield from _revisions(part)


def _entry_order(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(entry.get(key, "")) for key in ("manager", "operation", "subresource", "apiVersion"))


def _comparable_status(status: dict[str, Any]) -> dict[str, Any]:
    made = dict(status)
    code = status["code"]
    details = dict(made.get("details") or {})
    if "causes" in details:
        causes = {(cause.get("reason", ""), cause.get("field", "")) for cause in details["causes"]}
        details["causes"] = sorted(map(list, causes))
    made["details"] = details
    if code in SPEAKING:
        made["refusal"] = made.pop("message", "")
    else:
        made.pop("message", None)
    return made


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first difference, if there is one, and the known differences before it."""

    difference: Difference | None
    known: tuple[str, ...]


def compare(real: Run, simulated: Run) -> Comparison:
    ours, theirs = Normal(simulated), Normal(real)
    known: list[str] = []
    for index, (one, other) in enumerate(zip(real.outcomes, simulated.outcomes, strict=True)):
        found = _differ(theirs.outcome(one), ours.outcome(other), f"step {index}")
        if found is None:
            continue
        excuse = known_difference(_raw(one), _raw(other))
        if excuse is None:
            return Comparison(found, tuple(known))
        known.append(excuse.name)
    for index, (reported, shown) in enumerate(zip(real.events, simulated.events, strict=True)):
        found = _differ(theirs.value(_reported(reported)), ours.value(_reported(shown)), f"watch {index}")
        if found is not None:
            return Comparison(found, tuple(known))
    return Comparison(None, tuple(known))


def _raw(outcome: Outcome) -> dict[str, Any]:
    return {"status": outcome.status, "body": outcome.body}


def _reported(events: list[Event]) -> list[Event]:
    """Return the events without bookmarks that depend only on time."""
    return [
        event
        for event in events
        if event["type"] != "BOOKMARK" or "annotations" in event["object"]["metadata"]
    ]


def _differ(real: Any, simulated: Any, where: str) -> Difference | None:
    if isinstance(real, dict) and isinstance(simulated, dict):
        for key in sorted(real.keys() | simulated.keys()):
            if key not in real or key not in simulated:
                return Difference(f"{where}.{key}", real.get(key, "(absent)"), simulated.get(key, "(absent)"))
            found = _differ(real[key], simulated[key], f"{where}.{key}")
            if found is not None:
                return found
        return None
    if isinstance(real, list) and isinstance(simulated, list):
        for index, (one, other) in enumerate(zip(real, simulated, strict=False)):
            found = _differ(one, other, f"{where}[{index}]")
            if found is not None:
                return found
        if len(real) != len(simulated):
            shorter = min(len(real), len(simulated))
            return Difference(f"{where} from [{shorter}]", real[shorter:], simulated[shorter:])
        return None
    if real == simulated and type(real) is type(simulated):
        return None
    return None if _same_moment(real, simulated) else Difference(where, real, simulated)


def _same_moment(real: Any, simulated: Any) -> bool:
    if not all(isinstance(one, str) and TIME.fullmatch(one) for one in (real, simulated)):
        return False
    apart = datetime.fromisoformat(real) - datetime.fromisoformat(simulated)
    return abs(apart.total_seconds()) <= SECONDS_APART
