"""Relative links and their anchors."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from docs_check.pages import Fault, Page, parse

_LINK: Final = re.compile(
    r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|<(?:img|a)\s[^>]*(?:src|href)=\"([^\"]+)\""
)
_ELSEWHERE: Final = re.compile(r"^[a-z][a-z0-9+.-]*:")


def links(page: Page) -> list[tuple[int, str]]:
    """Links within the repository, with their lines."""
    return [
        (line, found[1] or found[2])
        for line, text in page.without_code()
        for found in _LINK.finditer(text)
        if not _ELSEWHERE.match(found[1] or found[2])
    ]


def wrong_links(page: Page, pages: Mapping[Path, Page]) -> Iterator[Fault]:
    for line, target in links(page):
        name, _, anchor = target.partition("#")
        path = (page.path.parent / unquote(name)).resolve() if name else page.path
        if name and not path.exists():
            yield Fault(page.path, line, f"no such file: {target}")
        elif anchor and path.suffix == ".md":
            to = page if not name else pages.get(path) or parse(path, path.read_text())
            if anchor not in to.anchors():
                yield Fault(page.path, line, f"no such heading: {target}")
