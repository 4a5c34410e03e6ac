"""`python -m tests.outage.short_signer SECONDS ...`: the shipped signer, whose certificates live that long.

Backdated by little: what is left of a short one must be most of its life. The signer's own flags follow.
"""

import sys

from nodemend.decide import agent_certificate
from nodemend.entrypoints.run_signer import main

BACKDATED = 5.0

if __name__ == "__main__":
    seconds = int(sys.argv.pop(1))
    vars(agent_certificate).update(LONGEST=seconds, BACKDATED=BACKDATED)
    main()
