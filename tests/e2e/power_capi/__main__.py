"""`python -m tests.e2e.power_capi --rounds 3`: Cluster API, then medik8s, in a separate network."""

import argparse
import sys

from cluster_api import own_account, private_network
from cluster_api.run import prepare
from foreign_kinds.definitions import crds
from tests.e2e.power.real_cluster import SETTINGS
from tests.e2e.power.round import WrongError
from tests.e2e.power_capi import cluster_api, medik8s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    program = prepare(SETTINGS)
    own_account.download()
    for project in ("metal3-hosts", "medik8s"):
        crds(project)
    private_network.enter_network()
    try:
        shown = [cluster_api.play(program, options.rounds), medik8s.play()]
    except (WrongError, TimeoutError) as error:
        print(f"power-capi: WRONG: {error}")
        return 1
    print(f"power-capi: {'; '.join(shown)}; 0 wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
