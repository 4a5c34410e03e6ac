"""Finds banned constructions: the list is banned.toml, the prose comes from passages."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from words.findings import HERE, Allowed, Finding, files_matching, read_allowed
from words.passages import Sentence, sentences_in, sentences_of_name

LIST: Final = HERE / "banned.toml"


@dataclass(frozen=True, slots=True)
class Banned:
    """One construction, with an example that it matches and the replacement, which it does not match."""

    id: str
    regex: re.Pattern[str]
    why: str
    use: str
    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class BannedList:
    """banned.toml. `literals` are the folders of `python` whose strings users read; `text` has globs."""

    banned: Sequence[Banned]
    allowed: Sequence[Allowed]
    python: Sequence[str]
    literals: Sequence[str]
    text: Sequence[str]
    generated: Sequence[str]


@dataclass(slots=True)
class Result:
    """The findings, and the exceptions that covered something."""

    findings: list[Finding] = field(default_factory=list)
    used: set[Allowed] = field(default_factory=set)


def read_list(path: Path = LIST) -> BannedList:
    """Raises KeyError for a missing field and re.error for a bad regex."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return BannedList(
        [
            Banned(
                one["id"],
                re.compile(one["regex"], re.IGNORECASE),
                one["why"],
                one["use"],
                one["bad"],
                one["good"],
            )
            for one in data["banned"]
        ],
        read_allowed(data.get("exception", ())),
        **data["scan"],
    )


def scanned_files(root: Path, words: BannedList) -> Iterator[tuple[Path, bool]]:
    """Every file to search, and whether its string literals are searched too."""
    generated = set(files_matching(root, words.generated))
    for folder in words.python:
        for path in files_matching(root, [f"{folder}/**/*.py"]):
            yield path, folder in words.literals
    for path in files_matching(root, words.text):
        if path not in generated and path.suffix != ".py":
            yield path, False


def find_banned(root: Path, words: BannedList, prefixes: tuple[str, ...] = ("",)) -> Result:
    """`prefixes` are of the paths to search, relative to `root`."""
    result = Result()
    for path, literals in scanned_files(root, words):
        name = str(path.relative_to(root))
        if not name.startswith(prefixes):
            continue
        for sentence in (*sentences_of_name(path), *sentences_in(path, literals=literals)):
            _search(name, sentence, words, result)
    return result


def _search(path: str, sentence: Sentence, words: BannedList, result: Result) -> None:
    for banned in words.banned:
        for match in banned.regex.finditer(sentence.text):
            covering = next((one for one in words.allowed if _covers(one, path, sentence, match)), None)
            if covering is not None:
                result.used.add(covering)
            else:
                text = match.group() if len(match.group()) <= 60 else f"{match.group()[:57]}..."
                result.findings.append(
                    Finding(path, sentence.lines[match.start()], banned.id, f'"{text}"', banned.use)
                )


def _covers(one: Allowed, path: str, sentence: Sentence, match: re.Match[str]) -> bool:
    """True if the exception's text includes this match; another match needs its own exception."""
    if not one.covers(path, sentence.text):
        return False
    begin = sentence.text.find(one.text)
    while begin >= 0:
        if begin <= match.start() and match.end() <= begin + len(one.text):
            return True
        begin = sentence.text.find(one.text, begin + 1)
    return False
