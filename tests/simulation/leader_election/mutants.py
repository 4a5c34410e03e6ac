"""Breaks the elector on purpose, one rule at a time. The campaign must detect every mutant.

    python -m tests.simulation.leader_election.mutants --runs 400

Each mutant is a copy of the sources with one line changed. It runs until a guarantee is violated.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    module: str
    line: str
    instead: str


MUTANTS: Final = (
    Mutant(
        "a term counts from the answer",
        "leader_election",
        "ends_at=sent_at + self._timing.renew_deadline,",
        "ends_at=sent_at + self._timing.renew_deadline + self._timing.request_timeout,",
    ),
    Mutant(
        "renewals of the holder do not start the count again",
        "leader_election",
        "if self._sighting is None or not _same(self._sighting.record, record):",
        "if self._sighting is None or self._sighting.record.holder != record.holder:",
    ),
    Mutant(
        "reading that the Lease is ours extends the term",
        "leader_election",
        "self._term = replace(term, record=record)",
        "self._term = replace(term, record=record, ends_at=now + self._timing.renew_deadline)",
    ),
    Mutant(
        "a renewal without an answer is believed",
        "leader_election",
        "return self._within(term, self._pause(now, why, retry_after))",
        "self._term = self._term_from(term.epoch, term.record); return self._pause(now, why, retry_after)",
    ),
    Mutant(
        "a holder who asks for longer is not heard",
        "leader_election",
        "wait = max(own, record.seconds) if record.holder else record.seconds or own",
        "wait = own if record.holder else record.seconds or own",
    ),
    Mutant(
        "a Lease held by nobody is free at once",
        "leader_election",
        "wait = max(own, record.seconds) if record.holder else record.seconds or own",
        "wait = max(own, record.seconds) if record.holder else 0",
    ),
    Mutant(
        "half a lease duration is enough",
        "leader_election",
        "return sighting.since + wait",
        "return sighting.since + wait / 2",
    ),
    Mutant(
        "the epoch is the number of transitions",
        "leader_election",
        "term = self._term_from(record.revision, record)",
        "term = self._term_from(record.transitions, record)",
    ),
    Mutant(
        "a term lasts until somebody ends it",
        "leader_runner",
        "return now + needing < self._ends_at",
        'return self._ends_at > float("-inf")',
    ),
    Mutant(
        "the gate does not look at the clock",
        "leader_runner",
        "if not self._leadership.may_begin(self._runtime.monotonic(), self._needing):",
        "if self._leadership is None:",
    ),
)


def is_caught(mutant: Mutant, runs: int) -> bool:
    """Return whether the campaign detects a violated guarantee. Raises RuntimeError for any other failure."""
    with tempfile.TemporaryDirectory() as directory:
        sources = Path(directory) / "src"
        shutil.copytree(_ROOT / "src", sources)
        target = sources / "nodemend/kube" / f"{mutant.module}.py"
        text = target.read_text()
        if text.count(mutant.line) != 1:
            raise LookupError(f"{mutant.name}: its line is not in {mutant.module} exactly once")
        target.write_text(text.replace(mutant.line, mutant.instead))
        campaign = [sys.executable, "-m", "tests.simulation.leader_election"]
        ended = subprocess.run(
            [*campaign, "--runs", str(runs), "--until-broken"],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(sources)},
            capture_output=True,
            text=True,
            check=False,
            timeout=1800,
        )
    if ended.returncode not in (0, 1) or "simulated runs" not in ended.stdout:
        raise RuntimeError(f"{mutant.name}: {ended.stderr[-2000:]}")
    return ended.returncode == 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400, help="the most runs that each mutant is played for")
    runs = parser.parse_args().runs
    caught = 0
    for mutant in MUTANTS:
        found = is_caught(mutant, runs)
        caught += found
        sys.stdout.write(f"{'caught' if found else 'SURVIVED'}: {mutant.name}\n")
    sys.stdout.write(f"elector mutants caught: {caught} of {len(MUTANTS)}\n")
    return 0 if caught == len(MUTANTS) else 1


if __name__ == "__main__":
    sys.exit(main())
