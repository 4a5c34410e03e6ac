/* The return race: a node that comes back while, or just before, its workloads are released (E2 and E4).

   self_fencing.pml shows that a boot without a clean observation after the marker is reset within T_safe. Here T_safe
   has no ticks: release by time (E4) waits until no such boot is up. This model searches for the other conditions under which no pod
   runs on any boot of the node once it was released.

   A marker names the boot that was on the Lease when the marker was set. Features and mutants:
   GATE_READ       kubelet starts after a linearizable read that showed no marker
   GATE_PUBLISH    kubelet starts after the acknowledged compare-and-swap that published this boot on the Lease, with no marker on it
   (neither)       no gate: kubelet starts at once, the agent some time later
   GATE_OWN_BOOT   the gate respects only a marker that names its own boot
   GATE_UNARMED    the gate does not arm the watchdog; the agent does, later
   OWN_BOOT_ONLY   an observation is clean unless the marker names exactly the boot that reads (for peers, too)
   TERM_FIRST      pods are terminating before the marker is set; TERM_AFTER: after it
   STALE_LIST      kubelet's first list of pods may come from a lagging cache
   UNMARKED_AFTER  the marker is taken off after the release, and the gate opens
   E2_WHEN_READY   release on a new boot ID although its kubelet is ready
   E2_BY_STATUS    a boot ID in the Node's status that differs from the marked one counts as a new boot; it may be an older one
   E4_BOOT_UNCHECKED   release by time without comparing the boot on the Lease and the Node with the marked one */
#define BOOTS 2

/* the machine */
unsigned boot : 2 = 0;       /* boot ID of the current boot */
bool up = true, armed = true;
bool gate_passed = true;     /* kubelet may start */
bool kubelet = true;         /* started */
bool running = true;         /* containers of the workload run on this boot */
bool fed = false;            /* this boot got a clean observation after the marker: it may live forever */
bool witnessed = false;      /* this boot was up and armed when the marker was committed */
#define NOT_LISTED 0
#define SHALL_RUN 1
#define SHALL_END 2
unsigned pods : 2 = SHALL_RUN; /* what this boot's kubelet knows of the pods */
/* the node's Lease */
unsigned lease_boot : 2 = 0; /* the boot that published last */
bool marker = false; unsigned marked_boot : 2 = 0;
bool gate_version = false;   /* the gate has read the Lease, without a marker, and it was not written since */
bool agent_version = true;   /* the agent holds the Lease's version */
#define NOT_READ 0
#define READ 1
unsigned manager_version : 1 = NOT_READ; unsigned manager_saw : 2 = 0;
/* Pod and Node in the API, and a cache of the Pod that lags */
bool bound = true, term = false, cached_bound = true, cached_term = false;
bool ready = true; unsigned status_boot : 2 = 0;
bool copy = false;           /* the workload runs elsewhere */

inline lease_moves() { gate_version = false; agent_version = false; manager_version = NOT_READ }

#ifdef OWN_BOOT_ONLY
#define clean (!marker || marked_boot != boot)
#else
#define clean (!marker)
#endif
#ifdef GATE_OWN_BOOT
#define gate_clean (!marker || marked_boot != boot)
#else
#define gate_clean (!marker)
#endif

proctype Machine() {
  do
  /* power cut, panic, or the watchdog: memory is gone */
  :: d_step { up && boot < BOOTS ->
       up = false; running = false; gate_passed = false; kubelet = false; armed = false; fed = false; witnessed = false;
       pods = NOT_LISTED; gate_version = false; agent_version = false; printf("reset\n") }
  :: d_step { !up -> boot++; up = true; printf("boot %d\n", boot);
#if (defined(GATE_READ) || defined(GATE_PUBLISH)) && !defined(GATE_UNARMED)
       armed = true
#endif
     }
#ifdef GATE_READ
  :: d_step { up && !gate_passed && gate_clean -> gate_passed = true; printf("gate read no marker and opens\n") }
#endif
#ifdef GATE_PUBLISH
  :: d_step { up && !gate_passed && gate_clean && !gate_version -> gate_version = true; printf("gate read no marker\n") }
  :: d_step { up && !gate_passed && gate_version ->
       lease_moves(); lease_boot = boot; gate_passed = true; printf("gate published boot %d and opens\n", boot) }
  :: d_step { up && !gate_passed && gate_version ->
       lease_moves(); lease_boot = boot; printf("gate published boot %d, reply lost\n", boot) }
#endif
#if defined(GATE_READ) || defined(GATE_PUBLISH)
  /* behind a closed gate the boot is published, and the marker kept */
  :: d_step { up && !gate_passed && marker && marked_boot != boot && lease_boot != boot ->
       lease_moves(); lease_boot = boot; printf("gate told of boot %d\n", boot) }
#else
  :: d_step { up && !gate_passed -> gate_passed = true }
#endif
  :: d_step { up && gate_passed && !kubelet -> kubelet = true; printf("kubelet starts\n") }
  /* kubelet */
  :: d_step { up && kubelet && pods == NOT_LISTED -> pods = (bound && !term -> SHALL_RUN : SHALL_END); printf("kubelet listed pods\n") }
#ifdef STALE_LIST
  :: d_step { up && kubelet && pods == NOT_LISTED ->
       pods = (cached_bound && !cached_term -> SHALL_RUN : SHALL_END); printf("kubelet listed pods from a cache\n") }
#endif
  :: d_step { up && kubelet && pods == SHALL_RUN && !running -> running = true; printf("pods run on boot %d\n", boot); assert(!copy) }
  :: d_step { up && kubelet && pods == SHALL_RUN && (term || !bound) ->
       pods = SHALL_END; running = false; printf("kubelet ended the pods\n") }
  :: d_step { up && kubelet && pods != NOT_LISTED && (status_boot != boot || !ready) ->
       status_boot = boot; ready = true; printf("kubelet ready, boot %d\n", boot) }
  /* agent, once kubelet has started it */
  :: d_step { up && kubelet && !armed && !marker -> armed = true; fed = false; printf("agent armed the watchdog\n") }
  :: d_step { up && kubelet && !agent_version && clean -> agent_version = true; printf("agent read the lease\n") }
  :: d_step { up && kubelet && armed && agent_version ->
       lease_moves(); agent_version = true; lease_boot = boot;
       if :: marker -> fed = true :: else fi; printf("agent renewed, boot %d\n", boot) }
  :: d_step { up && kubelet && armed && marker && clean && !fed -> fed = true; printf("a peer says healthy\n") }
  od
}

#if defined(E4_BOOT_UNCHECKED)
#define same_boot true
#else
#define same_boot (lease_boot == marked_boot && status_boot == marked_boot)
#endif
#ifdef E2_BY_STATUS
#define new_boot_told (lease_boot != marked_boot || status_boot != marked_boot)
#else
#define new_boot_told (lease_boot != marked_boot)
#endif
#ifdef E2_WHEN_READY
#define not_ready true
#else
#define not_ready (!ready)
#endif

#ifdef REACH_E4
#define reach_e4 assert(false)   /* sanity: this release can happen */
#else
#define reach_e4 skip
#endif
#ifdef REACH_E2
#define reach_e2 assert(false)
#else
#define reach_e2 skip
#endif

proctype Manager() {
#ifdef TERM_FIRST
  d_step { term = true; printf("pods terminating\n") };
#endif
  do
  :: d_step { !marker && manager_version == NOT_READ -> manager_version = READ; manager_saw = lease_boot; printf("manager read the lease\n") }
  :: d_step { manager_version == READ ->
       lease_moves(); marker = true; marked_boot = manager_saw;
       witnessed = (up && armed); printf("marker names boot %d\n", marked_boot) };
     break
  od;
  true;
#ifdef TERM_AFTER
  d_step { term = true; printf("pods terminating\n") };
#endif
  if
  /* E4: T_safe is over; every armed boot that was up at the marker and has seen nothing clean since is gone */
  :: d_step { same_boot && !(up && armed && witnessed && !fed) -> bound = false; printf("release by time\n"); reach_e4 }
  /* E2: the Lease has another boot than the marked one */
#ifndef NO_E2
  :: d_step { new_boot_told && not_ready -> bound = false; printf("release, new boot\n"); reach_e2 }
#endif
  fi;
  true;
  d_step { copy = true; printf("copy starts elsewhere\n"); assert(!running) };
#ifdef UNMARKED_AFTER
  d_step { lease_moves(); marker = false; printf("marker taken off\n") }
#endif
}
proctype Others() {
  do
  :: d_step { cached_bound != bound || cached_term != term -> cached_bound = bound; cached_term = term; printf("cache catches up\n") }
  :: d_step { ready && !(up && kubelet) -> ready = false; printf("node not ready\n") }  /* the node controller; the kubelet may just be cut off, too */
  :: d_step { ready -> ready = false; printf("node not ready\n") }
  od
}
init { atomic { run Machine(); run Manager(); run Others() } }
