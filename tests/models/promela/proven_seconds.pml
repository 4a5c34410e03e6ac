/* Proven seconds: independent managers add the time that each has counted to one status, by compare-and-swap.

   Safety: the time in the status never exceeds the true time since the marker was committed. Managers may be paused anywhere, replaced at any
   time, and there may be several at once (split brain). Each counts on its own monotonic clock.

   Mutants: BLIND_ADDITION (adds to the current value, without a precondition), RETRY_AFTER_CONFLICT (the old count is added to the newly read value),
   LOST_IS_FAILED (the same after a lost reply), COUNT_FROM_READ_SENT (counts from the sending of the read),
   BEFORE_MARKER (counts before the marker is acknowledged), WHOLE_COUNT (adds its whole count, not the part since its last addition) */
#ifndef MANAGERS
#define MANAGERS 2
#endif
#ifndef MOST
#define MOST 5               /* ticks since the marker to be searched */
#endif
bool marked = false;
byte elapsed = 0;            /* true time since the marker's commit */
byte proven = 0;             /* status.provenSeconds */
#define OUT 0                /* not begun, or must read everything again */
#define READ_SENT 1
#define READ_SERVED 2
#define COUNTING 3
#define ADDING 4             /* the write on its way there */
#define ADDED 5              /* committed, the reply on its way */
#define REFUSED 6
byte state[MANAGERS];
byte base[MANAGERS];         /* what it read, or wrote itself */
bool holds[MANAGERS];        /* the version that it holds, or that its request carries, is still the current one */
byte counted[MANAGERS];      /* on its own clock, since its base */
byte adding[MANAGERS];       /* what it writes */
bool keeps[MANAGERS];        /* (mutants) a count that outlives a failed write */
hidden byte i;

inline forget(m) { state[m] = OUT; base[m] = 0; holds[m] = false; adding[m] = 0; counted[m] = 0; keeps[m] = false }
inline status_moves() { i = 0; do :: i < MANAGERS -> holds[i] = false; i++ :: else -> break od; i = 0 }

#ifdef BEFORE_MARKER
#define may_begin true
#else
#define may_begin marked
#endif
#ifdef BLIND_ADDITION
#define version_holds true
#else
#define version_holds holds[m]
#endif

proctype Clock() {
  do
  :: d_step { elapsed < MOST ->
       if :: marked -> elapsed++ :: else fi;
       i = 0;
       do
       :: i < MANAGERS -> if :: state[i] != OUT && counted[i] < MOST -> counted[i]++ :: else fi; i++
       :: else -> break
       od;
       i = 0 }
  :: d_step { !marked -> marked = true }
  od
}

proctype Manager(byte m) {
  do
  :: d_step { state[m] == OUT && may_begin ->
       state[m] = READ_SENT; if :: !keeps[m] -> counted[m] = 0 :: else fi; printf("%d reads\n", m) }
  :: d_step { state[m] == READ_SENT -> state[m] = READ_SERVED; base[m] = proven; holds[m] = true }
  :: d_step { state[m] == READ_SERVED ->
       state[m] = COUNTING;
#ifndef COUNT_FROM_READ_SENT
       if :: !keeps[m] -> counted[m] = 0 :: else fi;
#endif
       keeps[m] = false; printf("%d has read %d\n", m, base[m]) }
  /* the count up to now is added; from now on time counts for the next addition */
  :: d_step { state[m] == COUNTING && counted[m] > 0 ->
       state[m] = ADDING; adding[m] = base[m] + counted[m];
#ifndef WHOLE_COUNT
#if !defined(RETRY_AFTER_CONFLICT) && !defined(LOST_IS_FAILED)
       counted[m] = 0;
#endif
#endif
       printf("%d writes %d\n", m, adding[m]) }
  :: d_step { state[m] == ADDING && version_holds ->
       status_moves(); holds[m] = true; state[m] = ADDED;
#ifdef BLIND_ADDITION
       adding[m] = proven + adding[m] - base[m];
#endif
       proven = adding[m];
       printf("%d has written %d, true is %d\n", m, proven, elapsed); assert(proven <= elapsed) }
  :: d_step { state[m] == ADDING && !version_holds -> state[m] = REFUSED }
  :: d_step { state[m] == ADDED ->
       state[m] = COUNTING; base[m] = adding[m]; adding[m] = 0;
#if defined(RETRY_AFTER_CONFLICT) || defined(LOST_IS_FAILED)
       counted[m] = 0;
#endif
       printf("%d knows it\n", m) }
#ifdef RETRY_AFTER_CONFLICT
  :: d_step { state[m] == REFUSED -> state[m] = OUT; base[m] = 0; holds[m] = false; adding[m] = 0; keeps[m] = true; printf("%d conflict\n", m) }
#else
  :: d_step { state[m] == REFUSED -> forget(m); printf("%d conflict\n", m) }
#endif
#ifdef LOST_IS_FAILED
  :: d_step { state[m] == ADDED -> state[m] = OUT; base[m] = 0; holds[m] = false; adding[m] = 0; keeps[m] = true; printf("%d lost\n", m) }
#endif
  /* a lost request or reply, a crash, a failover */
  :: d_step { state[m] != OUT -> forget(m); printf("%d begins anew\n", m) }
  od
}
init { atomic { run Clock(); i = 0; do :: i < MANAGERS -> run Manager(i); i++ :: else -> break od; i = 0 } }
