/* Self-fencing: feed lease, rendezvous Lease, peers, feeder and watchdog, and the manager's release by time (E4).

   Safety: the manager never releases while the node is alive.

   Time is a tick that may come between any two steps, and any process may be paused for any number of ticks: a step is
   never forced. All timers are relative and bounded, so that the horizon is unbounded. The watchdog alone is punctual:
   it resets the node W ticks after the last ping. A dead node stays dead here (its return is in return_race.pml), so
   the search ends at the reset.

   Every switch is either a feature (runs.py says which) or a mutant (mutants.py): one bug, for which a counterexample must be found. */
#ifndef G
#define G 2                  /* length of the feed lease */
#endif
#ifndef W
#define W 2                  /* time to reset that is published, and that T_safe is made of */
#endif
#ifndef DEVICE_W
#define DEVICE_W W           /* time to reset that the device really takes */
#endif
#ifndef K
#define K 2                  /* age of contact after which a peer may say that it cannot reach the API */
#endif
#ifndef T
#define T 5                  /* proven time after which the manager releases */
#endif
#ifndef NP
#define NP 1                 /* published peers */
#endif
#ifndef COVERED_FOR
#define COVERED_FOR K        /* age at which the manager's contact evidence lapses */
#endif
#ifndef LIARS
#define LIARS 0              /* the number of Byzantine peers, the first ones: they give any answer at any time */
#endif
#ifndef BORNE
#define BORNE LIARS          /* the number of Byzantine peers that the node and the manager tolerate */
#endif
#define COVERED_PEERS ((NP + 1) / 2 + BORNE)  /* ceil(n/2), and one more for each Byzantine peer */
#define QH (1 + BORNE < NP -> 1 + BORNE : NP)  /* peers that must say "healthy" */
#ifdef TWO_CONDEMN
#define QU (NP < 2 -> NP : 2)  /* peers that must say "unhealthy" */
#else
#define QU (NP / 2 + 1)      /* a majority of the whole published list */
#endif

/* ---- the node ---- */
bool alive = true;
bool released = false;
bool condemned = false;
unsigned lease : 4 = G;      /* what is left of the feed lease in the file on tmpfs */
unsigned wd : 4 = DEVICE_W;  /* what is left until the watchdog resets the node */
#define CLOSED 0             /* no feeder, or one that has the lock and has not checked the lease yet */
#define CLOSED_CHECKED 1     /* has the lock, has seen a lease that lasts, is about to open */
#define OPEN 2               /* has the device open */
#define OPEN_CHECKED 3       /* has the device open, has seen a lease that lasts, is about to ping (or to set the timeout) */
unsigned feeder : 2 = OPEN;
#ifdef STARVING
unsigned since_ping : 4 = 0; /* on the feeder's clock */
#endif
#if defined(NO_LOCK) || defined(LOCK_FREED_EARLY)
bool second_checked = false; /* a second feeder has checked the lease while the first still has the device open */
#endif
bool armed = true;

/* ---- the node's own request to the API server: one at a time ---- */
#define IDLE 0
#define RENEWAL 1            /* a renewal on its way there */
#define RENEWED 2            /* committed, the reply on its way back */
#define CONFLICTED 3         /* refused, the reply on its way back */
#define READING 4
#define READ_CLEAN 5         /* read, no marker, the reply on its way back */
#define READ_MARKED 6
unsigned request : 3 = IDLE;
bool carried = false;        /* the version that the request or its reply carries is still that of the Lease */
unsigned worth : 4 = 0;      /* what the lease becomes if this renewal is acknowledged now: G at its sending, less at each tick */
#define UNKNOWN 0
#define CURRENT 1
#define STALE 2
unsigned version : 2 = CURRENT; /* the version of the Lease that the agent holds */
bool stray = false;          /* a renewal that the agent gave up, still under way under the current version */

#ifdef OWN_LOOKS
/* ---- the feeder's own API check of the Lease, beside the agent's: one at a time, while the node lives ---- */
#define LOOK_SENT 1
#define LOOK_CLEAN 2         /* served, no marker, the reply on its way back */
#define LOOK_MARKED 3
unsigned look : 2 = 0;
unsigned look_worth : 4 = 0; /* what the lease becomes if its reply is clean and comes now */
#endif

/* ---- the round of peers ---- */
bool asking = false;
unsigned round_worth : 4 = 0;
#define SILENT 0
#define HEALTHY 1
#define UNHEALTHY 2
#define NO_API 3
#if NP > 0
byte answer[NP];
#endif

/* ---- the manager ---- */
bool marker = false;
#define BEFORE 0
#define LEASE_READ 1         /* has read the node's Lease, whose version is still the same */
#define LEASE_READ_STALE 2
#define MARKER_PUT 3         /* the marker is committed, the reply on its way */
#define COUNTING 4           /* the marker is acknowledged */
unsigned manager : 3 = BEFORE;
unsigned poll_age : 4 = K;   /* since the last poll was sent; K: too long ago to date anything */
#ifdef SLOW_POLLS
#define POLL_SENT 1
#define POLL_SERVED 2        /* the API server has answered, the manager has not evaluated the answer yet */
unsigned polling : 2 = 0;
unsigned polling_age : 4 = 0; /* since this poll was sent */
#endif
#if NP > 0
/* ---- each peer ---- */
byte contact[NP];    /* since its own last acknowledged contact; K: "older than K" */
bool replying[NP];           /* its renewal is committed, the reply on its way */
#ifdef PEER_SEND_DATED
bool sending[NP]; byte sent[NP];
#endif
/* Sequence numbers, as far as they matter: which renewal, relative to the one that the manager saw at its last poll. */
#define OLDER 0
#define SEEN 1               /* exactly the one that the manager saw */
#define NEWER 2              /* committed after that poll, and a later one is committed, too */
#define NEWEST 3             /* committed after that poll, and the last so far */
byte acked[NP];      /* highest renewal that the peer knows to be acknowledged */
byte shown[NP];      /* the same on its Lease, in the last committed renewal */
bool renewed[NP];            /* a renewal was committed since the last poll */
/* ---- the manager's state for each peer ---- */
byte evidence[NP];   /* age of the newest contact evidence; COVERED_FOR: lapsed */
byte seen_age[NP];   /* age that the renewal seen at last can have at most */
#ifdef SLOW_POLLS
bool served_renewed[NP]; byte served_shown[NP]; /* the answer to the poll */
#endif
byte proven[NP];     /* time covered without a lapse, after the acknowledged marker */
#endif
#if defined(FAILOVER_RESUMES) || defined(OUTAGE_NUMBERS)
bool inherited[NP];          /* proven time of an earlier manager, not yet joined to coverage by this one */
#endif
#ifdef OUTAGE_NUMBERS
bool out[NP];                /* its contact was older than K at some time, or it was restarted, since the marker */
bool known_out[NP];          /* the same at its last acknowledged renewal, which the next one reports */
bool shown_out[NP];
#endif
#if defined(TIME_ONLY) || defined(ANY_PEERS)
unsigned elapsed : 4 = 0;
#endif
#ifdef COUNT_FROM_SEND
bool marker_sent = false;    /* and not yet committed, while the manager counts already */
#endif

hidden byte i, h, u, e;

#define node_acts (alive && !released)
#if defined(REACH_RELEASE) || defined(TRACE)
#define others_act (!released)
#else
#define others_act node_acts
#endif
#define spend(timer) if :: timer > 0 -> timer-- :: else fi
#define grow(timer, most) if :: timer < most -> timer++ :: else fi

/* A request that would not lengthen the lease now never will: both shrink at the same pace. */
inline forget_if_worthless(value) { if :: condemned || value <= lease -> value = 0 :: else fi }

inline renew_lease(value) {
#ifdef REVIVE
  if :: value > lease -> lease = value; condemned = false :: else fi;
#else
  if :: !condemned && value > lease -> lease = value :: else fi;
#endif
}

inline condemn() {
  condemned = true; lease = 0
}

/* Availability (NO_FALSE_CONDEMNATION): peers make a node fence itself only if there is a marker, for any answers of Byzantine peers. */
inline condemned_by_peers() {
#ifdef NO_FALSE_CONDEMNATION
  assert(marker)
#else
  skip
#endif
}

/* A write to the node's Lease was committed: every version read before is stale. */
inline version_moves() {
  if :: version == CURRENT -> version = STALE :: else fi;
  if :: manager == LEASE_READ -> manager = LEASE_READ_STALE :: else fi;
  carried = false; stray = false;
}

inline request_ends() { request = IDLE; carried = false; worth = 0 }

#if NP > 0
/* The same for the renewal seen at last: if its age does not beat the evidence now, it never will, and its number adds nothing. */
inline forget_worthless_number(p) {
#ifdef SLOW_POLLS
  if :: polling != POLL_SERVED && seen_age[p] >= COVERED_FOR && acked[p] == SEEN -> acked[p] = OLDER :: else fi;
  if :: polling != POLL_SERVED && seen_age[p] >= COVERED_FOR && shown[p] == SEEN -> shown[p] = OLDER :: else fi
#else
  if :: seen_age[p] >= COVERED_FOR && acked[p] == SEEN -> acked[p] = OLDER :: else fi;
  if :: seen_age[p] >= COVERED_FOR && shown[p] == SEEN -> shown[p] = OLDER :: else fi
#endif
}
#endif

/* Random traces (traces.py) follow a scenario, so that they have more events than random choice would give: a number of mishaps, a marker
   that is not set before its time, and a time in which some cannot reach the API. A search has no scenario. */
#ifdef TRACE
byte ticks = 0, mishaps = MISHAPS, next_mishap = MISHAPS_APART, pace = 0;
#define STEPS_A_TICK 6       /* of the clock's own, that others have between two ticks */
#define NODE 0
#define MANAGER 1
#define PEER(j) (2 + (j))
#define mishap_may (mishaps > 0 && ticks >= next_mishap)
#define reaches(who) (ticks < OUT_FROM || ticks >= OUT_UNTIL || !((OUT_WHO >> (who)) & 1))
#define marker_may (ticks >= MARKER_AFTER)
inline mishap() { mishaps--; next_mishap = ticks + MISHAPS_APART }
#else
#define mishap_may true
#define reaches(who) true
#ifdef MARKER_NEVER
#define marker_may false
#else
#define marker_may true
#endif
inline mishap() { skip }
#endif

/* Conditions, and the mutants of them. */
#ifdef QUIET                /* an agent that must fence itself asks no peers; without QUIET it continues as before */
#define agent_asks (node_acts && !condemned)
#else
#define agent_asks node_acts
#endif
#ifdef BLIND_RENEWAL
#define version_holds true
#else
#define version_holds carried
#endif
#ifdef MINORITY
#define outage (e > 0)
#else
#ifdef MAJORITY_OF_ANSWERS
#define outage (2 * e > h + u + e)
#else
#ifdef COUNTS_ITSELF
#define outage (2 * (e + 1) > NP + 1)
#else
#define outage (2 * e > NP)  /* of the whole published list */
#endif
#endif
#endif
#ifdef NO_API_AT_ONCE
#define says_at_once true
#else
#define says_at_once false
#endif
#ifdef OPENING_UNCHECKED
#define may_open true
#else
#define may_open (lease > 0)
#endif
#ifdef PING_UNCHECKED
#define may_ping (!condemned)
#else
#ifdef STARVING
#define may_ping (lease > 0 && since_ping < W)
#else
#define may_ping (lease > 0)
#endif
#endif

proctype Clock() {
  do
#ifdef TRACE
  :: d_step { others_act && pace < STEPS_A_TICK -> pace++ }
  :: d_step { others_act && pace == STEPS_A_TICK ->
       pace = 0; grow(ticks, 250);
#else
  :: d_step { others_act ->
#endif
       printf("tick\n");
       spend(lease);
       if
       :: alive && armed -> wd--; if :: wd == 0 -> alive = false; printf("reset\n") :: else fi
       :: else
       fi;
       spend(worth); spend(round_worth);
#ifndef REVIVE
       forget_if_worthless(worth); forget_if_worthless(round_worth);
#endif
#ifdef OWN_LOOKS
       spend(look_worth); forget_if_worthless(look_worth);
#endif
       grow(poll_age, K);
#ifdef SLOW_POLLS
       if :: polling != 0 -> grow(polling_age, K) :: else fi;
#endif
#ifdef STARVING
       grow(since_ping, W);
#endif
#if defined(TIME_ONLY) || defined(ANY_PEERS)
       if :: manager == COUNTING -> grow(elapsed, T) :: else fi;
#endif
#if NP > 0
       i = 0;
       do
       :: i < NP ->
          grow(contact[i], K); grow(evidence[i], COVERED_FOR); grow(seen_age[i], COVERED_FOR);
          forget_worthless_number(i);
#ifdef PEER_SEND_DATED
          if :: sending[i] || replying[i] -> grow(sent[i], K) :: else fi;
#endif
          if
#ifdef LAPSE_UNNOTICED
          :: manager == COUNTING -> grow(proven[i], T)
#else
          :: manager == COUNTING && evidence[i] < COVERED_FOR -> grow(proven[i], T)
#endif
#if defined(FAILOVER_RESUMES) || defined(OUTAGE_NUMBERS)
          :: inherited[i]
#endif
#ifdef LAPSE_PAUSES
          :: else
#else
          :: else -> proven[i] = 0       /* lapsed: this peer's time restarts at zero when it is covered again */
#endif
          fi;
#ifdef OUTAGE_NUMBERS
          if :: manager == COUNTING && contact[i] >= K -> out[i] = true :: else fi;
#endif
          i++
       :: else -> break
       od;
       i = 0
#endif
     }
  od
}

proctype Agent() {
  do
  /* renewal of the own Lease: a PUT under the version that the agent holds */
#ifndef NO_RENEWAL
  :: d_step { agent_asks && request == IDLE && version != UNKNOWN ->
       request = RENEWAL; carried = (version == CURRENT); worth = G; printf("renewal sent\n");
#ifdef SENDING_IS_CLEAN
       renew_lease(worth)
#endif
     }
#endif
  :: d_step { node_acts && request == RENEWAL && version_holds && reaches(NODE) -> version_moves(); request = RENEWED; carried = true; printf("renewal committed\n") }
  :: d_step { node_acts && request == RENEWAL && !carried && reaches(NODE) -> request = CONFLICTED; printf("renewal refused\n") }
  :: d_step { node_acts && request == RENEWED ->
#ifdef REPLY_ANCHOR
       worth = G;
#endif
       renew_lease(worth); version = (carried -> CURRENT : STALE); request_ends(); printf("renewal acknowledged\n") }
  :: d_step { node_acts && request == CONFLICTED ->
#ifdef CONFLICT_IS_CLEAN
       renew_lease(worth);
#endif
       version = UNKNOWN; request_ends(); printf("conflict\n") }
  /* the read after a conflict or a start: returns the marker, else only the version */
  :: d_step { agent_asks && request == IDLE && version == UNKNOWN -> request = READING; printf("read sent\n") }
  :: d_step { node_acts && request == READING && reaches(NODE) ->
       request = (marker -> READ_MARKED : READ_CLEAN); carried = true; printf("read served\n") }
  :: d_step { node_acts && request == READ_CLEAN ->
       version = (carried -> CURRENT : STALE); request_ends(); printf("read clean\n") }
  :: d_step { node_acts && request == READ_MARKED ->
       version = (carried -> CURRENT : STALE); request_ends();
#ifndef MARKER_OVERLOOKED
       condemn();
#endif
       printf("read marked\n") }
  /* deadline passed, or the reply lost: the outcome is unknown; the renewal may still arrive */
  :: d_step { node_acts && request != IDLE && (mishap_may || !reaches(NODE)) ->
       if :: reaches(NODE) -> mishap() :: else fi;
       if :: request == RENEWAL && carried -> stray = true :: else fi;
       request_ends(); printf("request lost\n") }
  :: d_step { node_acts && stray && reaches(NODE) -> version_moves(); printf("stray renewal committed\n") }
  /* death and restart: memory is lost, the file on tmpfs stays */
#ifdef RESTARTS
  :: d_step { node_acts && mishap_may ->
       mishap();
       if :: request == RENEWAL && carried -> stray = true :: else fi;
       request_ends(); version = UNKNOWN; asking = false; round_worth = 0;
#if NP > 0
       i = 0; do :: i < NP -> answer[i] = SILENT; i++ :: else -> break od; i = 0;
#endif
#ifdef RESTART_FORGETS
       lease = G; condemned = false;
#endif
       printf("agent restarted\n") }
#endif
#ifdef DISARM
  :: d_step { node_acts && armed -> armed = false; feeder = CLOSED; printf("disarmed\n") }
#endif
#if NP > 0
  /* a round of peers; answers are bound to it by its nonce */
  :: d_step { agent_asks && !asking -> asking = true; round_worth = G; printf("round asked\n") }
  :: d_step { node_acts && asking ->
       h = 0; u = 0; e = 0; i = 0;
       do
       :: i < NP ->
          if :: answer[i] == HEALTHY -> h++ :: answer[i] == UNHEALTHY -> u++ :: answer[i] == NO_API -> e++ :: else fi;
#ifndef NO_NONCE
          answer[i] = SILENT;
#endif
          i++
       :: else -> break
       od;
       i = 0;
#ifdef ROUND_REPLY_ANCHOR
       round_worth = G;
#endif
       if
       :: h >= QH -> renew_lease(round_worth); printf("round healthy\n")
#ifndef NEVER_TOLD
       :: h < QH && !outage && u >= QU -> condemn(); condemned_by_peers(); printf("round condemned\n")
#endif
       :: h < QH && outage ->
#ifdef REACH_OUTAGE
          assert(!(manager == COUNTING && lease == 0 && round_worth > 0));  /* sanity: an outage does keep a marked node alive */
#endif
          renew_lease(round_worth); printf("round outage\n")
       :: else -> printf("round undetermined\n")
       fi;
       asking = false; round_worth = 0; h = 0; u = 0; e = 0 }
#endif
  od
}

/* One feeder at a time: lock, check, open. The kernel pings when the device is opened, when its timeout is set, and when
   it is closed without the magic byte, as at the feeder's death. */
inline ping() {
  wd = DEVICE_W;
#ifdef STARVING
  since_ping = 0;
#endif
}
proctype Feeder() {
  do
  :: d_step { node_acts && armed && feeder == CLOSED && may_open -> feeder = CLOSED_CHECKED; printf("opening checked\n") }
  :: d_step { node_acts && feeder == CLOSED_CHECKED ->
       ping(); printf("opened\n");
#ifdef TIMEOUT_UNCHECKED
       feeder = OPEN_CHECKED
#else
       feeder = OPEN
#endif
     }
  :: d_step { node_acts && feeder == OPEN && may_ping -> feeder = OPEN_CHECKED; printf("ping checked\n") }
  :: d_step { node_acts && feeder == OPEN_CHECKED -> ping(); feeder = OPEN; printf("pinged\n") }
#ifdef FEEDER_DIES
  :: d_step { node_acts && feeder == CLOSED_CHECKED && mishap_may -> mishap(); feeder = CLOSED; printf("feeder died closed\n") }
  :: d_step { node_acts && (feeder == OPEN || feeder == OPEN_CHECKED) && mishap_may ->
       mishap(); wd = DEVICE_W; printf("closed\n");
#ifdef STARVING
       since_ping = 0;                  /* the next feeder does not know the pings of the previous feeder */
#endif
#if defined(NO_LOCK) || defined(LOCK_FREED_EARLY)
       feeder = (second_checked -> CLOSED_CHECKED : CLOSED); second_checked = false
#else
       feeder = CLOSED
#endif
     }
#endif
#ifdef NO_LOCK
  :: d_step { node_acts && !second_checked && lease > 0 && (feeder == OPEN || feeder == OPEN_CHECKED) ->
       second_checked = true; printf("second feeder checked\n") }
#endif
#ifdef LOCK_FREED_EARLY
  /* the dying feeder's lock is free before its device is closed: it sends no further ping, but the closing ping is still to come */
  :: d_step { node_acts && !second_checked && lease > 0 && feeder == OPEN ->
       second_checked = true; printf("lock freed, second feeder checked\n") }
#endif
  od
}

#ifdef OWN_LOOKS
/* The node lives on the feeder's own API checks with or without an agent. A marker fences the node; or, as in a drill, only ends its renewals. */
proctype OwnLook() {
  do
  :: d_step { node_acts && look == 0 && !condemned -> look = LOOK_SENT; look_worth = G; printf("look sent\n") }
#ifdef LOOK_CACHED
  :: d_step { node_acts && look == LOOK_SENT -> look = LOOK_CLEAN; printf("look served from a cache\n") }
#endif
  :: d_step { node_acts && look == LOOK_SENT -> look = (marker -> LOOK_MARKED : LOOK_CLEAN); printf("look served\n") }
  :: d_step { node_acts && look == LOOK_CLEAN ->
#ifdef LOOK_REPLY_ANCHOR
       look_worth = G;
#endif
       renew_lease(look_worth); look = 0; look_worth = 0; printf("look clean\n") }
  :: d_step { node_acts && look == LOOK_MARKED ->
#ifdef LOOK_OVERLOOKS_MARKER
       renew_lease(look_worth);
#endif
       look = 0; look_worth = 0; printf("look marked\n") }
  :: d_step { node_acts && look == LOOK_MARKED -> condemn(); look = 0; look_worth = 0; printf("look condemns\n") }
  :: d_step { node_acts && look != 0 -> look = 0; look_worth = 0; printf("look lost\n") }
#ifdef LOOK_LONGER
  /* a feeder that is restarted with a longer lease than the published one */
  :: d_step { node_acts && look == LOOK_CLEAN -> renew_lease(look_worth + 1); look = 0; look_worth = 0; printf("look clean, for longer\n") }
#endif
#ifdef REACH_OWN_LOOK
  /* sanity: a node does outlive its agent's last renewal by its feeder's own API checks */
  :: d_step { node_acts && look == LOOK_CLEAN && lease == 0 && look_worth > 0 && feeder == OPEN -> assert(false) }
#endif
  od
}
#endif

#if NP > 0
proctype Peer(byte j) {
  do
  /* its own renewals, and whether their replies arrive; without a marker only the possible answers of a peer depend on them */
#ifdef MARKER_NEVER
  :: d_step { others_act && contact[j] > 0 -> contact[j] = 0; printf("peer %d renewal acknowledged\n", j) }
#else
#ifdef PEER_SEND_DATED
  :: d_step { others_act && !sending[j] && !replying[j] -> sending[j] = true; sent[j] = 0 }
#endif
#ifdef PEER_SEND_DATED
  :: d_step { others_act && sending[j] ->
       sending[j] = false;
#else
  :: d_step { others_act && !replying[j] && reaches(PEER(j)) ->
#endif
       replying[j] = true;
       if
       :: manager == COUNTING ->
          if :: acked[j] == NEWEST -> acked[j] = NEWER :: else fi;
#ifdef OUTAGE_NUMBERS
          shown_out[j] = known_out[j];
#endif
          shown[j] = acked[j]; renewed[j] = true
       :: else
       fi;
       printf("peer %d renewal committed\n", j) }
  :: d_step { others_act && replying[j] ->
       replying[j] = false;
#ifdef PEER_SEND_DATED
       contact[j] = sent[j]; sent[j] = 0;
#else
       contact[j] = 0;
#endif
       if :: manager == COUNTING -> acked[j] = (renewed[j] -> NEWEST : SEEN) :: else fi;
       forget_worthless_number(j);
#ifdef OUTAGE_NUMBERS
       known_out[j] = out[j];
#endif
       printf("peer %d renewal acknowledged\n", j) }
#endif
#ifdef LOSSES
  :: d_step { others_act && replying[j] && mishap_may ->
       mishap(); replying[j] = false; printf("peer %d reply lost\n", j);
#ifdef PEER_SEND_DATED
       sent[j] = 0;
#endif
#ifdef ACK_BY_READ
       if :: manager == COUNTING -> acked[j] = (renewed[j] -> NEWEST : SEEN) :: else fi
#endif
     }
#endif
#ifdef RESTARTS
  /* restarted: without any contact and acknowledgement, so that the age of its contact counts from its start */
  :: d_step { others_act && mishap_may ->
       mishap(); replying[j] = false; acked[j] = OLDER; printf("peer %d restarted\n", j);
#ifdef OUTAGE_NUMBERS
       if :: manager == COUNTING -> out[j] = true; known_out[j] = true :: else fi;
#endif
#ifdef PEER_SEND_DATED
       sending[j] = false; sent[j] = 0;
#endif
#ifdef PEER_RESTART_FORGETS
       contact[j] = K
#else
       contact[j] = 0
#endif
     }
#endif
  /* queried: reads the node's Lease, after the request arrived */
  :: d_step { node_acts && asking && answer[j] == SILENT && reaches(PEER(j)) ->
       answer[j] = (marker -> UNHEALTHY : HEALTHY);
       if :: marker -> printf("peer %d unhealthy\n", j) :: else -> printf("peer %d healthy\n", j) fi }
#ifdef CACHED_ANSWER
  :: d_step { node_acts && asking && answer[j] == SILENT -> answer[j] = HEALTHY; printf("peer %d healthy\n", j) }
#endif
#if LIARS > 0
  /* a Byzantine peer gives any answer, regardless of its contact */
  :: d_step { node_acts && asking && j < LIARS && answer[j] == SILENT -> answer[j] = HEALTHY; printf("peer %d lies healthy\n", j) }
  :: d_step { node_acts && asking && j < LIARS && answer[j] == SILENT -> answer[j] = UNHEALTHY; printf("peer %d lies unhealthy\n", j) }
  :: d_step { node_acts && asking && j < LIARS && answer[j] == SILENT -> answer[j] = NO_API; printf("peer %d lies no API\n", j) }
#endif
  /* the read failed: it cannot reach the API either, if its contact is old */
  :: d_step { node_acts && asking && answer[j] == SILENT && (contact[j] >= K || says_at_once) && (mishap_may || !reaches(PEER(j))) -> answer[j] = NO_API; printf("peer %d cannot reach\n", j) }
  od
}
#endif

#if NP > 0
/* The API server's side of a poll: the last renewal committed is now the one that was seen. */
inline poll_sees(p) {
  if
  :: renewed[p] -> acked[p] = (acked[p] == NEWEST -> SEEN : OLDER); shown[p] = OLDER; renewed[p] = false
  :: else
  fi
}
/* The manager's side: a renewal is evidence once a later one shows that its acknowledgement arrived. */
inline weigh(p, fresh, number) {
  if
#ifdef UNACKNOWLEDGED
  :: fresh -> evidence[p] = poll_age
#else
#ifdef POLL_DATED
  :: fresh && number >= SEEN -> evidence[p] = 0
#else
  :: fresh && number >= NEWER -> if :: poll_age < evidence[p] -> evidence[p] = poll_age :: else fi
  :: fresh && number == SEEN -> if :: seen_age[p] < evidence[p] -> evidence[p] = seen_age[p] :: else fi
#endif
#endif
  :: else
  fi;
#ifdef LAPSE_UNNOTICED
  if :: evidence[p] >= COVERED_FOR -> proven[p] = 0 :: else fi;
#endif
#ifdef FAILOVER_RESUMES
  if :: evidence[p] < COVERED_FOR -> inherited[p] = false :: else fi;
#endif
#ifdef OUTAGE_NUMBERS
  if
  :: inherited[p] && evidence[p] < COVERED_FOR -> inherited[p] = false; if :: shown_out[p] -> proven[p] = 0 :: else fi
  :: else
  fi;
#endif
  if :: fresh -> seen_age[p] = poll_age :: else fi;
  if :: seen_age[p] >= evidence[p] -> seen_age[p] = COVERED_FOR :: else fi
}
#endif

proctype Manager() {
  do
  /* the marker, by compare-and-swap on the same Lease */
  :: d_step { others_act && manager == BEFORE && marker_may -> manager = LEASE_READ; printf("manager read\n") }
  :: d_step { others_act && manager == LEASE_READ_STALE -> manager = BEFORE; printf("marker refused\n") }
#ifdef COUNT_FROM_SEND
  :: d_step { others_act && manager == LEASE_READ -> marker_sent = true; manager = MARKER_PUT }
  :: d_step { others_act && marker_sent -> version_moves(); marker = true; marker_sent = false }
#else
  :: d_step { others_act && manager == LEASE_READ && reaches(MANAGER) -> version_moves(); marker = true; manager = MARKER_PUT; printf("marker put\n") }
#endif
  :: d_step { others_act && manager == MARKER_PUT ->
       manager = COUNTING; poll_age = K; printf("marker acknowledged\n");
#if NP > 0
       i = 0;
       do
       :: i < NP ->
          evidence[i] = COVERED_FOR; seen_age[i] = COVERED_FOR; proven[i] = 0;
          acked[i] = OLDER; shown[i] = OLDER; renewed[i] = false; i++
       :: else -> break
       od;
       i = 0
#endif
     }
#if NP > 0
  /* a poll of the peers' Leases; a renewal seen for the first time was committed after the previous poll was sent */
#ifdef SLOW_POLLS
  :: d_step { others_act && manager == COUNTING && polling == 0 -> polling = POLL_SENT; polling_age = 0; printf("poll sent\n") }
  :: d_step { others_act && polling == POLL_SENT && reaches(MANAGER) ->
       i = 0;
       do
       :: i < NP -> served_renewed[i] = renewed[i]; served_shown[i] = shown[i]; poll_sees(i); i++
       :: else -> break
       od;
       i = 0; polling = POLL_SERVED; printf("poll served\n") }
  :: d_step { others_act && polling == POLL_SERVED ->
       i = 0;
       do
       :: i < NP ->
          weigh(i, served_renewed[i], served_shown[i]);
          served_renewed[i] = false; served_shown[i] = OLDER; forget_worthless_number(i); i++
       :: else -> break
       od;
       i = 0; polling = 0;
#ifdef POLL_REPLY_DATED
       poll_age = 0;
#else
       poll_age = polling_age;
#endif
       polling_age = 0; printf("poll\n") }
#else
  :: d_step { others_act && manager == COUNTING ->
       i = 0;
       do
       :: i < NP -> weigh(i, renewed[i], shown[i]); poll_sees(i); forget_worthless_number(i); i++
       :: else -> break
       od;
       i = 0;
#ifdef ANY_PEERS
       u = 0; do :: i < NP -> if :: evidence[i] < COVERED_FOR -> u++ :: else fi; i++ :: else -> break od; i = 0;
       if :: u < COVERED_PEERS -> elapsed = 0 :: else fi; u = 0;
#endif
       poll_age = 0; printf("poll\n") }
#endif
#endif
#ifdef FAILOVER
  /* another manager takes over: it reads the proven time in the status, and has seen no renewals */
  :: d_step { others_act && manager == COUNTING && mishap_may ->
       mishap(); i = 0;
       do
       :: i < NP ->
#if defined(FAILOVER_RESUMES) || defined(OUTAGE_NUMBERS)
          inherited[i] = (proven[i] > 0);
#else
          proven[i] = 0;             /* it is unknown whether coverage lapsed in between */
#endif
          evidence[i] = COVERED_FOR; seen_age[i] = COVERED_FOR; forget_worthless_number(i); i++
       :: else -> break
       od;
       i = 0; poll_age = K; printf("manager replaced\n") }
#endif
  /* release by time: enough peers, each covered for all of T */
  :: d_step { others_act && manager == COUNTING ->
       u = 0; i = 0;
#ifdef TIME_ONLY
       if :: elapsed >= T -> u = NP + 1 :: else fi;
#else
#if NP > 0
       do
       :: i < NP ->
#ifdef ANY_PEERS
          if :: elapsed >= T && evidence[i] < COVERED_FOR -> u++ :: else fi;
#else
          if :: proven[i] >= T && evidence[i] < COVERED_FOR -> u++ :: else fi;
#endif
          i++
       :: else -> break
       od;
       i = 0;
#endif
#endif
       if
       :: u >= COVERED_PEERS && u > 0 -> released = true; printf("release\n");
#ifdef REACH_RELEASE
          assert(false)              /* sanity: a release can happen */
#else
          assert(!alive)
#endif
       :: else
       fi;
       u = 0 }
  od
}

init {
  atomic {
#if NP > 0
    i = 0;
    do
    :: i < NP -> evidence[i] = COVERED_FOR; seen_age[i] = COVERED_FOR; i++
    :: else -> break
    od;
    i = 0;
#endif
    run Clock(); run Agent(); run Feeder(); run Manager();
#ifdef OWN_LOOKS
    run OwnLook();
#endif
#if NP > 0
    i = 0; do :: i < NP -> run Peer(i); i++ :: else -> break od; i = 0
#endif
  }
}
