"""`python -m conformance`: runs the tests that check the rows, and writes the table of rows.

Fails if a test fails, the table was stale, a mark names no row, too many rows are not adopted, or rows are
pending. With --so-far, pending rows are no failure.
"""

import argparse
import sys
from collections.abc import Mapping

from conformance.judgement import (
    coverage_of,
    failing_rows,
    last_line,
    missing_decisions,
    too_many_decisions,
    unknown_ids,
)
from conformance.marked_tests import MarkedTest, PytestError, find_tests, run_tests
from conformance.page import PAGE, page, renew, written_decisions
from conformance.rows import read_tables, rows_of
from controlplane.build import is_built
from controlplane.pins import USUAL_KUBERNETES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--so-far", action="store_true", help="do not fail if rows are pending")
    parser.add_argument("--table", action="store_true", help="only write the table; run nothing")
    options = parser.parse_args()
    tables = read_tables()
    rows, decisions = rows_of(tables), written_decisions()
    try:
        tests = find_tests()
        endings = {} if options.table else _run(tests)
    except PytestError as error:
        print(error)
        return 1
    coverage, failing = coverage_of(rows, tests), failing_rows(tests, endings)
    stale = renew(PAGE, page(tables, coverage, decisions))
    faults = [
        *unknown_ids(rows, tests),
        *missing_decisions(rows, decisions),
        *too_many_decisions(coverage),
        *(f"{id_} fails: {', '.join(why)}" for id_, why in sorted(failing.items())),
    ]
    if stale and not options.table:
        faults.append(f"{PAGE.name} was stale and has been rewritten")
    for fault in faults:
        print(fault)
    if coverage.pending and not options.so_far:
        print(f"pending: {' '.join(coverage.pending)}")
    not_run = {test.name for node, test in tests.items() if node not in endings}
    print(last_line(coverage, len(failing), len(not_run)))
    return 1 if faults or (coverage.pending and not (options.so_far or options.table)) else 0


def _run(tests: Mapping[str, MarkedTest]) -> dict[str, str]:
    endings = run_tests(tests, real=False)
    return endings | (run_tests(tests, real=True) if is_built(USUAL_KUBERNETES) else {})


if __name__ == "__main__":
    sys.exit(main())
