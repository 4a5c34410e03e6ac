"""`python -m docs_check [PAGE ...]`: what the documentation says against the repository."""

import sys
from pathlib import Path
from typing import Final

from docs_check.commands import mentioned, wrong_commands
from docs_check.links import links, wrong_links
from docs_check.names import read_known, wrong_names
from docs_check.pages import Fault, Page, parse, read_page
from docs_check.snippets import is_shell, wrong_snippets

ROOT: Final = Path(__file__).resolve().parents[2]
_PAGES: Final = (
    "*.md",
    ".github/**/*.md",
    "docs/**/*.md",
    "deploy/**/*.md",
    "tests/**/README.md",
    "tools/**/README.md",
)
_WITH_SNIPPETS: Final = ("README.md", "CONTRIBUTING.md", "docs/how-to/")
_HISTORY: Final = frozenset({"CHANGELOG.md"})
"""Names what was: only its links are checked."""


def main(arguments: list[str]) -> int:
    """0 if nothing is wrong. With pages as arguments only they are checked."""
    paths = [Path(one).resolve() for one in arguments]
    pages = {path: read_page(path, ROOT) for pattern in _PAGES for path in sorted(ROOT.glob(pattern))}
    chosen = [page for path, page in pages.items() if not paths or path in paths]
    known = read_known(ROOT)
    faults: list[Fault] = []
    for page in chosen:
        faults += wrong_links(page, pages)
        name = page.path.relative_to(ROOT).as_posix()
        if name in _HISTORY:
            continue
        faults += [*wrong_names(page, known), *wrong_commands(page)]
        if name.startswith(_WITH_SNIPPETS):
            faults += wrong_snippets(page, ROOT)
    for form in [] if paths else sorted((ROOT / ".github").rglob("*.yml")):
        faults += wrong_commands(_form(form))
    for fault in faults:
        print(fault.format(ROOT))
    print(_figure(chosen, len(faults)))
    return 1 if faults else 0


def _form(path: Path) -> Page:
    """An issue form, whose labels are commands: each line is a snippet."""
    lines = [line.strip().removeprefix("label: ") for line in path.read_text().splitlines()]
    return parse(path, "\n".join(f"    {line}" if line else "" for line in lines))


def _figure(pages: list[Page], wrong: int) -> str:
    snippets = [
        block
        for page in pages
        if page.path.relative_to(ROOT).as_posix().startswith(_WITH_SNIPPETS)
        for block in page.blocks
        if is_shell(block)
    ]
    return (
        f"{sum(len(links(page)) for page in pages)} links,"
        f" {sum(len(mentioned(page)) for page in pages)} commands, {len(snippets)} snippets: {wrong} wrong"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
