"""`python -m tests.e2e.leader_election`."""

import sys

from tests.e2e.leader_election.campaign import main

if __name__ == "__main__":
    sys.exit(main())
