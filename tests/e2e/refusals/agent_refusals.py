"""`python -m tests.e2e.refusals.agent_refusals`: what agents, nodes and others cannot do to self-fencing.

On a real API server, with tokens like those of real agents, and the running signer. Allowed writes are tested
beside the refusals, which would prove nothing otherwise. Exits 1 on a single miss.
"""

import sys
from collections.abc import Callable
from typing import Final

from tests.e2e.refusals.agent_cluster import AgentCluster, agent_cluster
from tests.e2e.refusals.agent_everything_else import everything_else
from tests.e2e.refusals.agent_leases import leases
from tests.e2e.refusals.agent_nodes import exclusion, nodes_by_policy, nodes_own
from tests.e2e.refusals.agent_requests import requests
from tests.e2e.refusals.trial import Trial

AT_LEAST: Final = 200
Chapter = Callable[[AgentCluster, Trial], None]
CHAPTERS: Final[tuple[Chapter, ...]] = (requests, everything_else, leases, nodes_own, exclusion)
"""`leases` creates the Leases that `nodes_own` uses."""


def try_all() -> Trial:
    trial = Trial()
    with agent_cluster() as cluster:
        for chapter in CHAPTERS:
            _try(chapter, cluster, trial)
    with agent_cluster(node_restriction=False) as cluster:
        _try(nodes_by_policy, cluster, trial)
    return trial


def _try(chapter: Chapter, cluster: AgentCluster, trial: Trial) -> None:
    before = trial.refused, trial.accepted
    chapter(cluster, trial)
    refused, accepted = trial.refused - before[0], trial.accepted - before[1]
    print(f"{chapter.__name__}: {refused} refused, {accepted} allowed", flush=True)


def main() -> int:
    trial = try_all()
    for miss in trial.misses:
        print(f"MISS {miss}")
    tried, wrong = trial.refused + len(trial.misses), len(trial.misses)
    print(
        f"agent-refusals: {tried} tried, {trial.refused} refused, {trial.accepted} allowed as they should,"
        f" {wrong} wrong (bar {AT_LEAST} refused, 0 wrong)"
    )
    return 1 if trial.misses or trial.refused < AT_LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
