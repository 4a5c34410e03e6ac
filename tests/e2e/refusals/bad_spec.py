"""One error in an otherwise valid object, and the expected message."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class BadSpec:
    """A valid object with one error: the value at `path` (dots between, numbers into lists)."""

    good: dict[str, Any]
    path: str
    value: object
    says: tuple[str, ...]

    @property
    def title(self) -> str:
        shown = "left out" if self.value is ABSENT else repr(self.value)[:60]
        return f"{self.good['kind']} with {self.path} {shown}"

    @property
    def manifest(self) -> dict[str, Any]:
        bad = deepcopy(self.good)
        *above, last = (int(part) if part.isdigit() else part for part in _parts(self.path))
        place: Any = bad
        for part in above:
            place = place[part]
        if self.value is ABSENT:
            del place[last]
        elif isinstance(place, list) and last == len(place):
            place.append(self.value)
        else:
            place[last] = self.value
        return bad


def _parts(path: str) -> list[str]:
    """The path split at dots; a key that contains dots is last, after a leading slash."""
    before, slash, key = path.partition("./")
    return [*before.split("."), key] if slash else before.split(".")
