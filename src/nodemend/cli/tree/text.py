"""`kubectl mend tree` for a person."""

from collections.abc import Iterator
from typing import Final

from nodemend.cli.next_steps import Step, step_lines
from nodemend.cli.tree.view import Branch, TreeView
from nodemend.cli.words import fold, spell_seconds

_SHORT: Final = {"NodeHealthCheck": "nhc", "MachineHealthCheck": "mhc"}
_NARROWEST: Final = 30
"""Columns for what is said: a terminal that leaves fewer has it below."""


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
    yield from step_lines(Step(view.advice, view.next_step))


def _rows(branch: Branch, first: str, rest: str) -> Iterator[tuple[str, str, str]]:
    """The branch's own line, what its further lines begin with, and what it says."""
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
