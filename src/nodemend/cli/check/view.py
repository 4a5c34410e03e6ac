"""What `kubectl mend check` found."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


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


def ok(text: str) -> Finding:
    return Finding(level=Level.OK, text=text)


def warn(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.WARN, text=text, hint=hint)


def fail(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.FAIL, text=text, hint=hint)


def check_view(groups: Iterable[Group]) -> CheckView:
    groups = tuple(groups)
    levels = [finding.level for group in groups for finding in group.findings]
    return CheckView(
        groups=groups,
        failures=levels.count(Level.FAIL),
        warnings=levels.count(Level.WARN),
        fine=levels.count(Level.OK),
    )
