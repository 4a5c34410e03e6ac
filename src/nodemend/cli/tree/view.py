"""The view of `kubectl mend tree` and its text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.cli.text import NextStep, fold, spell_seconds, step_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One object, or one fact about the parent object.

    `state` is one word or a condition; `for_seconds` is its duration, None if unknown; `says` are complete
    phrases for users.
    """

    kind: str
    name: str = ""
    namespace: str = ""
    state: str = ""
    for_seconds: float | None = None
    says: tuple[str, ...] = ()
    children: "tuple[Branch, ...]" = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeView:
    kind: ClassVar[str] = "Tree"
    node: str
    root: Branch
    unread: tuple[str, ...]
    incomplete: bool
    """True if objects other than pods are unread.

    The remediation reports pods as well, and few users may list them.
    """
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""


_SHORT: Final = {"NodeHealthCheck": "nhc", "MachineHealthCheck": "mhc"}
_NARROWEST: Final = 30
"""Minimum columns for text beside the tree. On a narrower terminal the text is below each branch."""


def render(view: TreeView, width: int) -> Iterator[str]:
    rows = list(_rows(view.root, "", ""))
    longest = max(len(head) for head, _, _ in rows)
    beside = width - longest - 2 >= _NARROWEST
    for head, below, said in rows:
        if beside:
            lines = fold(said, width - longest - 2) or [""]
            yield f"{head.ljust(longest)}  {lines[0]}".rstrip()
            yield from (f"{below.ljust(longest)}  {line}" for line in lines[1:])
        else:
            yield head
            yield from (f"{below}  {line}" for line in fold(said, max(width - len(below) - 2, _NARROWEST)))
    for unread in view.unread:
        yield from fold(f"Warning: {unread}", width)
    yield from step_lines(NextStep(view.advice, view.next_step))


def _rows(branch: Branch, first: str, rest: str) -> Iterator[tuple[str, str, str]]:
    """Yield per branch: its first line, the prefix of further lines, and its text."""
    trunk = "│  " if branch.children else "   "
    yield f"{first}{_address(branch)}", f"{rest}{trunk}", _said(branch)
    for number, child in enumerate(branch.children):
        last = number == len(branch.children) - 1
        yield from _rows(child, f"{rest}{'└─ ' if last else '├─ '}", f"{rest}{'   ' if last else '│  '}")


def _address(branch: Branch) -> str:
    if branch.kind == "More":
        return branch.state
    kind = _SHORT.get(branch.kind, branch.kind.lower())
    return "/".join(part for part in (kind, branch.namespace, branch.name) if part)


def _said(branch: Branch) -> str:
    if branch.kind == "More":
        return ""
    age = f" for {spell_seconds(branch.for_seconds)}" if branch.for_seconds is not None else ""
    return "; ".join(part for part in (f"{branch.state}{age}" if branch.state else "", *branch.says) if part)
