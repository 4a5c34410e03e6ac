"""What `kubectl mend check` found."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from nodemend.cli.check.fencing_view import FencingView
from nodemend.cli.exit_codes import CommandFailure, ExitCode


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: what was found, and where to go from there."""

    level: Level
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    groups: tuple[Group, ...]
    failures: int
    warnings: int
    fine: int
    fencing: FencingView | None = None
    """Of self-fencing, node by node; None where nobody has to do with it."""


def ok(text: str) -> Finding:
    return Finding(level=Level.OK, text=text)


def warn(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.WARN, text=text, hint=hint)


def fail(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.FAIL, text=text, hint=hint)


def unread(what: str, why: str) -> Finding:
    """A failure: what cannot be read is not known to be well."""
    return fail(f"{what} cannot be read: {why}")


def check_view(groups: Iterable[Group], fencing: FencingView | None = None) -> CheckView:
    groups = tuple(groups)
    levels = [finding.level for group in groups for finding in group.findings]
    return CheckView(
        groups=groups,
        failures=levels.count(Level.FAIL),
        warnings=levels.count(Level.WARN),
        fine=levels.count(Level.OK),
        fencing=fencing,
    )


def only_of(view: CheckView, nodes: tuple[str, ...]) -> CheckView:
    """With these nodes alone, if any are named. Raises CommandFailure for one of which nothing is known."""
    if not nodes:
        return view
    rows = view.fencing.nodes if view.fencing is not None else ()
    known = {row.node for row in rows}
    if view.fencing is None:
        raise CommandFailure(
            ExitCode.WRONG,
            "nothing is known of agents here: there are none, or you may not see their Leases.",
            "kubectl mend check",
        )
    if unknown := [name for name in nodes if name not in known]:
        raise CommandFailure(ExitCode.WRONG, f"there is no node {unknown[0]}.", "kubectl get nodes")
    return replace(view, fencing=replace(view.fencing, nodes=tuple(row for row in rows if row.node in nodes)))
