"""Places boxes in rows so that every arrow goes down: a small version of Sugiyama's method. Deterministic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from structure.packages import Graph

_GAP = 12.0
_BEND = 4.0
"""The width that an arrow takes where it passes a row."""
_SWEEPS = 40


@dataclass(frozen=True, slots=True)
class Spot:
    row: int
    x: float
    """The middle."""


@dataclass(frozen=True, slots=True)
class Layout:
    rows: int
    width: float
    spots: dict[str, Spot]
    routes: dict[tuple[str, str], tuple[Spot, ...]]
    """For each arrow the places that it passes, from its source to its target."""


def lay_out(graph: Graph, widths: Mapping[str, float], widest: float) -> Layout:
    """`graph` is acyclic. No row is wider than `widest`, unless one box alone is."""
    levels = _levels(graph, widths, widest)
    chains, sizes = _chains(graph, levels), dict(widths)
    place = dict(levels)
    above: dict[str, list[str]] = {node: [] for node in graph}
    below: dict[str, list[str]] = {node: [] for node in graph}
    for chain in chains.values():
        for depth, node in enumerate(chain):
            place.setdefault(node, levels[chain[0]] + depth)
            sizes.setdefault(node, _BEND)
            above.setdefault(node, [])
            below.setdefault(node, [])
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
    rows = [sorted(node for node in place if place[node] == row) for row in range(max(place.values()) + 1)]
    rows = _ordered(rows, above, below)
    xs = _positions(rows, sizes, above, below)
    left = min(xs[node] - sizes[node] / 2 for node in xs)
    spots = {node: Spot(place[node], xs[node] - left) for node in xs}
    return Layout(
        rows=len(rows),
        width=max(spots[node].x + sizes[node] / 2 for node in spots),
        spots={node: spots[node] for node in graph},
        routes={arrow: tuple(spots[node] for node in chain) for arrow, chain in chains.items()},
    )


def _levels(graph: Graph, widths: Mapping[str, float], widest: float) -> dict[str, int]:
    """The row of each node, 0 at the top. A row that is too wide is continued in the next one."""
    height: dict[str, int] = {}

    def rise(node: str) -> int:
        if node not in height:
            height[node] = 1 + max((rise(target) for target in graph[node]), default=-1)
        return height[node]

    waiting = sorted(graph, key=lambda node: (rise(node), node))
    row_of: dict[str, int] = {}
    filled: dict[int, float] = {}
    for node in waiting:
        row = 1 + max((row_of[target] for target in graph[node]), default=-1)
        while filled.get(row, 0) + widths[node] > widest and row in filled:
            row += 1
        row_of[node] = row
        filled[row] = filled.get(row, 0) + widths[node] + _GAP
    top = max(row_of.values())
    return {node: top - row for node, row in row_of.items()}


def _chains(graph: Graph, levels: Mapping[str, int]) -> dict[tuple[str, str], list[str]]:
    """Each arrow as its source, one bend for each row that it passes, and its target."""
    return {
        (node, target): [
            node,
            *(f"{node}>{target}>{row}" for row in range(levels[node] + 1, levels[target])),
            target,
        ]
        for node in sorted(graph)
        for target in sorted(graph[node])
    }


def _ordered(
    rows: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]]
) -> list[list[str]]:
    """The order with the fewest crossings that repeated sorting by the mean of adjacent nodes finds."""
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for index in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = {node: place for place, node in enumerate(rows[index - 1 if down else index + 1])}
            rows[index] = _by_mean(rows[index], above if down else below, fixed)
        if (crossings := _crossings(rows, below)) < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _by_mean(row: Sequence[str], adjacent: Mapping[str, list[str]], fixed: Mapping[str, int]) -> list[str]:
    def mean(place: int) -> float:
        places = [fixed[one] for one in adjacent[row[place]]]
        return sum(places) / len(places) if places else place * len(fixed) / len(row)

    return [row[place] for place in sorted(range(len(row)), key=lambda place: (mean(place), place))]


def _crossings(rows: Sequence[Sequence[str]], below: Mapping[str, list[str]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: index for index, node in enumerate(lower)}
        ends = [sorted(place[target] for target in below[node]) for node in upper]
        for index, left in enumerate(ends):
            for right in ends[index + 1 :]:
                total += sum(one > other for one in left for other in right)
    return total


def _positions(
    rows: Sequence[Sequence[str]],
    sizes: Mapping[str, float],
    above: Mapping[str, list[str]],
    below: Mapping[str, list[str]],
) -> dict[str, float]:
    """Each node near the mean of the nodes it is connected to, at the least distance from those beside it."""
    xs: dict[str, float] = {}
    for row in rows:
        x = 0.0
        total = sum(sizes[node] + _GAP for node in row)
        for node in row:
            xs[node] = x + sizes[node] / 2 - total / 2
            x += sizes[node] + _GAP
    for sweep in range(_SWEEPS * 4):
        for row in rows if sweep % 2 else reversed(rows):
            wanted = [_mean_x(node, xs, above[node] + below[node]) for node in row]
            xs.update(zip(row, _spread(row, wanted, sizes), strict=True))
    return xs


def _mean_x(node: str, xs: Mapping[str, float], adjacent: Sequence[str]) -> float:
    return sum(xs[one] for one in adjacent) / len(adjacent) if adjacent else xs[node]


def _spread(row: Sequence[str], wanted: Sequence[float], sizes: Mapping[str, float]) -> list[float]:
    """The places nearest to the wanted ones that keep order and distance (pool adjacent violators)."""
    offsets = [0.0]
    for left, right in pairwise(row):
        offsets.append(offsets[-1] + (sizes[left] + sizes[right]) / 2 + _GAP)
    blocks: list[list[float]] = []
    for x, offset in zip(wanted, offsets, strict=True):
        blocks.append([x - offset])
        while len(blocks) > 1 and _mean(blocks[-2]) > _mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    starts = [_mean(block) for block in blocks for _ in block]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
