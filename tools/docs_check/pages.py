"""Markdown pages as far as the checks need them: prose, code spans, code blocks, headings, comments."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_FENCE: Final = re.compile(r"^(\s*)(```+|~~~+)\s*(\S*)")
_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_COMMENT: Final = re.compile(r"<!--(.*?)-->", re.DOTALL)
_HEADING: Final = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Fault:
    page: Path
    line: int
    text: str

    def format(self, root: Path) -> str:
        return f"{self.page.relative_to(root)}:{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Span:
    """Code within a line of prose."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Code on separate lines, without its indentation."""

    line: int
    language: str
    text: str
    comment: str
    """The HTML comment directly before it, or nothing."""


@dataclass(slots=True)
class Page:
    path: Path
    folder: str = "."
    """Relative to the root of the repository."""
    prose: list[tuple[int, str]] = field(default_factory=list)
    """Lines outside code blocks and comments, with their numbers."""
    blocks: list[Block] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def spans(self) -> Iterator[Span]:
        text = "\n".join(line for _, line in self.prose)
        numbers = [number for number, _ in self.prose]
        for found in _SPAN.finditer(text):
            # A span never crosses the end of a paragraph.
            if "\n\n" not in found[2]:
                line = numbers[text.count("\n", 0, found.start())]
                yield Span(line, " ".join(found[2].split()))

    def without_code(self) -> Iterator[tuple[int, str]]:
        """Prose whose code spans are blanked."""
        yield from ((number, _SPAN.sub(" ", line)) for number, line in self.prose)

    def anchors(self) -> set[str]:
        """The anchors that GitHub gives the headings, and those written in HTML."""
        found: set[str] = set()
        for _, line in self.prose:
            found |= set(re.findall(r"<a (?:name|id)=\"([^\"]+)\"", line))
            if heading := _HEADING.match(line):
                slug = _slug(heading[1])
                number = 0
                while (name := f"{slug}-{number}" if number else slug) in found:
                    number += 1
                found.add(name)
        return found


def read_page(path: Path, root: Path) -> Page:
    return parse(path, path.read_text(), path.parent.relative_to(root).as_posix())


def parse(path: Path, text: str, folder: str = ".") -> Page:
    page = Page(path, folder)
    lines = _COMMENT.sub(lambda found: _kept(found[0]), text).splitlines()
    index, comment, indent = 0, "", 0
    while index < len(lines):
        line = lines[index]
        after_blank = index == 0 or not lines[index - 1].strip() or lines[index - 1].startswith("\0")
        if line.strip().startswith("\0"):
            comment = line.strip().strip("\0").strip()
            page.comments.append(comment)
        elif fence := _FENCE.match(line):
            end = next((n for n in range(index + 1, len(lines)) if lines[n].strip() == fence[2]), len(lines))
            page.blocks.append(_block(index + 1, fence[3], lines[index + 1 : end], comment))
            index, comment = end, ""
        elif line.strip() and after_blank and _indent(line) >= indent + _INDENT and not _ITEM.match(line):
            end = index
            while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) >= indent + _INDENT):
                end += 1
            page.blocks.append(_block(index, "", lines[index:end], comment))
            index, comment = end - 1, ""
        else:
            if line.strip():
                comment = ""
                indent = _content(line, indent)
            page.prose.append((index + 1, line))
        index += 1
    return page


def _kept(comment: str) -> str:
    """One line in place of a comment, and its line ends."""
    inner = " ".join(comment.removeprefix("<!--").removesuffix("-->").split())
    return f"\0{inner}\0" + "\n" * comment.count("\n")


def _block(line: int, language: str, lines: list[str], comment: str) -> Block:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    depth = min((_indent(one) for one in lines if one.strip()), default=0)
    return Block(line + 1, language, "\n".join(one[depth:] for one in lines), comment)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _content(line: str, indent: int) -> int:
    """The column of the text in a list item, or of a paragraph that continues one."""
    if item := _ITEM.match(line):
        return item.end()
    return min(indent, _indent(line))


def _slug(heading: str) -> str:
    plain = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
