"""Names of tests of a related project, each with equivalent tests of Nodemend, or the reason for none."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from conformance.rows import read_yaml

CAPM3: Final = Path(__file__).with_name("maps") / "capm3.yaml"


class Held(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`by` are tests: file::name or file::name[case], the file by its short name.

    `but`: Nodemend's difference.
    """

    by: list[str]
    but: str = ""

    def __post_init__(self) -> None:
        if not self.by:
            raise ValueError("an entry needs at least one test")


class Names(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the other project. A name with only a text has a reason; an empty one is unmapped."""

    title: str
    names: dict[str, Held | str | None]


class NameMap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    about: str
    files: dict[str, str]
    """Nodemend's test files, by a short name."""
    sections: list[Names]

    def __iter__(self) -> Iterator[tuple[str, str, Held | str | None]]:
        """Section, name, and its tests or reason."""
        for section in self.sections:
            for name, fate in section.names.items():
                yield section.title, name, fate

    def tests_of(self, held: Held) -> list[str]:
        """Raises ValueError for a file that is not among the short names."""
        return [self._whole(test) for test in held.by]

    def _whole(self, test: str) -> str:
        short, _, rest = test.partition("::")
        if short not in self.files:
            raise ValueError(f"{test}: {short} is not a file of the map")
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
    """Raises ValueError for an invalid map."""
    return msgspec.convert(read_yaml(file), NameMap)


def summary_of(names: NameMap) -> Figures:
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
    """Tests that are named and do not exist. One without a case includes all its cases."""
    there = {*collected, *(node.partition("[")[0] for node in collected)}
    return sorted(named - there)


def cases_of(named: set[str], collected: Mapping[str, bool]) -> dict[str, bool]:
    """Every case of the named tests, and whether it needs the real control plane."""
    return {
        node: real for node, real in collected.items() if node in named or node.partition("[")[0] in named
    }
