"""Condenses modules to packages, and finds cycles between them.

A package without subpackages is one box. A package with subpackages has one box for each of them. The modules
directly in it are one box if the graph allows that, else several: some of them may be below its subpackages,
and others above.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from structure.modules import SourceTree

Graph = dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    """As a path below the root package, for example `health/node`."""
    group: str
    """Its first part."""
    lines: int
    modules: tuple[str, ...]
    part: bool
    """True if the package's own modules are drawn as several boxes, of which this is one."""


@dataclass(frozen=True, slots=True)
class Packages:
    boxes: dict[str, Box]
    arrows: Graph
    """From the key of each box to the keys of the boxes that it imports."""
    cycles: tuple[tuple[str, ...], ...]
    """Each as the keys of boxes that import one another, sorted."""


def condense(tree: SourceTree) -> Packages:
    """Packages of one level, or of two where a package has subpackages."""
    root = min(tree.lines, key=len)
    nodes = {module: _node(module, root, tree.packages) for module in tree.lines if module != root}
    # Modules of one package may import one another: such a ring is one node.
    own = {node: set[str]() for node in nodes.values()}
    for importer, imported in _between(nodes, tree):
        if ":" in importer and importer.split(":")[0] == imported.split(":")[0]:
            own[importer].add(imported)
    rings = {node: ring[0] for ring in find_cycles(own) for node in ring}
    nodes = {module: rings.get(node, node) for module, node in nodes.items()}
    graph: Graph = {node: set() for node in nodes.values()}
    for importer, imported in _between(nodes, tree):
        graph[importer].add(imported)
    cycles = tuple(sorted(find_cycles(graph)))
    keys = _keys(graph, cycles)
    arrows: Graph = {key: set() for key in sorted(set(keys.values()))}
    for node, targets in graph.items():
        arrows[keys[node]] |= {keys[target] for target in targets} - {keys[node]}
    boxes = _boxes({module: keys[node] for module, node in nodes.items()}, tree.lines)
    return Packages(boxes, arrows, tuple(sorted({tuple(sorted({keys[n] for n in one})) for one in cycles})))


def find_cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Strongly connected components of more than one node, sorted (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = [stack.pop()]
            while component[-1] != node:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(tuple(sorted(component)))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """The acyclic graph without the arrows that follow from others (its transitive reduction)."""
    below: dict[str, set[str]] = {}

    def reach(node: str) -> set[str]:
        if node not in below:
            below[node] = set().union(*({target} | reach(target) for target in graph[node]), set())
        return below[node]

    return {
        node: {one for one in targets if not any(one in reach(other) for other in targets - {one})}
        for node, targets in graph.items()
    }


def _between(nodes: Mapping[str, str], tree: SourceTree) -> Iterator[tuple[str, str]]:
    """Imports from one node to another."""
    for one in tree.imports:
        importer, imported = nodes.get(one.importer), nodes.get(one.imported)
        if importer and imported and importer != imported:
            yield importer, imported


def _node(module: str, root: str, packages: frozenset[str]) -> str:
    """The package or subpackage of a module. A module beside subpackages is a separate node."""
    parts = module.removeprefix(f"{root}.").split(".")
    top = f"{root}.{parts[0]}"
    if top not in packages or not any(one.startswith(f"{top}.") for one in packages):
        return parts[0]
    if len(parts) > 1 and f"{top}.{parts[1]}" in packages:
        return f"{parts[0]}/{parts[1]}"
    return f"{parts[0]}:{parts[1] if len(parts) > 1 else '__init__'}"


def _keys(graph: Graph, cycles: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """The box of each node: its own, or for modules beside subpackages one of `name`, `name:1`, `name:2` ...

    The number counts how often a path from a module leaves the modules beside the subpackages and comes back.
    Two modules of equal number can share a box without a cycle.
    """
    depth: dict[tuple[str, str], int] = {}
    cyclic = {node for cycle in cycles for node in cycle}

    def levels(node: str, package: str) -> int:
        """The deepest number of one of the package's own modules on paths from here; -1 without one."""
        if (node, package) not in depth:
            # Within a cycle there is no such number: the cycle is reported, and its modules share one box.
            depth[node, package] = 0 if node.startswith(f"{package}:") else -1
            own = node.startswith(f"{package}:")
            for target in sorted(graph[node] - (cyclic if node in cyclic else set())):
                deep = levels(target, package)
                leaves = own and not target.startswith(f"{package}:") and deep >= 0
                depth[node, package] = max(depth[node, package], deep + leaves)
        return depth[node, package]

    by_package: dict[str, set[int]] = defaultdict(set)
    for node in graph:
        if ":" in node:
            package = node.split(":")[0]
            by_package[package].add(levels(node, package))
    keys = {}
    for node in graph:
        package = node.split(":")[0]
        if ":" not in node:
            keys[node] = node
        elif len(by_package[package]) == 1:
            keys[node] = package
        else:
            keys[node] = f"{package}:{levels(node, package)}"
    return keys


def _boxes(keys: Mapping[str, str], lines: Mapping[str, int]) -> dict[str, Box]:
    members: dict[str, list[str]] = defaultdict(list)
    for module, key in keys.items():
        members[key].append(module)
    return {
        key: Box(
            name=key.split(":")[0],
            group=key.split(":")[0].split("/")[0],
            lines=sum(lines[module] for module in modules),
            modules=tuple(sorted(module.rpartition(".")[2] for module in modules)),
            part=":" in key,
        )
        for key, modules in members.items()
    }
