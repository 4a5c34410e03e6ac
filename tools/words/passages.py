"""The prose of a file, cut into sentences with their line numbers.

A construction often spans a line break, so the text of a comment block, a docstring, a literal or a paragraph
is joined with single spaces before it is searched.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?:;])[\"')*_`]*\s+(?=[\"'(*_`]*[A-Z0-9{])|\s+\|\s+")
LINK_TARGET: Final = re.compile(r"(?<=\])\([^)\s]*\)|\bhttps?://\S+")
NEW_BLOCK: Final = re.compile(r"^(#{1,6} |[-*] |\d+\. |>|\||```)")
MARKUP: Final = " \t*_>#|-\"'(`"
DIRECTIVE: Final = re.compile(r"#\s*(noqa|type:|pragma|fmt:)[^-]*(- )?")
WORDS: Final = re.compile(r"[A-Za-z]{2,}[,;.]?\s+[A-Za-z]{2,}")
REASON: Final = re.compile(r"[A-Z][a-z]+([A-Z][a-z]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`line` is where it begins; `lines` has the line of every character of `text`."""

    text: str
    lines: tuple[int, ...]

    @property
    def line(self) -> int:
        return self.lines[0]


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that are one text, with their numbers."""

    lines: tuple[tuple[int, str], ...]


def sentences_of(block: Block) -> Iterator[Sentence]:
    """Markup around a sentence is left out, so that its first character is its first letter."""
    text, numbers = "", []
    for number, line in block.lines:
        part = " ".join(LINK_TARGET.sub("", line).split())
        if part:
            part = part if not text else f" {part}"
            text += part
            numbers += [number] * len(part)
    begin = 0
    for end in (*(match.end() for match in END_OF_SENTENCE.finditer(text)), len(text)):
        piece = text[begin:end]
        left, right = len(piece) - len(piece.lstrip(MARKUP)), len(piece.rstrip(" \t|"))
        if right > left:
            yield Sentence(piece[left:right], tuple(numbers[begin + left : begin + right]))
        begin = end


def sentences_in(path: Path, *, literals: bool) -> Iterator[Sentence]:
    """The sentences of a file; string literals of Python only where `literals` is set."""
    text = path.read_text(encoding="utf-8")
    blocks: Iterable[Block]
    if path.suffix == ".py":
        blocks = (*comments(text), *strings(ast.parse(text), literals=literals))
    elif path.suffix == ".md":
        blocks = paragraphs(text)
    else:
        blocks = plain_lines(text)
    for block in blocks:
        yield from sentences_of(block)


def sentences_of_name(path: Path) -> Iterator[Sentence]:
    """The file's own name, as prose without a line."""
    name = re.sub(r"[-_]", " ", path.stem)
    yield Sentence(name, (0,) * len(name))


def comments(source: str) -> Iterator[Block]:
    """Comments on consecutive lines are one block."""
    found: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if found and (found[-1][0] + 1 != token.start[0] or token.line[: token.start[1]].strip()):
                yield Block(tuple(found))
                found = []
            found.append((token.start[0], DIRECTIVE.sub("", token.string).lstrip("#!")))
    if found:
        yield Block(tuple(found))


def strings(tree: ast.Module, *, literals: bool) -> Iterator[Block]:
    """Docstrings, also of attributes; with `literals` other strings of two words, or of one in CamelCase."""
    documenting = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    } - {id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and literals and id(node) not in inside:
            yield from _block(node, "".join(_piece(value) for value in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            if id(node) in documenting:
                yield from paragraphs(node.value, node.lineno, node.end_lineno)
            elif literals:
                yield from _block(node, node.value)


def _piece(value: ast.expr) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else "{}"


def _block(node: ast.expr, text: str) -> Iterator[Block]:
    if WORDS.search(text) or REASON.fullmatch(text):
        yield from paragraphs(text, node.lineno, node.end_lineno)


def paragraphs(text: str, first: int = 1, last: int | None = None) -> Iterator[Block]:
    """Markdown: each heading, list item and row of a table is a separate block.

    `last` bounds the line numbers: a literal may have line breaks as escapes.
    """
    block: list[tuple[int, str]] = []
    for index, line in enumerate(text.split("\n"), first):
        number = index if last is None else min(index, last)
        if block and (
            not line.strip() or NEW_BLOCK.match(line.strip()) or block[-1][1].lstrip().startswith("#")
        ):
            yield Block(tuple(block))
            block = []
        if line.strip():
            block.append((number, line))
    if block:
        yield Block(tuple(block))


def plain_lines(text: str) -> Iterator[Block]:
    """YAML, shell and recipes: consecutive comments are one block, every other line is one."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            block.append((number, line.lstrip().lstrip("#!")))
            continue
        if block:
            yield Block(tuple(block))
            block = []
        if WORDS.search(line):
            yield Block(((number, line),))
    if block:
        yield Block(tuple(block))
