"""Protocol mutants, as data: one bug each, at a bound that holds without it."""

from tests.models.runs import ALONE, CUT, DOWN, FALSELY, GATE, LIST, LYING, NORMAL, RACE, SECONDS, SELF, Run

ALONE_2_2 = f"G=2 W=2 T=5 {ALONE}"
TWO = "G=2 W=2 K=2 NP=2 T=5 NO_RENEWAL QUIET FEEDER_DIES LOSSES"

MUTANTS = (
    # the rendezvous Lease
    Run(
        "blind-renewal",
        SELF,
        f"{ALONE_2_2} BLIND_RENEWAL",
        "a renewal without its precondition is acknowledged after the marker",
    ),
    Run("conflict-is-clean", SELF, f"{ALONE_2_2} CONFLICT_IS_CLEAN", "a conflict taken for an observation"),
    Run(
        "marker-overlooked",
        SELF,
        f"{ALONE_2_2} MARKER_OVERLOOKED",
        "the read after a conflict takes the version only",
    ),
    Run(
        "sending-is-clean",
        SELF,
        f"{ALONE_2_2} SENDING_IS_CLEAN",
        "a renewal counts before it is acknowledged",
    ),
    Run(
        "count-from-send", SELF, f"{CUT} COUNT_FROM_SEND", "proven time begins before the marker is committed"
    ),
    # the feed lease
    Run(
        "reply-anchor",
        SELF,
        f"{ALONE_2_2} REPLY_ANCHOR",
        "the lease runs from the reply instead of the sending",
    ),
    Run(
        "revive",
        SELF,
        f"{ALONE_2_2} REVIVE",
        "an agent that must fence itself reads the version, renews and lives",
    ),
    Run(
        "restart-forgets", SELF, f"{ALONE_2_2} RESTART_FORGETS", "a restarted agent starts with a full lease"
    ),
    # feeder and watchdog
    Run("ping-unchecked", SELF, f"{ALONE_2_2} PING_UNCHECKED", "pings that the lease does not gate"),
    Run("opening-unchecked", SELF, f"{ALONE_2_2} OPENING_UNCHECKED", "opening the device is a ping, too"),
    Run(
        "timeout-unchecked",
        SELF,
        f"{ALONE_2_2} TIMEOUT_UNCHECKED",
        "one check for opening and setting the timeout: a fourth W",
    ),
    Run(
        "no-lock", SELF, f"{ALONE_2_2} NO_LOCK", "a second feeder checks while the first has the device open"
    ),
    Run(
        "lock-freed-early",
        SELF,
        f"{ALONE_2_2} LOCK_FREED_EARLY",
        "a dying feeder's lock is free before its device is closed",
    ),
    Run("closing-forgotten", SELF, f"{ALONE_2_2} T=4", "2W: the closing ping is not in the bound"),
    Run("disarm", SELF, f"{ALONE_2_2} DISARM", "the magic byte without an acknowledged publication"),
    Run("short-w", SELF, f"{ALONE_2_2} DEVICE_W=3", "the device takes longer than what is published"),
    Run(
        "short-w-starving",
        SELF,
        f"{ALONE_2_2} DEVICE_W=3 STARVING",
        "starving does not make up for a wrong W",
    ),
    # the feeder's API checks
    Run(
        "feeder-check-reply-anchor",
        SELF,
        f"{ALONE_2_2} OWN_LOOKS LOOK_REPLY_ANCHOR",
        "the lease runs from the check's reply instead of its sending",
    ),
    Run("feeder-check-cached", SELF, f"{ALONE_2_2} OWN_LOOKS LOOK_CACHED", "a check that a cache answers"),
    Run(
        "feeder-check-overlooks-marker",
        SELF,
        f"{ALONE_2_2} OWN_LOOKS LOOK_OVERLOOKS_MARKER",
        "a check that shows a marker renews",
    ),
    Run(
        "feeder-check-longer",
        SELF,
        f"{ALONE_2_2} OWN_LOOKS LOOK_LONGER",
        "a check feeds for longer than is published",
    ),
    # peers
    Run("cached-answer", SELF, f"{CUT} CACHED_ANSWER", "a peer answers from a cache"),
    Run("no-nonce", SELF, f"{CUT} NO_NONCE", "answers to an earlier round count"),
    Run(
        "round-reply-anchor",
        SELF,
        f"{CUT} ROUND_REPLY_ANCHOR",
        "the lease runs from the answers instead of the question",
    ),
    Run("no-api-at-once", SELF, f"{CUT} NO_API_AT_ONCE", "a peer says no API after one failed read"),
    Run(
        "peer-send-dated",
        SELF,
        f"{CUT} PEER_SEND_DATED",
        "a peer dates its contact by the sending, the manager by the poll before",
    ),
    Run(
        "peer-restart-forgets",
        SELF,
        f"{CUT} PEER_RESTART_FORGETS",
        "a restarted peer assumes that its contact is old",
    ),
    Run(
        "ack-by-read",
        SELF,
        f"{CUT} ACK_BY_READ",
        "a number counts as acknowledged although the reply was lost",
    ),
    Run("minority", SELF, f"{TWO} MINORITY", "any peer without the API renews"),
    Run(
        "majority-of-answers",
        SELF,
        f"{TWO} MAJORITY_OF_ANSWERS",
        "a majority of the answers, not of the list",
    ),
    Run("counts-itself", SELF, f"{TWO} COUNTS_ITSELF", "the node counts itself among those without the API"),
    # Byzantine peers
    Run(
        "byzantine-untolerated",
        SELF,
        f"G=2 W=2 K=2 NP=2 T=5 LIARS=1 BORNE=0 {LYING}",
        "one healthy answer and half covered, with one Byzantine peer",
    ),
    Run(
        "two-byzantine-peers",
        SELF,
        f"G=2 W=2 K=2 NP=2 T=5 LIARS=2 BORNE=1 {LYING}",
        "two Byzantine peers where one is tolerated keep a marked node alive",
        NORMAL,
    ),
    Run(
        "two-votes-fence",
        SELF,
        f"G=2 W=2 K=2 NP=4 T=5 LIARS=2 BORNE=1 TWO_CONDEMN {FALSELY}",
        "two votes end a node for any size of the list: two Byzantine peers are enough",
        NORMAL,
    ),
    Run(
        "byzantine-majority",
        SELF,
        f"G=2 W=2 K=2 NP=3 T=5 LIARS=2 BORNE=1 {FALSELY}",
        "two Byzantine peers of three end a node without a marker",
        NORMAL,
    ),
    # the manager
    Run("time-only", SELF, f"{CUT} TIME_ONLY", "no contact evidence: no time is enough"),
    Run(
        "unacknowledged",
        SELF,
        f"{CUT} UNACKNOWLEDGED",
        "renewals count without the number of their acknowledgement",
    ),
    Run("poll-dated", SELF, f"{CUT} POLL_DATED", "a renewal dated to the poll that saw it"),
    Run("poll-reply-dated", SELF, f"{CUT} SLOW_POLLS POLL_REPLY_DATED", "a poll dated by its reply"),
    Run("covered-longer", SELF, f"{CUT} COVERED_FOR=3", "covered one tick longer than K"),
    Run("lapse-pauses", SELF, f"{CUT} LAPSE_PAUSES", "a lapse stops a peer's time instead of ending it"),
    Run("lapse-unnoticed", SELF, f"{CUT} LAPSE_UNNOTICED", "a lapse between two polls is not seen"),
    Run(
        "failover-resumes",
        SELF,
        f"{CUT} FAILOVER FAILOVER_RESUMES",
        "a new manager adds to proven time across a gap in which no manager polled",
    ),
    Run("any-peers", SELF, f"{TWO} ANY_PEERS", "half covered at each moment, but not the same half", NORMAL),
    # the return race
    Run(
        "own-boot-only",
        RACE,
        "GATE_READ TERM_FIRST OWN_BOOT_ONLY",
        "a marker that names another boot counts as clean",
    ),
    Run("own-boot-only-e4", RACE, "GATE_READ TERM_FIRST OWN_BOOT_ONLY NO_E2", "the same, released by time"),
    Run("e2-by-status", RACE, f"{GATE} E2_BY_STATUS", "a Node status that still shows an older boot"),
    Run(
        "gate-own-boot",
        RACE,
        f"{GATE} GATE_OWN_BOOT STALE_LIST",
        "the gate ignores markers for other boots of the node",
    ),
    Run("gate-unarmed", RACE, f"{GATE} GATE_UNARMED", "the gate does not arm the watchdog"),
    Run("no-gate", RACE, "TERM_FIRST", "pods terminating before the marker is not enough"),
    Run("no-gate-term-after", RACE, "TERM_AFTER", "pods terminating after the marker"),
    Run("no-gate-cordon", RACE, "NO_E2", "cordon only"),
    Run(
        "unmarked-stale-list",
        RACE,
        f"{GATE} UNMARKED_AFTER STALE_LIST",
        "residual: a lagging list after the marker is gone",
    ),
    # proven seconds
    Run("blind-addition", SECONDS, "BLIND_ADDITION", "adding without a precondition"),
    Run(
        "retry-after-conflict", SECONDS, "RETRY_AFTER_CONFLICT", "the same count added again after a conflict"
    ),
    Run("lost-is-failed", SECONDS, "LOST_IS_FAILED", "a lost reply taken for a failed write"),
    Run("count-from-read-sent", SECONDS, "COUNT_FROM_READ_SENT", "counted from the sending of the read"),
    Run("before-marker", SECONDS, "BEFORE_MARKER", "counted before the marker"),
    Run("whole-count", SECONDS, "WHOLE_COUNT", "time added twice"),
    # peer lists
    Run("empty-releases", LIST, "L1=0 EMPTY_RELEASES", "a release while no peers are published"),
    Run("give-up-on-send", LIST, "L1=0 ADOPT_ON_SEND", "peers given up before that is acknowledged"),
    Run("adopt-on-send", LIST, "ADOPT_ON_SEND", "a list adopted before its publication is acknowledged"),
    Run(
        "adopt-on-ack",
        LIST,
        "ADOPT_ON_ACK",
        "a list published, its acknowledgement lost, the old one still counted over",
    ),
    Run(
        "marker-blind",
        LIST,
        "MARKER_BLIND",
        "a marker without a precondition: the manager's list is an old one",
    ),
    # graceful stop
    Run("keeps-promise", DOWN, "KEEPS_PROMISE", "a stopped agent's report still promises a reset"),
    Run(
        "permit-unacknowledged",
        DOWN,
        "PERMIT_UNACKNOWLEDGED",
        "a permit that is left before that is acknowledged",
    ),
    Run("blind-write", DOWN, "BLIND_WRITE", "a stopped agent's report without a precondition"),
    Run("overlooks-marker", DOWN, "OVERLOOKS_MARKER", "a stopped agent that reads a marker and goes on"),
    Run("resumes-late", DOWN, "STANDS_UP_LATE", "a promise before the permit is removed"),
    Run("never-resumes", DOWN, "NEVER_STANDS_UP", "a permit that is never removed"),
    Run("no-agent-lock", DOWN, "NO_AGENT_LOCK", "an agent that starts before the last one has ended"),
)
