/* Graceful stop: an agent that is stopped publishes that the watchdog promises nothing, leaves a permit, and ends; the feeder then feeds
   without a lease. The next agent removes the permit before it publishes anything else.

   Safety: no node is released by time while it is alive. It has no peers here, and time alone proves its end (as in the runs `alone` of
   self_fencing, from which lease, feeder and device are taken): the search is for a permit that outlives its publication.

   A report promises a reset, or it does not. The manager releases if the report promised when the marker was set on it, or promises later.

   Mutants: KEEPS_PROMISE (the report of an agent that is stopped still promises), PERMIT_UNACKNOWLEDGED (the permit is left with the sending),
   BLIND_WRITE (a renewal without a precondition), OVERLOOKS_MARKER (a stopped agent that reads a marker continues),
   STANDS_UP_LATE (the next agent promises before it has removed the permit), NEVER_STANDS_UP (and never removes it),
   NO_AGENT_LOCK (the next agent begins before the one that is stopped has ended) */
#ifndef G
#define G 2
#endif
#ifndef W
#define W 2
#endif
#ifndef T
#define T 5
#endif
#define AGENTS 2             /* one at a time, unless NO_AGENT_LOCK */

/* ---- the machine ---- */
bool alive = true, released = false, condemned = false;
bool permit = false;         /* a file on tmpfs, as is the lease */
unsigned lease : 4 = G;
unsigned wd : 4 = W;
#define CLOSED 0
#define CLOSED_CHECKED 1
#define OPEN 2
#define OPEN_CHECKED 3
unsigned feeder : 2 = OPEN;

/* ---- the Lease ---- */
bool promised = true;        /* by the report on it */
bool marker = false;
bool stray_promising = false, stray_other = false; /* renewals that were given up, under way under the current version */

/* ---- the agents ---- */
#define GONE 0
#define AT_WORK 1
#define STOPPING 2
byte agent[AGENTS];
#define IDLE 0
#define RENEWAL 1
#define RENEWED 2
#define CONFLICTED 3
#define READING 4
#define READ_CLEAN 5
#define READ_MARKED 6
byte request[AGENTS];
bool carried[AGENTS];        /* the version of the request, or of its reply, is still that of the Lease */
bool promises[AGENTS];       /* whether the renewal promises a reset */
byte worth[AGENTS];          /* what the lease becomes if it is acknowledged now */
#define UNKNOWN 0
#define CURRENT 1
#define STALE 2
byte version[AGENTS];

/* ---- the manager ---- */
#define BEFORE 0
#define LEASE_READ 1
#define LEASE_READ_STALE 2
#define MARKER_PUT 3
#define COUNTING 4
unsigned manager : 3 = BEFORE;
bool promised_to = false;    /* it was, or is, promised a reset */
unsigned elapsed : 4 = 0;

hidden byte i;
#define acts (alive && !released)
#define spend(timer) if :: timer > 0 -> timer-- :: else fi

inline version_moves() {
  i = 0;
  do
  :: i < AGENTS -> if :: version[i] == CURRENT -> version[i] = STALE :: else fi; carried[i] = false; i++
  :: else -> break
  od;
  i = 0;
  if :: manager == LEASE_READ -> manager = LEASE_READ_STALE :: else fi;
  stray_promising = false; stray_other = false
}
inline publish(what) { version_moves(); promised = what; if :: marker && promised -> promised_to = true :: else fi }
inline request_ends(a) { request[a] = IDLE; carried[a] = false; promises[a] = false; worth[a] = 0 }
inline give_up(a) {
  if
  :: request[a] == RENEWAL && carried[a] && promises[a] -> stray_promising = true
  :: request[a] == RENEWAL && carried[a] && !promises[a] -> stray_other = true
  :: else
  fi;
  request_ends(a)
}
inline end(a) { agent[a] = GONE; version[a] = UNKNOWN; give_up(a) }
inline condemn() { condemned = true; lease = 0 }

#ifdef BLIND_WRITE
#define version_holds true
#else
#define version_holds carried[a]
#endif
#ifdef NO_AGENT_LOCK
#define may_begin true
#else
#define may_begin (agent[1 - a] == GONE)
#endif
#ifdef KEEPS_PROMISE
#define says (!permit)
#else
#if defined(STANDS_UP_LATE) || defined(NEVER_STANDS_UP)
#define says (agent[a] == AT_WORK)
#else
#define says (agent[a] == AT_WORK && !permit)
#endif
#endif
#define may_feed (!condemned && (lease > 0 || permit))

proctype Clock() {
  do
  :: d_step { acts ->
       printf("tick\n");
       spend(lease); wd--; if :: wd == 0 -> alive = false; printf("reset\n") :: else fi;
       i = 0; do :: i < AGENTS -> spend(worth[i]); i++ :: else -> break od; i = 0;
       if :: manager == COUNTING && elapsed < T -> elapsed++ :: else fi }
  od
}

proctype Agent(byte a) {
  do
  :: d_step { acts && agent[a] == GONE && may_begin && !condemned -> agent[a] = AT_WORK; printf("agent %d begins\n", a) }
  :: d_step { acts && agent[a] != GONE -> end(a); printf("agent %d dies\n", a) }
  :: d_step { acts && agent[a] == AT_WORK -> agent[a] = STOPPING; version[a] = UNKNOWN; give_up(a); printf("agent %d is told to stop\n", a) }
  :: d_step { acts && agent[a] != GONE && request[a] == IDLE && version[a] == UNKNOWN -> request[a] = READING }
  :: d_step { acts && request[a] == READING -> request[a] = (marker -> READ_MARKED : READ_CLEAN); carried[a] = true }
  :: d_step { acts && request[a] == READ_CLEAN -> version[a] = (carried[a] -> CURRENT : STALE); request_ends(a); printf("agent %d reads\n", a) }
  :: d_step { acts && request[a] == READ_MARKED ->
       version[a] = (carried[a] -> CURRENT : STALE); request_ends(a);
#ifdef OVERLOOKS_MARKER
       if :: agent[a] == STOPPING -> skip :: else -> condemn(); end(a) fi;
#else
       condemn(); end(a);
#endif
       printf("agent %d reads a marker\n", a) }
  :: d_step { acts && agent[a] != GONE && request[a] == IDLE && version[a] != UNKNOWN ->
       request[a] = RENEWAL; carried[a] = (version[a] == CURRENT); worth[a] = G; promises[a] = says;
#ifdef PERMIT_UNACKNOWLEDGED
       if :: agent[a] == STOPPING -> permit = true :: else fi;
#endif
       printf("agent %d sends, promising %d\n", a, promises[a]) }
  :: d_step { acts && request[a] == RENEWAL && version_holds -> publish(promises[a]); request[a] = RENEWED; carried[a] = true; printf("committed, promising %d\n", promised) }
  :: d_step { acts && request[a] == RENEWAL && !carried[a] -> request[a] = CONFLICTED }
  :: d_step { acts && request[a] == CONFLICTED -> version[a] = UNKNOWN; request_ends(a); printf("agent %d conflict\n", a) }
  :: d_step { acts && request[a] == RENEWED ->
       if :: !condemned && worth[a] > lease -> lease = worth[a] :: else fi;
       version[a] = (carried[a] -> CURRENT : STALE); request_ends(a); printf("agent %d acknowledged\n", a);
       if
       :: agent[a] == STOPPING -> permit = true; end(a); printf("agent %d stands down\n", a)
#ifndef NEVER_STANDS_UP
       :: agent[a] == AT_WORK && permit -> permit = false; printf("agent %d stands up\n", a)
#endif
       :: else
       fi }
  :: d_step { acts && request[a] != IDLE -> give_up(a); printf("agent %d lost an answer\n", a) }
  :: d_step { acts && stray_promising -> publish(true); printf("stray committed, promising\n") }
  :: d_step { acts && stray_other -> publish(false); printf("stray committed\n") }
  od
}

proctype Feeder() {
  do
  :: d_step { acts && feeder == CLOSED && may_feed -> feeder = CLOSED_CHECKED }
  :: d_step { acts && feeder == CLOSED_CHECKED -> wd = W; feeder = OPEN; printf("opened\n") }
  :: d_step { acts && feeder == OPEN && may_feed -> feeder = OPEN_CHECKED }
  :: d_step { acts && feeder == OPEN_CHECKED -> wd = W; feeder = OPEN; printf("pinged\n") }
  :: d_step { acts && feeder == CLOSED_CHECKED -> feeder = CLOSED }
  :: d_step { acts && (feeder == OPEN || feeder == OPEN_CHECKED) -> wd = W; feeder = CLOSED; printf("closed\n") }
  od
}

proctype Manager() {
  do
  :: d_step { acts && manager == BEFORE -> manager = LEASE_READ }
  :: d_step { acts && manager == LEASE_READ_STALE -> manager = BEFORE }
  :: d_step { acts && manager == LEASE_READ ->
       version_moves(); marker = true; promised_to = promised; manager = MARKER_PUT; printf("marker on a report promising %d\n", promised) }
  :: d_step { acts && manager == MARKER_PUT -> manager = COUNTING }
  :: d_step { acts && manager == COUNTING && elapsed >= T && promised_to -> released = true; printf("release\n"); assert(!alive) }
#ifdef REACH_STOOD_DOWN
  /* sanity: a node whose agent stopped gracefully does outlive all its leases, under a marker */
  :: d_step { acts && manager == COUNTING && elapsed >= T && permit && lease == 0 -> assert(false) }
#endif
  od
}
init { atomic { agent[0] = AT_WORK; version[0] = CURRENT; run Clock(); run Agent(0); run Agent(1); run Feeder(); run Manager() } }
