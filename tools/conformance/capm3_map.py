"""`python -m conformance.capm3_map`: CAPM3's tests of its remediation, each with equivalent tests of
Nodemend.

Fails if a name has neither tests nor a reason, a test is missing or does not pass, or the page was stale.
"""

import argparse
import sys
from collections.abc import Mapping

from conformance.marked_tests import FOUND_WITHIN, PASSED, ROOT, RUN_WITHIN, PytestError, call_pytest
from conformance.name_map import NameMap, cases_of, missing_tests, named_tests, read_map, summary_of
from conformance.name_map_page import PAGE, page
from conformance.page import renew
from controlplane.build import is_built
from controlplane.pins import USUAL_KUBERNETES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="only write the page; run nothing")
    options = parser.parse_args()
    names = read_map()
    try:
        collected = collect(names)
        missing = missing_tests(named_tests(names), collected)
        faults = [f"there is no test {test}" for test in missing]
        if not (missing or options.table):
            faults += _run(cases_of(named_tests(names), collected))
    except PytestError as error:
        print(error)
        return 1
    if renew(PAGE, page(names)) and not options.table:
        faults.append(f"{PAGE.name} was stale and has been rewritten")
    summary = summary_of(names)
    for fault in (*faults, *(f"unmapped: {name}" for name in summary.unmapped)):
        print(fault)
    print(f"capm3-map: {summary}")
    return 1 if faults or summary.unmapped else 0


def collect(names: NameMap) -> dict[str, bool]:
    """Every test of the files that the map names; True for those that need the real control plane.

    A missing file has none.
    """
    files = sorted(file for file in set(names.files.values()) if (ROOT / file).is_file())
    done, notes = call_pytest(FOUND_WITHIN, "--collect-only", "-q", *files)
    if done.returncode != PASSED:
        raise PytestError(done.stdout[-4000:])
    return notes.collected


def _run(cases: Mapping[str, bool]) -> list[str]:
    """The tests that did not pass. Tests with a real control plane run only if it is built."""
    faults: list[str] = []
    for real in (False, True) if is_built(USUAL_KUBERNETES) else (False,):
        chosen = [node for node, needs in cases.items() if needs == real]
        if chosen:
            _, notes = call_pytest(RUN_WITHIN, "-q", *(() if real else ("-n", "2")), *chosen)
            endings = {node: notes.endings.get(node, "not run") for node in chosen}
            faults += [f"{node}: {ending}" for node, ending in endings.items() if ending != "passed"]
    return faults


if __name__ == "__main__":
    sys.exit(main())
