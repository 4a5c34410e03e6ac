"""What `kubectl mend tree` shows."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One object, or one fact about the object above it.

    `state` is one word, or a condition; `for_seconds` how long it has been so, None where nothing tells;
    `says` are whole phrases for a person.
    """

    kind: str
    name: str = ""
    namespace: str = ""
    state: str = ""
    for_seconds: float | None = None
    says: tuple[str, ...] = ()
    children: "tuple[Branch, ...]" = ()

    def __iter__(self) -> "Iterator[Branch]":
        """It, and all below it."""
        yield self
        for child in self.children:
            yield from child


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeView:
    node: str
    root: Branch
    unread: tuple[str, ...]
    incomplete: bool
    """More than pods is unread. Pods are told of by the remediation, too, and few may see them."""
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""
