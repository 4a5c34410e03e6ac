"""`python -m tests.models [full | NAME...]`: the properties, every bound one tick below, every mutant."""

import signal
import sys
from collections.abc import Iterable

from tests.models.full import FULL
from tests.models.mutants import MUTANTS
from tests.models.pan import Held, Outcome, Unfinished, Verdict, Violated, check
from tests.models.runs import HOLDING, REACHED, TIGHT, Run
from tests.models.safe_time import CLAIMS

LEAST_STATES = {"ci": 20_000_000, "full": 300_000_000}
LEAST_MUTANTS = 20


def words(verdict: Verdict) -> str:
    match verdict:
        case Held():
            return f"holds, {verdict.states:,} states"
        case Violated():
            return f"counterexample of {len(verdict.story)} events, {verdict.states:,} states"
        case Unfinished():
            return f"UNFINISHED after {verdict.states:,} states: {verdict.why}"


def reported(outcome: Outcome, expected: str) -> str:
    return f"{expected:9} {outcome.run.name:24} {words(outcome.verdict)}, {outcome.seconds:.1f} s"


def search(
    runs: Iterable[Run], expected: str, wanted: type[Held] | type[Violated]
) -> tuple[int, int, list[str]]:
    """The runs, the stored states, and the names of the runs with an unexpected result."""
    count, states, wrong = 0, 0, []
    for run in runs:
        outcome = check(run)
        count, states = count + 1, states + outcome.verdict.states
        right = isinstance(outcome.verdict, wanted)
        print(reported(outcome, expected) + ("" if right else "   <- WRONG"), flush=True)
        if not right:
            wrong.append(run.name)
    return count, states, wrong


def claims() -> list[str]:
    """The claims over the reals with an unexpected result."""
    wrong = []
    for claim in CLAIMS:
        found = claim.holds()
        print(f"{'reals':9} {claim.name:24} {claim.shows}" + ("" if found else "   <- WRONG"), flush=True)
        if not found:
            wrong.append(claim.name)
    return wrong


def campaign(size: str) -> int:
    wrong = claims()
    holding, held_states, bad = search(HOLDING + (FULL if size == "full" else ()), "holds", Held)
    tight, tight_states, loose = search(TIGHT, "tight", Violated)
    reached, reached_states, dead = search(REACHED, "reached", Violated)
    mutants, mutant_states, missed = search(MUTANTS, "mutant", Violated)
    wrong += bad + loose + dead + missed
    states = held_states + tight_states + reached_states + mutant_states
    enough = states >= LEAST_STATES[size] and mutants - len(missed) >= LEAST_MUTANTS
    print(
        f"{states:,} states (bar {LEAST_STATES[size]:,}); {holding - len(bad)} of {holding} runs hold, "
        f"{tight - len(loose)} of {tight} bounds tight, {reached - len(dead)} of {reached} reached, "
        f"{len(CLAIMS)} claims over the reals, {mutants - len(missed)} of {mutants} mutants caught"
        + (f"; WRONG: {', '.join(wrong)}" if wrong else "")
    )
    return 0 if enough and not wrong else 1


def tell(names: list[str]) -> int:
    """Run these by name, and print the counterexamples."""
    known = {run.name: run for run in (*HOLDING, *TIGHT, *REACHED, *MUTANTS, *FULL)}
    for name in names:
        if name not in known:
            print(f"there is no run {name}")
            return 2
        outcome = check(known[name])
        print(reported(outcome, "run"))
        if isinstance(outcome.verdict, Violated):
            print("\n".join(f"  {line}" for line in outcome.verdict.story))
    return 0


if __name__ == "__main__":
    # On SIGTERM it ends its search and removes its folder, as on any exception.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    asked = sys.argv[1:]
    sys.exit(campaign("full" if asked else "ci") if asked in ([], ["full"]) else tell(asked))
