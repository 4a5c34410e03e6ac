"""The large runs of `full`: exhaustive, with lossless compression. They take hours."""

from tests.models.runs import LARGE, SELF, Run

CUT_TWO = "K=2 NP=2 NO_RENEWAL QUIET"
RENEWING_TWO = "K=2 NP=2 QUIET"

FULL = (
    Run(
        "two-peers-restarts",
        SELF,
        f"G=2 W=2 T=5 {CUT_TWO} FEEDER_DIES RESTARTS",
        "two peers, agents and feeders that die",
        LARGE,
    ),
    Run(
        "two-peers-renewing",
        SELF,
        f"G=2 W=2 T=5 {RENEWING_TWO} FEEDER_DIES",
        "two peers, the node's own renewals, feeders that die",
        LARGE,
    ),
    Run(
        "two-peers-renewing-no-deaths",
        SELF,
        f"G=2 W=2 T=4 {RENEWING_TWO}",
        "two peers, the node's own renewals: G+2W-2 when no feeder ever dies",
        LARGE,
    ),
    Run(
        "two-peers-failover",
        SELF,
        f"G=2 W=2 T=5 {CUT_TWO} FEEDER_DIES FAILOVER",
        "two peers, managers that are replaced",
        LARGE,
    ),
    Run(
        "two-peers-long-watchdog",
        SELF,
        f"G=2 W=3 T=8 {CUT_TWO} FEEDER_DIES LOSSES",
        "two peers, W longer than G",
        LARGE,
    ),
    Run(
        "two-peers-long-lease",
        SELF,
        f"G=3 W=2 T=6 {CUT_TWO} FEEDER_DIES LOSSES",
        "two peers, G longer than W",
        LARGE,
    ),
    Run(
        "two-peers-long-contact",
        SELF,
        "G=2 W=2 K=3 NP=2 T=5 NO_RENEWAL QUIET FEEDER_DIES LOSSES",
        "two peers, K longer than G",
        LARGE,
    ),
)
