"""Names of tests of a neighbour, each with tests of ours that hold the same, or the reason why none does."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from conformance.rows import read_yaml

CAPM3: Final = Path(__file__).with_name("maps") / "capm3.yaml"


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`by` are tests: file::name or file::name[case], the file by its short name. `but`: how ours differs."""

    by: list[str]
    but: str = ""

    def __post_init__(self) -> None:
        if not self.by:
            raise ValueError("held by nothing is not held")


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of theirs. A name that has only a text has a reason; one that has nothing is unmapped."""

    title: str
    names: dict[str, Held | str | None]


class NameMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    about: str
    files: dict[str, str]
    """Ours, by a short name."""
    sections: list[Names]

    def __iter__(self) -> Iterator[tuple[str, str, Held | str | None]]:
        """Section, name, and what became of it."""
        for section in self.sections:
            for name, fate in section.names.items():
                yield section.title, name, fate

    def tests_of(self, held: Held) -> list[str]:
        """Raises ValueError for a file that is not among the short names."""
        return [self._whole(test) for test in held.by]

    def _whole(self, test: str) -> str:
        short, _, rest = test.partition("::")
        if short not in self.files:
            raise ValueError(f"{test}: {short} is no file of the map")
        return f"{self.files[short]}::{rest}"


class Figures(msgspec.Struct, frozen=True):
    names: int
    tested: int
    tests: int
    by_reason: int
    unmapped: list[str]

    def __str__(self) -> str:
        return (
            f"{self.names} names: {self.tested} tested by {self.tests} tests, {self.by_reason} by reason,"
            f" {len(self.unmapped)} unmapped"
        )


def read_map(file: Path = CAPM3) -> NameMap:
    """Raises ValueError for what is no map."""
    return msgspec.convert(read_yaml(file), NameMap)


def figures_of(names: NameMap) -> Figures:
    fates = [fate for _, _, fate in names]
    held = [fate for fate in fates if isinstance(fate, Held)]
    return Figures(
        names=len(fates),
        tested=len(held),
        tests=len({test for fate in held for test in names.tests_of(fate)}),
        by_reason=sum(isinstance(fate, str) for fate in fates),
        unmapped=[f"{section}: {name}" for section, name, fate in names if fate is None],
    )


def named_tests(names: NameMap) -> set[str]:
    return {test for _, _, fate in names if isinstance(fate, Held) for test in names.tests_of(fate)}


def missing_tests(named: set[str], collected: Mapping[str, bool]) -> list[str]:
    """Tests that are named and are not there. One without a case stands for all its cases."""
    there = {*collected, *(node.partition("[")[0] for node in collected)}
    return sorted(named - there)


def cases_of(named: set[str], collected: Mapping[str, bool]) -> dict[str, bool]:
    """Every case of what is named, and whether it needs the real control plane."""
    return {
        node: real for node, real in collected.items() if node in named or node.partition("[")[0] in named
    }
