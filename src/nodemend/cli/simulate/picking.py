"""Which nodes a choice means. The same choice always means the same nodes."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import assert_never

from nodemend.cli.simulate.invention import ByLabels, ByName, Choice, Span, Which
from nodemend.cli.words import spell_list
from nodemend.decide.limits import Count, Limit, Percent
from nodemend.kube.node_record import NodeRecord


class NobodyError(ValueError):
    """A choice means no node, or nobody knows which. The message is a sentence without its end."""


def members(choice: Choice, nodes: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    """All nodes that it could mean, by name. Raises NobodyError when it can mean none."""
    found = tuple(sorted(_matching(choice.which, nodes)))
    if not found:
        raise NobodyError(f"no node matches {choice.written}")
    return found


def share(how_many: Limit | None, of: int) -> int:
    """How many that are. A share is rounded up: one above zero is at least one node."""
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
    """So many of them, evenly: names that stand together often share a rack, and chance would not."""
    number = min(number, len(names))
    return tuple(names[place * len(names) // number] for place in range(number))


def moments(span: Span, number: int) -> tuple[int, ...]:
    """When it happens to each of so many: the first at the beginning, the last at the end."""
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
    """`zone` is short for topology.kubernetes.io/zone, if no node has a label of just that name."""
    known = {label for keys in {node.label_keys for node in nodes} for label in keys}
    if key in known:
        return key
    longer = sorted(label for label in known if label.endswith(f"/{key}"))
    if not longer:
        raise NobodyError(f"no node has a label {key}")
    if len(longer) > 1:
        raise NobodyError(f"{key} may be {spell_list(longer, 'or')}; write it out")
    return longer[0]
