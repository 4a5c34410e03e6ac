"""`python -m tests.campaigns.outage.short_signer SECONDS ...`: the signer, with short-lived certificates.

Backdated by little: what is left of a short one must be most of its life. The signer's own flags follow.
"""

import sys

from nodemend.cmd.controllers import run_signer
from nodemend.signer import decide

BACKDATED = 5.0

if __name__ == "__main__":
    seconds = int(sys.argv.pop(1))
    vars(decide).update(LONGEST=seconds, BACKDATED=BACKDATED)
    run_signer()
