"""`python -m tests.chaos.elector`."""

import sys

from tests.chaos.elector.campaign import main

if __name__ == "__main__":
    sys.exit(main())
