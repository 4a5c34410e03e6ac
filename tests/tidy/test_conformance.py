"""The conformance table: marks name existing rows, and the page is up to date."""

import pytest

from conformance.judgement import (
    MOST_DECISIONS,
    coverage_of,
    failing_rows,
    last_line,
    missing_decisions,
    too_many_decisions,
    unknown_ids,
)
from conformance.marked_tests import MarkedTest, find_tests
from conformance.page import PAGE, page, written_decisions
from conformance.rows import Row, read_tables, rows_of

TABLES = read_tables()
ROWS = rows_of(TABLES)
KNOWN = {"N1": Row("One."), "N2": Row("Two.", decision=7, because="No."), "N3": Row("Three.")}
HOLDS = MarkedTest(["N1"], "tests/a.py::test_one", real=False)


@pytest.fixture(scope="module")
def tests() -> dict[str, MarkedTest]:
    return find_tests()


def test_every_mark_names_a_row(tests: dict[str, MarkedTest]) -> None:
    assert not list(unknown_ids(ROWS, tests))


def test_every_decision_that_a_row_names_is_written() -> None:
    assert not list(missing_decisions(ROWS, written_decisions()))


def test_the_page_is_that_of_the_marks(tests: dict[str, MarkedTest]) -> None:
    """`just conformance --table` regenerates the page."""
    assert PAGE.read_text() == page(TABLES, coverage_of(ROWS, tests), written_decisions())


def test_a_row_is_tested_or_decided_or_pending() -> None:
    coverage = coverage_of(KNOWN, {"a": HOLDS})
    assert (coverage.tested, coverage.decided, coverage.pending) == (["N1"], ["N2"], ["N3"])


def test_a_row_with_a_decision_counts_as_decided_though_its_difference_is_tested() -> None:
    coverage = coverage_of(KNOWN, {"a": MarkedTest(["N2"], "tests/a.py::test_two", real=False)})
    assert (coverage.tested, coverage.decided, len(coverage.tests)) == ([], ["N2"], 1)


def test_a_mark_without_a_row_and_a_row_without_its_decision_are_faults() -> None:
    unknown = unknown_ids({}, {"a": HOLDS})
    assert list(unknown) == ["tests/a.py::test_one is marked N1, and there is no such row"]
    assert list(missing_decisions(KNOWN, {})) == ["N2 names decision 7, which does not exist"]


def test_there_are_not_too_many_decisions() -> None:
    many = {f"A{number}": Row("x", 1, "y") for number in range(MOST_DECISIONS + 1)}
    assert list(too_many_decisions(coverage_of(many, {})))
    many.popitem()
    assert not list(too_many_decisions(coverage_of(many, {})))


@pytest.mark.parametrize("ending", ["failed", "skipped", "not run"])
def test_a_row_fails_with_any_of_its_cases_unless_it_passed(ending: str) -> None:
    tests = {"a[1]": HOLDS, "a[2]": HOLDS}
    assert failing_rows(tests, {"a[1]": "passed", "a[2]": "passed"}) == {}
    assert failing_rows(tests, {"a[1]": "passed", "a[2]": ending}) == {"N1": [f"a[2]: {ending}"]}


def test_the_figure_shows_all_counts() -> None:
    coverage = coverage_of(KNOWN, {"a": HOLDS})
    line = "conformance: 3 rows: 1 tested (1 tests), 1 by decision (at most 45), 1 pending, 0 failing"
    assert last_line(coverage, 0, 0) == line
    assert last_line(coverage, 0, 1) == f"{line}; 1 test did not run"
