"""The parameters of a simulation other than the cluster: failures and recoveries, such as `zone=a:40%@5m`.

The format is `WHICH[:HOWMANY]@WHEN`. The first part is a node's name, a pattern of names (`edge-*`) or labels
(`zone=a`, `zone=a,tier=gpu`). HOWMANY is a count or a percentage. WHEN is a time after the start, or two
times (`2m..10m`) for one node after the other. The same choice always yields the same nodes.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final, assert_never

from nodemend.api.meta import ConditionStatus
from nodemend.api.quantities import duration_seconds
from nodemend.cli.text import spell_list
from nodemend.records.node import NodeRecord
from nodemend.safety.limits import Between, Count, Limit, Percent, parse_comparison

FORM: Final = "write it like edge-07@2m, edge-*:3@2m..10m or zone=a:40%@5m"
_NAMES: Final = re.compile(r"[a-z0-9.\-*?\[\]]+")
_LABEL: Final = re.compile(r"([A-Za-z0-9._\-/]+)=([A-Za-z0-9._\-*?\[\]]*)")
_CONDITION: Final = re.compile(r"([A-Za-z0-9._\-/]+)=(True|False|Unknown)")


@dataclass(frozen=True, slots=True)
class ByName:
    """Selects nodes by a name or a pattern of names."""

    pattern: str


@dataclass(frozen=True, slots=True)
class ByLabels:
    """Selects nodes that have all of these labels. A value may be a pattern."""

    wanted: tuple[tuple[str, str], ...]


Which = ByName | ByLabels


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of nodes, written `WHICH[:HOWMANY]`. Without HOWMANY, all matching nodes."""

    written: str
    which: Which
    how_many: Limit | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Whole seconds after the start. If both are equal, all nodes change at once."""

    begins: int
    ends: int


@dataclass(frozen=True, slots=True)
class FailureSpec:
    """A failure or a recovery of some nodes."""

    choice: Choice
    when: Span


@dataclass(frozen=True, slots=True)
class Symptom:
    """The condition that a failing node shows."""

    type: str
    status: ConditionStatus

    def __str__(self) -> str:
        return f"{self.type}={self.status}"


SILENT: Final = Symptom("Ready", ConditionStatus.UNKNOWN)
"""The condition of a node that is cut off or dead."""


def parse_failure_spec(written: str) -> FailureSpec:
    """Parse WHICH[:HOWMANY]@WHEN. Raises ValueError with a sentence for the user."""
    chosen, at, when = written.rpartition("@")
    if not at:
        raise ValueError(f"{written!r} does not say when; {FORM}")
    return FailureSpec(parse_choice(chosen), _span(when))


def parse_choice(written: str) -> Choice:
    """Parse WHICH[:HOWMANY]. Raises ValueError with a sentence for the user."""
    which, colon, how_many = written.partition(":")
    return Choice(written, _which(which), _how_many(how_many) if colon else None)


def parse_symptom(written: str) -> Symptom:
    found = _CONDITION.fullmatch(written)
    if found is None:
        raise ValueError(f"{written!r} is no condition; write it like Ready=Unknown or KernelDeadlock=True")
    return Symptom(found[1], ConditionStatus(found[2]))


def parse_seconds(written: str) -> int:
    """Parse a duration longer than zero, in whole seconds. Raises ValueError with a sentence for the user."""
    seconds = int(duration_seconds(written))
    if seconds < 1:
        raise ValueError("it must be longer than 0s")
    return seconds


def _which(written: str) -> Which:
    if "=" in written:
        found = [_LABEL.fullmatch(part) for part in written.split(",")]
        labels = tuple((label[1], label[2]) for label in found if label is not None)
        if len(labels) == len(found):
            return ByLabels(labels)
    elif _NAMES.fullmatch(name := written.removeprefix("node/")):
        return ByName(name)
    raise ValueError(f"{written!r} names no nodes; {FORM}")


def _how_many(written: str) -> Limit:
    try:
        limit = parse_comparison(written)
    except ValueError:
        limit = None
    if limit is None or isinstance(limit, Between):
        raise ValueError(f"{written!r} is neither a count nor a share; {FORM}")
    return limit


def _span(written: str) -> Span:
    first, dots, last = written.partition("..")
    begins = int(duration_seconds(first))
    ends = int(duration_seconds(last)) if dots else begins
    if ends < begins:
        raise ValueError(f"{written!r} ends before it begins")
    return Span(begins, ends)


class NoNodesError(ValueError):
    """A choice matches no node or is ambiguous. The message is a sentence without its period."""


def members(choice: Choice, nodes: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    """Return all nodes that the choice can select, sorted by name. Raises NoNodesError if no node matches."""
    found = tuple(sorted(_matching(choice.which, nodes)))
    if not found:
        raise NoNodesError(f"no node matches {choice.written}")
    return found


def share(how_many: Limit | None, of: int) -> int:
    """Return the number of nodes.

    A percentage is rounded up, so that any above zero selects at least one node.
    """
    match how_many:
        case None:
            return of
        case Count(value):
            return min(value, of)
        case Percent(value):
            return -(-value * of // 100)
        case _:
            assert_never(how_many)


def spread(names: Sequence[str], number: int) -> tuple[str, ...]:
    """Choose `number` names at even distances.

    Adjacent names often share a rack, and a random choice could concentrate there.
    """
    number = min(number, len(names))
    return tuple(names[place * len(names) // number] for place in range(number))


def moments(span: Span, number: int) -> tuple[int, ...]:
    """Return times for `number` nodes: the first at the beginning of the span, the last at its end."""
    steps = max(number - 1, 1)
    return tuple(span.begins + (span.ends - span.begins) * place // steps for place in range(number))


def _matching(which: Which, nodes: Mapping[str, NodeRecord]) -> Iterable[str]:
    match which:
        case ByName(pattern):
            return [name for name in nodes if fnmatchcase(name, pattern)]
        case ByLabels(wanted):
            full = [(_whole_key(key, nodes.values()), value) for key, value in wanted]
            return [name for name, node in nodes.items() if _has_all(node, full)]
        case _:
            assert_never(which)


def _has_all(node: NodeRecord, wanted: Sequence[tuple[str, str]]) -> bool:
    labels = node.labels
    return all(key in labels and fnmatchcase(labels[key], value) for key, value in wanted)


def _whole_key(key: str, nodes: Iterable[NodeRecord]) -> str:
    """Return the full label key.

    `zone` is short for topology.kubernetes.io/zone if no node has a label `zone`.
    """
    known = {label for keys in {node.label_keys for node in nodes} for label in keys}
    if key in known:
        return key
    longer = sorted(label for label in known if label.endswith(f"/{key}"))
    if not longer:
        raise NoNodesError(f"no node has a label {key}")
    if len(longer) > 1:
        raise NoNodesError(f"{key} may be {spell_list(longer, 'or')}; write it out")
    return longer[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parsed flags. Times are whole seconds."""

    fails: tuple[FailureSpec, ...]
    heals: tuple[FailureSpec, ...]
    stays_unhealthy: tuple[Choice, ...]
    """Nodes that no remediation heals."""
    symptom: Symptom
    lasts: int
    remediation_takes: int
