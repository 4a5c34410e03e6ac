"""`python -m attacks`: plays every finding of the review, and says how many attacks succeed.

Fails when an attack succeeds, a finding is not played, or there are too few attacks. With --simulated no test
runs that needs the real control plane; with --list none does. With --mutants it takes the fixes away that
mutants.yaml names, one at a time, and fails where the attacks of that finding do not notice.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

import msgspec

from attacks.judgement import FEWEST_ATTACKS, Finding, attacks_of, faults_of, succeeding
from attacks.mutants import hunt_all
from conformance.marked_tests import PytestError, find_tests, run_tests

MARK: Final = "attack"
FINDINGS: Final = Path(__file__).with_name("findings.yaml")


def read_findings() -> dict[str, Finding]:
    return msgspec.yaml.decode(FINDINGS.read_bytes(), type=dict[str, Finding])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulated", action="store_true", help="only what needs no real control plane")
    parser.add_argument("--no-worse", action="store_true", help="findings that are listed as open may be so")
    parser.add_argument("--list", action="store_true", help="run nothing; say who plays what")
    parser.add_argument("--mutants", nargs="?", const="", help="take fixes away; of this finding, or by name")
    options = parser.parse_args()
    if options.mutants is not None:
        return _hunt(options.mutants, real=not options.simulated)
    findings = read_findings()
    try:
        tests = find_tests(mark=MARK)
        endings = {} if options.list else run_tests(tests, real=False, mark=MARK)
        if not (options.list or options.simulated):
            endings |= run_tests(tests, real=True, mark=MARK)
    except PytestError as error:
        print(error)
        return 1
    for id_, finding in findings.items():
        playing = sorted({test.name for test in tests.values() if id_ in test.rows})
        print(f"{id_}: {finding.instead or ', '.join(playing) or 'not played'}")
    faults = [*faults_of(findings, tests, no_worse=options.no_worse), *succeeding(endings)]
    played = len(attacks_of(tests) if options.list else {tests[node].name for node in endings})
    if not options.simulated and played < FEWEST_ATTACKS:
        faults.append(f"{played} attacks, where at least {FEWEST_ATTACKS} are wanted")
    for fault in faults:
        print(fault)
    still_open = [id_ for id_, finding in findings.items() if finding.open]
    outcome = "none played" if options.list else f"{len(succeeding(endings))} succeed"
    print(
        f"attacks: {played} attacks of {len(findings)} findings, {outcome}"
        + (f"; open: {' '.join(still_open)}" if still_open else "")
    )
    return 1 if faults else 0


def _hunt(only: str, *, real: bool) -> int:
    hunted = []
    for one in hunt_all(find_tests(mark=MARK), real=real, only=only):
        print(f"{one.mutant.finding}: {one.mutant.name}: {one.caught_by or 'NOT CAUGHT'}", flush=True)
        hunted.append(one)
    caught = sum(bool(one.caught_by) for one in hunted)
    print(f"attack-mutants: {caught} of {len(hunted)} caught by the attacks of their finding")
    return 0 if hunted and caught == len(hunted) else 1


if __name__ == "__main__":
    sys.exit(main())
