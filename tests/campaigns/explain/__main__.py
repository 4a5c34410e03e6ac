"""`python -m tests.campaigns.explain`: outcomes have texts, answers are as reviewed, simulate is fast."""

import argparse
import sys
import tempfile
from pathlib import Path

from exit_status import exit_status
from tests.campaigns.explain.speed import NODES, best_cost
from tests.campaigns.explain.verdicts import VERDICTS, verdicts_without_words
from tests.campaigns.explain.words import (
    PHASES,
    REASONS,
    STEPS,
    phases_without_words,
    reasons_without_words,
    steps_without_words,
)
from tests.unit.cli.explain import goldens as explain_goldens
from tests.unit.cli.explain import machine_goldens
from tests.unit.cli.simulate import goldens as simulate_goldens


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bar", type=float, default=2.0, help="seconds of CPU")
    bar = parser.parse_args().bar
    wordless = [
        *reasons_without_words(),
        *verdicts_without_words(),
        *steps_without_words(),
        *phases_without_words(),
    ]
    answers = len(explain_goldens.WORLDS) + len(machine_goldens.NAMES) + len(simulate_goldens.GOLDENS)
    other = explain_goldens.differences() + machine_goldens.differences() + simulate_goldens.differences()
    for line in (*wordless, *(f"{name} says something else now" for name in other)):
        print(line)
    with tempfile.TemporaryDirectory() as folder:
        cost = best_cost(Path(folder))
    spent = f"{cost.cpu:.2f} s of CPU (bar {bar:g} s; {cost.wall:.2f} s by the clock)"
    print(
        f"explain: {len(REASONS)} reasons, {len(VERDICTS)} verdicts, {len(STEPS)} steps,"
        f" {len(PHASES)} phases of a recovery, {len(wordless)} without words;"
        f" {answers - len(other)} of {answers} answers as read; simulate {NODES:,} nodes in {spent}"
    )
    return exit_status(wrong=bool(wordless or other), late=cost.cpu > bar)


if __name__ == "__main__":
    sys.exit(main())
