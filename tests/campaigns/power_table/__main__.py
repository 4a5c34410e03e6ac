"""`python -m tests.campaigns.power_table`: the power table is total and agrees with seed and docs."""

import sys
from collections.abc import Iterator

from generate.cli_reference import REFERENCE, reference_pages
from generate.power_table import SEED_ROWS
from nodemend.remediation.metal3.power_table import TABLE, move_for
from tests.campaigns.power_table.states import all_states

DECISIONS = REFERENCE.parent / "decisions"
PAGE = REFERENCE / "power_table.md"


def wrong() -> Iterator[str]:
    """One line for each thing that does not hold."""
    for state in all_states():
        rows = sum(row.covers(state) for row in TABLE)
        if rows != 1:
            yield f"{state} is covered by {rows} rows"
    for row in TABLE:
        if not any(row.covers(state) for state in all_states()):
            yield f"nothing is covered by {row}"
    if len({row.bits for row in SEED_ROWS}) != 16:
        yield f"the seed has 16 states, and {len(SEED_ROWS)} are here"
    for seed in SEED_ROWS:
        if move_for(seed.state) is not seed.move:
            yield f"row {seed.bits} of the seed: the table says {move_for(seed.state)}, the docs {seed.move}"
        if seed.decision and not (DECISIONS / f"{seed.decision}.md").exists():
            yield f"row {seed.bits} of the seed differs, and {seed.decision} does not exist"
    if PAGE.read_text() != reference_pages()[PAGE]:
        yield f"{PAGE.name} is stale: `just generate`"


def main() -> int:
    found = list(wrong())
    for line in found:
        print(line)
    states, differ = len(list(all_states())), sum(bool(row.decision) for row in SEED_ROWS)
    print(
        f"{states} states in {len(TABLE)} rows; {len(SEED_ROWS)} of the seed, of which {differ} differ "
        f"by a decision: {len(found)} wrong"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
