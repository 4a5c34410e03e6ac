"""The modules of a source tree and their imports, read with `ast`. Nothing is imported."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Import:
    importer: str
    imported: str


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Modules by their dotted names, the name of the root package first."""

    lines: dict[str, int]
    """Lines of each module."""
    packages: frozenset[str]
    imports: tuple[Import, ...]
    """Without duplicates, sorted. Imports inside functions and under TYPE_CHECKING count too."""


def read_tree(root: Path) -> SourceTree:
    """Read the package in the folder `root`."""
    files = {module_name(root, file): file for file in sorted(root.rglob("*.py"))}
    texts = {name: file.read_text() for name, file in files.items()}
    imports = {
        Import(name, imported)
        for name, text in texts.items()
        for imported in modules_imported(ast.parse(text), frozenset(files))
        if imported != name
    }
    return SourceTree(
        lines={name: len(text.splitlines()) for name, text in texts.items()},
        packages=frozenset(name for name, file in files.items() if file.name == "__init__.py"),
        imports=tuple(sorted(imports, key=lambda one: (one.importer, one.imported))),
    )


def module_name(root: Path, file: Path) -> str:
    """The dotted name of a file in the package in the folder `root`."""
    parts = (root.name, *file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_imported(tree: ast.Module, known: frozenset[str]) -> Iterator[str]:
    """The `known` modules that it imports, with duplicates."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                # `from package import module` imports the module; any other name is the package's own.
                submodule = f"{node.module}.{alias.name}"
                if submodule in known:
                    yield submodule
                elif node.module in known:
                    yield node.module
