"""`python -m tests.campaigns.host_conformance`: recorded sequences against the simulated host operator."""

import argparse
import sys

from tests.campaigns.host_conformance.comparing import compare
from tests.campaigns.host_conformance.recordings import scenarios
from tests.campaigns.host_conformance.replay import LEAST, MOST, play


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    chosen = [scenario for scenario in scenarios() if parser.parse_args().only in scenario.name]
    steps = changes = differences = 0
    for scenario in chosen:
        found = compare(scenario, play(scenario, LEAST), play(scenario, MOST))
        print(f"{scenario.name}: {len(found) or 'no'} differences")
        for difference in found:
            print(f"    {difference}")
        steps += len(scenario.steps)
        changes += sum(len(step.changes) for step in scenario.steps)
        differences += len(found)
    print(f"{len(chosen)} scenarios, {steps} steps, {changes} changes: {differences} differences")
    return 1 if differences or not changes else 0


if __name__ == "__main__":
    sys.exit(main())
