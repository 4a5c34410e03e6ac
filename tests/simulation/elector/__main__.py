"""Runs the campaign: `python -m tests.simulation.elector`."""

import sys

from tests.simulation.elector.campaign import main

if __name__ == "__main__":
    sys.exit(main())
