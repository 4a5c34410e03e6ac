"""`python -m tests.e2e.refusals`: counts what a real API server with Nodemend's manifests refuses.

Each refusal must have a message that names the field and the correct value. Beside them are correct writes,
which must pass. Exits 1 on a single miss.
"""

import sys

from tests.e2e.refusals.bad_specs import BAD_SPECS, bad_specs
from tests.e2e.refusals.installed_cluster import Cluster, installed_cluster
from tests.e2e.refusals.nodes import nodes
from tests.e2e.refusals.orders import orders
from tests.e2e.refusals.rejected_confirmations import rejected_confirmations
from tests.e2e.refusals.rights import rights
from tests.e2e.refusals.self_statuses import self_statuses
from tests.e2e.refusals.statuses import statuses
from tests.e2e.refusals.trial import Trial
from tests.e2e.refusals.words import words

# `nodes` ends with Nodemend's accounts made cluster admins; the last chapter's leader writes
# everywhere.
CHAPTERS = (words, statuses, self_statuses, rights, orders, bad_specs, nodes, rejected_confirmations)


def try_all(cluster: Cluster) -> Trial:
    trial = Trial()
    for chapter in CHAPTERS:
        before = trial.refused, trial.accepted
        chapter(cluster, trial)
        refused, accepted = trial.refused - before[0], trial.accepted - before[1]
        print(f"{chapter.__name__}: {refused} refused, {accepted} rightly accepted")
    return trial


def main() -> int:
    with installed_cluster() as cluster:
        trial = try_all(cluster)
    for miss in trial.misses:
        print(f"MISS {miss}")
    print(
        f"refusals: {trial.refused} refused with the right words ({len(BAD_SPECS)} bad specs among them), "
        f"{trial.accepted} rightly accepted, {len(trial.misses)} misses"
    )
    return 1 if trial.misses else 0


if __name__ == "__main__":
    sys.exit(main())
