"""The large runs of `full`: exhaustive, with lossless compression. They take hours."""

from tests.model.runs import ALL, LARGE, SELF, Run

CUT_TWO = "K=2 NP=2 NO_RENEWAL QUIET"

FULL = (
    Run("two-peers-restarts", SELF, f"G=2 W=2 T=5 {CUT_TWO} {ALL}", "two peers, agents restarting", LARGE),
    Run(
        "two-peers-renewing",
        SELF,
        "G=2 W=2 K=2 NP=2 T=5 QUIET FEEDER_DIES LOSSES",
        "two peers, the node's own renewals",
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
    Run(
        "two-peers-all",
        SELF,
        f"G=2 W=2 K=2 NP=2 T=5 QUIET FAILOVER {ALL}",
        "everything at once, two peers",
        LARGE,
    ),
)
