"""Counts what the API server refused and accepted, and records every unexpected result."""

from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.api import ApiError

Attempt = Callable[[], object]


@dataclass
class Trial:
    """The record of one run. `misses` are the unexpected results, as text."""

    refused: int = 0
    accepted: int = 0
    misses: list[str] = field(default_factory=list)

    def refuses(self, what: str, attempt: Attempt, *says: str) -> None:
        """`attempt` must be refused by a rule and not by accident: with every one of these strings in the
        message.
        """
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
        """`attempt` is valid and must pass; otherwise the refusals beside it would prove nothing."""
        try:
            attempt()
        except ApiError as error:
            self.misses.append(f"{what}: was refused: {error}")
        else:
            self.accepted += 1
