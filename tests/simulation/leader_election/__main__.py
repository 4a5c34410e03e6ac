"""Runs the campaign: `python -m tests.simulation.leader_election`."""

import sys

from tests.simulation.leader_election.campaign import main

if __name__ == "__main__":
    sys.exit(main())
