"""`python -m tests.campaigns.link_matrices`: decisions in all 2^20 directed link matrices of five parties.

The API server and four nodes, one of which is marked when the links are cut: whenever time proves that it is
over, it is; also with one Byzantine peer. Unmarked, it survives exactly if it should. Then the same for five
nodes and the API server (2^30 matrices), by the cases that differ for a node.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable

from tests.campaigns.link_matrices.matrices import (
    Case,
    cases,
    classes,
    lives_on,
    play,
    should_live_on,
    with_one_byzantine_peer,
)

MATRICES = 2**20


def main() -> int:
    began = time.monotonic()
    counted = cases(range(MATRICES), nodes=4)
    reported, wrong = _evaluate(counted)
    print(
        f"{MATRICES} matrices of the API server and 4 nodes, "
        f"{len(counted)} that differ for a node: {reported}"
    )
    more = list(classes(nodes=5))
    reported, also_wrong = _evaluate(Counter(more))
    print(f"the API server and 5 nodes, {len(more)} that differ for a node: {reported}")
    print(
        f"link-matrices: {counted.total()} matrices in {time.monotonic() - began:.0f} s, "
        f"{wrong + also_wrong} wrong"
    )
    return 1 if wrong + also_wrong or counted.total() != MATRICES else 0


def _evaluate(counted: Counter[Case]) -> tuple[str, int]:
    """The result as text, and the number of wrong cases."""
    released = sum(times for case, times in counted.items() if play(case).released_at is not None)
    living = sum(times for case, times in counted.items() if lives_on(case))
    early = [case for case in _all_with_byzantine_peers(counted) if play(case).wrong]
    odd = [case for case in counted if lives_on(case) != should_live_on(case)]
    for case in [*early, *odd][:10]:
        print(f"WRONG {case}: {play(case)}, unmarked it lives on: {lives_on(case)}")
    text = f"marked, released by time in {released}; unmarked, living on in {living}"
    return f"{text}; {len(early)} released early, {len(odd)} ended or lived wrongly", len(early) + len(odd)


def _all_with_byzantine_peers(counted: Iterable[Case]) -> Iterable[Case]:
    for case in counted:
        yield case
        yield from with_one_byzantine_peer(case)


if __name__ == "__main__":
    sys.exit(main())
