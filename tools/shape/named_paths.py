"""Paths that documents and the justfile name, and that do not exist."""

import re
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Final

from shape.tree import PACKAGE

DOCUMENTS: Final = ("*.md", "docs/**/*.md", "justfile")
LINK: Final = re.compile(r"\]\(([^)#\s]+)")
INLINE: Final = re.compile(r"`([a-z_][\w-]*(?:/[\w.*-]+)+)(?:::\w+)?`")
"""Code of two parts or more: also one whose first folder is gone is a path."""
MODULE: Final = re.compile(r"-m ((?:tests|tools|bench|simulation)(?:\.\w+)+|\w+(?:\.\w+)*)")
FOREIGN_MODULES: Final = ("pytest",)


def missing_paths(root: Path, ignored: Container[str] = ()) -> list[str]:
    """`DOCUMENT: PATH` for each, sorted."""
    found = set()
    for document in sorted(path for glob in DOCUMENTS for path in root.glob(glob)):
        text = document.read_text(encoding="utf-8")
        names = [*_from_links(text, document), *_from_code(text, root, ignored)]
        if document.suffix != ".md":
            names += _from_modules(text, root)
        found |= {f"{document.relative_to(root)}: {name}" for name in names}
    return sorted(found)


def _from_links(text: str, document: Path) -> Iterator[str]:
    for name in LINK.findall(text):
        if "://" not in name and not (document.parent / name).exists():
            yield name


def _from_code(text: str, root: Path, ignored: Container[str]) -> Iterator[str]:
    """Inline code, and words anywhere that begin with a folder of the repository."""
    tracked = (path.name for path in sorted(root.iterdir()) if path.is_dir() and _is_source(path.name))
    folders = "|".join(map(re.escape, tracked))
    anywhere = re.compile(rf"(?<![\w./<-])((?:{folders})/[\w./*-]*[\w*])(?:::\w+)?")
    for name in {*INLINE.findall(text), *anywhere.findall(text)}:
        if name not in ignored and not _is_there(name, root):
            yield name


def _is_source(folder: str) -> bool:
    """False for environments and caches: a clean checkout has none."""
    return folder == ".ci" or not folder.startswith(".")


def _from_modules(text: str, root: Path) -> Iterator[str]:
    for name in MODULE.findall(text):
        path = name.replace(".", "/")
        if name not in FOREIGN_MODULES and not _is_there(path, root):
            yield name


def _is_there(name: str, root: Path) -> bool:
    """Relative to the root, the package or tools; .py may be left out, or a function's name may follow."""
    candidates = (name, f"{name}.py", f"{name.rpartition('.')[0]}.py")
    folders = (root, root / PACKAGE, root / "tools")
    return any(
        next(folder.glob(candidate), None) is not None
        for folder in folders
        for candidate in candidates
        if candidate != ".py"
    )
