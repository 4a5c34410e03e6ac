"""The runs, as data: properties that hold, properties that must be violated, and states that must be
reachable.
"""

from dataclasses import dataclass

SELF, RACE, SECONDS, LIST = "self_fencing", "return_race", "proven_seconds", "peer_list"
DOWN = "standing_down"


@dataclass(frozen=True)
class Size:
    """The resource limits of a search, and its compiler options. No option changes a verdict."""

    options: tuple[str, ...]
    hash_bits: int
    depth: int
    megabytes: int
    seconds: int


SMALL = Size(("-O0",), 20, 1_000_000, 2_000, 300)
NORMAL = Size(("-O2",), 24, 2_000_000, 6_000, 1_800)
LARGE = Size(("-O2", "-DCOLLAPSE"), 28, 20_000_000, 13_000, 6 * 3600)


@dataclass(frozen=True)
class Run:
    """One search."""

    name: str
    model: str
    defines: str
    shows: str
    size: Size = SMALL


# Features: FEEDER_DIES closing and opening pings; RESTARTS of agents, the node's and the peers'; LOSSES of
# replies to peers; SLOW_POLLS polls with a delay in both directions; QUIET a node that must fence itself asks
# no peers; NO_RENEWAL the node is cut off from the API; FAILOVER another manager at any time.
ALL = "FEEDER_DIES RESTARTS LOSSES"
# No peers: what time alone proves about lease, feeder and watchdog.
ALONE = "NP=0 TIME_ONLY FEEDER_DIES RESTARTS"
CUT = f"G=2 W=2 K=2 NP=1 T=5 NO_RENEWAL QUIET {ALL}"
GATE = "GATE_PUBLISH TERM_FIRST"
LYING = "NO_RENEWAL QUIET FEEDER_DIES"
# No marker is ever set (MARKER_NEVER leaves the manager out): every verdict to fence is false.
FALSELY = "NO_FALSE_CONDEMNATION MARKER_NEVER NO_RENEWAL QUIET"

HOLDING = (
    Run("alone-2-2", SELF, f"G=2 W=2 T=5 {ALONE}", "G+3W-3 ticks: lease, rendezvous, feeder"),
    Run("alone-3-2", SELF, f"G=3 W=2 T=6 {ALONE}", "the same"),
    Run("alone-2-3", SELF, f"G=2 W=3 T=8 {ALONE}", "the same"),
    Run("alone-4-3", SELF, f"G=4 W=3 T=10 {ALONE}", "the same"),
    Run("alone-5-4", SELF, f"G=5 W=4 T=14 {ALONE}", "the same"),
    Run("no-deaths", SELF, "G=2 W=2 T=4 NP=0 TIME_ONLY RESTARTS", "G+2W-2 when no feeder ever dies"),
    Run(
        "slow-device",
        SELF,
        f"G=2 W=2 DEVICE_W=3 STARVING T=8 {ALONE}",
        "W must be the time that the device takes",
    ),
    Run(
        "one-peer", SELF, f"G=2 W=2 K=2 NP=1 T=5 FAILOVER {ALL}", "everything at once, with one peer", NORMAL
    ),
    Run(
        "one-peer-long-contact",
        SELF,
        f"G=2 W=2 K=3 NP=1 T=5 NO_RENEWAL QUIET {ALL}",
        "K longer than G",
        NORMAL,
    ),
    Run(
        "one-peer-long-watchdog",
        SELF,
        f"G=2 W=3 K=2 NP=1 T=8 NO_RENEWAL QUIET {ALL}",
        "W longer than G",
        NORMAL,
    ),
    Run("slow-polls", SELF, f"{CUT} SLOW_POLLS", "polls dated by the send time of the previous poll", NORMAL),
    Run(
        "outage-numbers",
        SELF,
        f"{CUT} FAILOVER OUTAGE_NUMBERS",
        "proven time may be inherited if peers number their outages",
        NORMAL,
    ),
    Run(
        "two-peers",
        SELF,
        "G=2 W=2 K=2 NP=2 T=5 NO_RENEWAL QUIET FEEDER_DIES LOSSES",
        "half of two covered, both must say no API",
        NORMAL,
    ),
    Run(
        "one-byzantine-peer",
        SELF,
        f"G=2 W=2 K=2 NP=2 T=5 LIARS=1 {LYING}",
        "one of two peers is Byzantine: both must check the API, both must be covered",
        NORMAL,
    ),
    Run(
        "marker-never-reported",
        SELF,
        "G=2 W=2 K=2 NP=2 T=5 NEVER_TOLD NO_RENEWAL QUIET FEEDER_DIES LOSSES",
        "release does not depend on peers that report the marker: the same bound if they never do",
        NORMAL,
    ),
    Run(
        "no-false-fencing",
        SELF,
        f"G=2 W=2 K=2 NP=3 T=5 LIARS=1 {FALSELY}",
        "one Byzantine peer of three cannot end a node without a marker",
        NORMAL,
    ),
    Run(
        "feeder-checks",
        SELF,
        f"G=2 W=2 T=5 OWN_LOOKS {ALONE}",
        "the feeder's own API checks beside the agent's, without limit, in the same time",
    ),
    Run("feeder-checks-3-2", SELF, f"G=3 W=2 T=6 OWN_LOOKS {ALONE}", "the same"),
    Run("feeder-checks-2-3", SELF, f"G=2 W=3 T=8 OWN_LOOKS {ALONE}", "the same", NORMAL),
    Run("feeder-checks-peer", SELF, f"{CUT} OWN_LOOKS", "the same, with a peer and without renewals", NORMAL),
    Run("gate", RACE, GATE, "kubelet starts after this boot is published without a marker"),
    Run(
        "gate-stale-list",
        RACE,
        f"{GATE} STALE_LIST",
        "the gate replaces a consistent list while the marker is set",
    ),
    Run(
        "gate-any-order",
        RACE,
        "GATE_PUBLISH TERM_AFTER STALE_LIST",
        "with the gate, the taint's order does not matter",
    ),
    Run("gate-unmarked", RACE, f"{GATE} UNMARKED_AFTER", "the marker may be removed after the release"),
    Run(
        "gate-read",
        RACE,
        "GATE_READ TERM_FIRST STALE_LIST",
        "a reading gate, if a marker for any boot of the node is unclean",
    ),
    Run(
        "gate-alone",
        RACE,
        "GATE_PUBLISH STALE_LIST OWN_BOOT_ONLY E2_WHEN_READY E4_BOOT_UNCHECKED",
        "a gate that publishes needs none of the other precautions",
    ),
    Run("seconds", SECONDS, "MOST=10", "two managers: the sum never exceeds the true time", NORMAL),
    Run("seconds-three", SECONDS, "MANAGERS=3 MOST=5", "three managers", NORMAL),
    Run("lists", LIST, "L0=7 L1=11 L2=28", "one peer replaced, then all"),
    Run("lists-shrink", LIST, "L0=31 L1=3 L2=1", "a list that shrinks"),
    Run("lists-given-up", LIST, "L0=7 L1=0 L2=28", "peers given up, and another list adopted"),
    Run("graceful-stop", DOWN, "G=2 W=2 T=5", "agents stopped, killed and started again, in the same time"),
    Run("graceful-stop-2-3", DOWN, "G=2 W=3 T=8", "the same"),
    Run("graceful-stop-4-3", DOWN, "G=4 W=3 T=10", "the same", NORMAL),
)

# One tick below each bound: the same run must be violated.
TIGHT = (
    Run("alone-2-2-below", SELF, f"G=2 W=2 T=4 {ALONE}", "one tick less, or 2W"),
    Run("alone-3-2-below", SELF, f"G=3 W=2 T=5 {ALONE}", "one tick less, or 2W"),
    Run("alone-2-3-below", SELF, f"G=2 W=3 T=7 {ALONE}", "one tick less"),
    Run("alone-4-3-below", SELF, f"G=4 W=3 T=9 {ALONE}", "one tick less"),
    Run("alone-5-4-below", SELF, f"G=5 W=4 T=13 {ALONE}", "one tick less"),
    Run("no-deaths-below", SELF, "G=2 W=2 T=3 NP=0 TIME_ONLY RESTARTS", "one tick less"),
    Run("slow-device-below", SELF, f"G=2 W=2 DEVICE_W=3 STARVING T=7 {ALONE}", "one tick less"),
    Run("one-peer-below", SELF, f"G=2 W=2 K=2 NP=1 T=4 FAILOVER {ALL}", "one tick less"),
    Run("slow-polls-below", SELF, f"{CUT} SLOW_POLLS".replace("T=5", "T=4"), "one tick less"),
    Run(
        "outage-numbers-below", SELF, f"{CUT} FAILOVER OUTAGE_NUMBERS".replace("T=5", "T=4"), "one tick less"
    ),
    Run("two-peers-below", SELF, "G=2 W=2 K=2 NP=2 T=4 NO_RENEWAL QUIET FEEDER_DIES LOSSES", "one tick less"),
    Run("one-byzantine-peer-below", SELF, f"G=2 W=2 K=2 NP=2 T=4 LIARS=1 {LYING}", "one tick less"),
    Run("feeder-checks-below", SELF, f"G=2 W=2 T=4 OWN_LOOKS {ALONE}", "one tick less"),
    Run("feeder-checks-peer-below", SELF, f"{CUT} OWN_LOOKS".replace("T=5", "T=4"), "one tick less"),
    Run("graceful-stop-below", DOWN, "G=2 W=2 T=4", "one tick less"),
)

# States that must be reachable, so that no property holds because nothing happens.
REACHED = (
    Run("reach-release", SELF, f"{CUT} REACH_RELEASE", "the manager does release a dead node"),
    Run("reach-outage", SELF, f"{CUT} REACH_OUTAGE", "peers without the API do keep a marked node alive"),
    Run(
        "reach-feeder-check",
        SELF,
        f"{CUT} OWN_LOOKS REACH_OWN_LOOK",
        "the feeder's API checks do keep a node alive after its agent's lease",
    ),
    Run("reach-e4", RACE, f"{GATE} REACH_E4", "release by time happens"),
    Run(
        "reach-graceful-stop",
        DOWN,
        "REACH_STOOD_DOWN",
        "a gracefully stopped agent's node does outlive its lease",
    ),
    Run("reach-e2", RACE, f"{GATE} REACH_E2", "release on a new boot happens"),
)
