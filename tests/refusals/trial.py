"""Counts what the API server refused and what it let pass, and remembers every surprise."""

from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.api import ApiError

Attempt = Callable[[], object]


@dataclass
class Trial:
    """The record of one run. `misses` are what went otherwise than expected, in words."""

    refused: int = 0
    accepted: int = 0
    misses: list[str] = field(default_factory=list)

    def refuses(self, what: str, attempt: Attempt, *says: str) -> None:
        """`attempt` must be refused, for good and not by accident: with every one of these words."""
        try:
            attempt()
        except ApiError as error:
            missing = [words for words in says if words not in str(error)]
            if error.status in (400, 403, 422) and not missing:
                self.refused += 1
            else:
                self.misses.append(f"{what}: refused, but without {missing}: {error}")
        else:
            self.misses.append(f"{what}: was accepted")

    def accepts(self, what: str, attempt: Attempt) -> None:
        """`attempt` is right and must pass: else the refusals beside it would prove nothing."""
        try:
            attempt()
        except ApiError as error:
            self.misses.append(f"{what}: was refused: {error}")
        else:
            self.accepted += 1
