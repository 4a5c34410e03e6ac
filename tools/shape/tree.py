"""The measured facts of a source tree."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PACKAGE: Final = "src/nodemend"
SIMULATION: Final = ("testing", "simulation")
"""Folders of the simulated world: in the package before the redesign, at the top afterwards."""


@dataclass(frozen=True, slots=True)
class Module:
    """One file. `path` is relative to the package."""

    path: str
    lines: int
    classes: tuple[str, ...]
    """Public classes at the top level."""
    longest_function: tuple[int, str]
    """Lines and name; (0, "") without any."""

    @property
    def package(self) -> str:
        return str(Path(self.path).parent)

    @property
    def name(self) -> str:
        return Path(self.path).stem


@dataclass(frozen=True, slots=True)
class Tree:
    """The package without the simulated world. `lines` counts every file, `modules` has no __init__.py."""

    modules: Sequence[Module]
    lines: int
    lines_with_simulation: int

    @property
    def classes_twice_in_package(self) -> Mapping[tuple[str, str], int]:
        """By package and class, how often it is defined, if more than once."""
        counts = Counter((module.package, name) for module in self.modules for name in module.classes)
        return {key: count for key, count in counts.items() if count > 1}

    @property
    def classes_twice(self) -> Mapping[str, Sequence[str]]:
        """By class, the modules that define it, if more than one."""
        places = defaultdict(list)
        for module in self.modules:
            for name in module.classes:
                places[name].append(module.path)
        return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}

    @property
    def packages(self) -> Mapping[str, int]:
        """By package, the modules that are directly in it."""
        return Counter(module.package for module in self.modules)


def measure(root: Path) -> Tree:
    package = root / PACKAGE
    files = sorted(package.rglob("*.py"))
    shipped = [path for path in files if not _simulates(path.relative_to(package))]
    simulation = [path for name in SIMULATION for path in (root / name).rglob("*.py")]
    simulation += [path for path in files if _simulates(path.relative_to(package))]
    modules = [_module(path, package) for path in shipped if path.name != "__init__.py"]
    lines = sum(map(lines_of, shipped))
    return Tree(modules, lines, lines + sum(map(lines_of, simulation)))


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _simulates(path: Path) -> bool:
    return path.parts[0] in SIMULATION


def _module(path: Path, package: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return Module(
        str(path.relative_to(package)),
        len(text.splitlines()),
        tuple(name for name in classes if not name.startswith("_")),
        max(_functions(tree), default=(0, "")),
    )


def _functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, node.name
