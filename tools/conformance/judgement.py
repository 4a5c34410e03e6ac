"""The number of rows that the tests check, and the faults. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from conformance.marked_tests import MarkedTest
from conformance.rows import Row
from nodemend.safety.holds import spell_count

MOST_DECISIONS: Final = 45


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every row, with the names of the tests that check it."""

    rows: Mapping[str, Row]
    held_by: Mapping[str, list[str]]

    @property
    def decided(self) -> list[str]:
        """Rows with a decision, including those whose difference is tested."""
        return [id_ for id_, row in self.rows.items() if row.decision]

    @property
    def tested(self) -> list[str]:
        return [id_ for id_, row in self.rows.items() if self.held_by[id_] and not row.decision]

    @property
    def pending(self) -> list[str]:
        return [id_ for id_, row in self.rows.items() if not self.held_by[id_] and not row.decision]

    @property
    def tests(self) -> set[str]:
        return {name for names in self.held_by.values() for name in names}


def coverage_of(rows: Mapping[str, Row], tests: Mapping[str, MarkedTest]) -> Coverage:
    held_by: dict[str, list[str]] = {id_: [] for id_ in rows}
    for name, id_ in sorted({(test.name, id_) for test in tests.values() for id_ in test.rows}):
        if id_ in held_by:
            held_by[id_].append(name)
    return Coverage(rows, held_by)


def unknown_ids(rows: Mapping[str, Row], tests: Mapping[str, MarkedTest]) -> Iterator[str]:
    """Marks that name no row."""
    for name, id_ in sorted({(test.name, id_) for test in tests.values() for id_ in test.rows}):
        if id_ not in rows:
            yield f"{name} is marked {id_}, and there is no such row"


def missing_decisions(rows: Mapping[str, Row], written: Mapping[int, str]) -> Iterator[str]:
    for id_, row in rows.items():
        if row.decision and row.decision not in written:
            yield f"{id_} names decision {row.decision}, which does not exist"


def too_many_decisions(coverage: Coverage) -> Iterator[str]:
    if len(coverage.decided) > MOST_DECISIONS:
        yield f"{len(coverage.decided)} rows are not adopted by decision; the maximum is {MOST_DECISIONS}"


def failing_rows(tests: Mapping[str, MarkedTest], endings: Mapping[str, str]) -> dict[str, list[str]]:
    """Rows with a test that ran and did not pass."""
    failing: dict[str, list[str]] = {}
    for node, ending in endings.items():
        if ending != "passed":
            for id_ in tests[node].rows:
                failing.setdefault(id_, []).append(f"{node}: {ending}")
    return failing


def last_line(coverage: Coverage, failing: int, not_run: int) -> str:
    line = (
        f"conformance: {len(coverage.rows)} rows: {len(coverage.tested)} tested"
        f" ({len(coverage.tests)} tests), {len(coverage.decided)} by decision (at most {MOST_DECISIONS}),"
        f" {len(coverage.pending)} pending, {failing} failing"
    )
    return f"{line}; {spell_count(not_run, 'test')} did not run" if not_run else line
