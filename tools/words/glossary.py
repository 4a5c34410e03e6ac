"""Finds names that the glossary replaces: identifiers where they are bound, and names of files.

Columns of glossary.tsv: the old name as people say it, the new one, and the matchers for the old one:

=Name          an identifier that is exactly this, apart from leading underscores
word, two_parts  an identifier in lower case, or upper case, with these parts between its underscores
file:stem      a module of this name; a glob; with its folder where there is a slash

Words are matched in file names, too. Uses of a name are not reported, since each follows from where it
is bound.
"""

import ast
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from words.findings import HERE, Allowed, Finding, files_matching, read_allowed

TABLE: Final = HERE / "glossary.tsv"
EXCEPTIONS: Final = HERE / "glossary_exceptions.toml"
HEADER: Final = ("old", "new", "matchers")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the glossary."""

    old: str
    new: str
    matchers: tuple[str, ...]


Rows = tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Glossary:
    """The rows, and an index of them by matcher."""

    rows: Sequence[Row]
    allowed: Sequence[Allowed]
    python: Sequence[str]
    exact: Mapping[str, Rows] = field(default_factory=dict)
    parts: Mapping[tuple[str, ...], Rows] = field(default_factory=dict)
    files: Mapping[str, Rows] = field(default_factory=dict)


@dataclass(slots=True)
class Result:
    """The findings, and the exceptions that covered something."""

    findings: list[Finding] = field(default_factory=list)
    used: set[Allowed] = field(default_factory=set)


def read_glossary(table: Path = TABLE, exceptions: Path = EXCEPTIONS) -> Glossary:
    """Raises ValueError for a row without three columns or without a matcher."""
    lines = [tuple(line.split("\t")) for line in table.read_text(encoding="utf-8").splitlines()]
    if not lines or lines[0] != HEADER:
        raise ValueError(f"{table.name} has to begin with the columns {HEADER}")
    if bad := [line for line in lines if len(line) != len(HEADER) or not all(line)]:
        raise ValueError(f"{table.name}: {bad[0]} has not {len(HEADER)} columns")
    data = tomllib.loads(exceptions.read_text(encoding="utf-8"))
    rows = [Row(old, new, tuple(matchers.split())) for old, new, matchers in lines[1:]]
    return glossary_of(rows, read_allowed(data.get("exception", ())), data["scan"]["python"])


def glossary_of(rows: Sequence[Row], allowed: Sequence[Allowed], python: Sequence[str]) -> Glossary:
    exact: dict[str, Rows] = {}
    parts: dict[tuple[str, ...], Rows] = {}
    files: dict[str, Rows] = {}
    for row in rows:
        for matcher in row.matchers:
            kind, _, rest = matcher.partition(":")
            if matcher.startswith("="):
                exact[matcher[1:]] = (*exact.get(matcher[1:], ()), row)
            elif kind == "file" and rest:
                files[rest] = (row,)
            else:
                key = tuple(matcher.split("_"))
                parts[key] = (*parts.get(key, ()), row)
    return Glossary(rows, allowed, python, exact, parts, files)


def find_old_names(root: Path, glossary: Glossary, prefixes: tuple[str, ...] = ("",)) -> Result:
    """One finding for each name in each file whose path has a prefix, at its first binding."""
    result = Result()
    for path in files_matching(root, [f"{folder}/**/*.py" for folder in glossary.python]):
        relative = str(path.relative_to(root))
        if not relative.startswith(prefixes):
            continue
        found: dict[str, tuple[int, Rows]] = {}
        if rows := rows_of_file(path, glossary):
            found[f"{path.name} (file name)"] = (1, rows)
        for name, line in bound_names(ast.parse(path.read_text(encoding="utf-8"))):
            if name not in found and (rows := rows_of_name(name, glossary)):
                found[name] = (line, rows)
        for name, (line, rows) in found.items():
            covering = next((one for one in glossary.allowed if _covers(one, relative, name)), None)
            if covering is not None:
                result.used.add(covering)
            else:
                use = " or ".join(f"{row.new} (was {row.old})" for row in rows)
                result.findings.append(Finding(relative, line, "glossary", name, use))
    return result


def _covers(one: Allowed, path: str, name: str) -> bool:
    """Unlike in prose, the name is a glob, compared as a whole."""
    return fnmatchcase(path, one.path) and fnmatchcase(name, one.text)


def rows_of_name(name: str, glossary: Glossary) -> Rows:
    """The rows that replace this identifier, if any do. The name of a test is a sentence and has no parts."""
    if rows := glossary.exact.get(name.lstrip("_")):
        return rows
    other_case = name not in (name.lower(), name.upper())
    special = name.startswith("__") and name.endswith("__")
    if other_case or special or name.startswith("test_"):
        return ()
    return _rows_of_parts(name.lower(), glossary)


def rows_of_file(path: Path, glossary: Glossary) -> Rows:
    for pattern, rows in glossary.files.items():
        tested = f"{path.parent.name}/{path.stem}" if "/" in pattern else path.stem
        if fnmatchcase(tested, pattern):
            return rows
    return _rows_of_parts(path.stem, glossary)


def _rows_of_parts(name: str, glossary: Glossary) -> Rows:
    """The longest run of parts decides, so that look_ahead is not reported as look."""
    parts = tuple(part for part in name.split("_") if part)
    for length in range(len(parts), 0, -1):
        for begin in range(len(parts) - length + 1):
            if rows := glossary.parts.get(parts[begin : begin + length]):
                return rows
    return ()


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that the module binds, with its line, in the order of lines."""
    found = (pair for node in ast.walk(tree) for pair in _bound_by(node))
    yield from sorted(found, key=lambda pair: pair[1])


def _bound_by(node: ast.AST) -> Iterator[tuple[str, int]]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name, node.lineno
        case ast.arg(arg=name):
            yield name, node.lineno
        case ast.Name(id=name, ctx=ast.Store()):
            yield name, node.lineno
        case ast.Attribute(attr=name, ctx=ast.Store()):
            yield name, node.lineno
        case ast.alias(asname=str(name)):
            yield name, node.lineno
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name, node.lineno
        case ast.MatchMapping(rest=str(name)):
            yield name, node.lineno
        case _:
            pass
