/* Peer lists: the node counts "cannot reach the API" over its list, the manager counts covered peers over the published one.

   While the marker is set, a peer that stays covered never answers that it cannot reach the API; any other may. So the node may live
   forever exactly if peers that are not covered meet its rule. Safety: this is impossible once the manager's rule is met.

   A renewal carries the list that the node wants published; it is a compare-and-swap, as is the marker, so the published list
   does not change from the marker on. A request may be lost on its way there, on its way back, or arrive after it was given up.

   From the sending of another list until one of the node's renewals is acknowledged, the node's rule must be met over every list that may be
   the published one. A node without peers always lives on, and the manager releases nothing by such a list. Mutants:
   EMPTY_RELEASES  the manager releases by an empty list
   ADOPT_ON_ACK    the new list alone counts from the acknowledgement on, the old one alone until then
   ADOPT_ON_SEND   the new list counts from its sending on
   MARKER_BLIND    the manager counts over a list that it read before the marker, and puts the marker without a precondition */
#define LISTS 3
#define PEERS 5
#ifndef L0
#define L0 7                 /* sets of peers, as bits */
#endif
#ifndef L1
#define L1 11
#endif
#ifndef L2
#define L2 28
#endif
#define peers_of(list) (list == 0 -> L0 : (list == 1 -> L1 : L2))
#define bit(list) (1 << (list))

byte published = 0;          /* on the node's Lease */
byte candidates = 1;         /* lists over which the node's rule must be met, as bits */
byte last_acked = 0;
#define IDLE 0
#define SENT 1
#define COMMITTED 2
#define REFUSED 3
byte request = IDLE, wanted = 0; bool carried = false;
byte strays = 0;             /* lists of renewals that were given up but may still arrive under the current version, as bits */
bool current = true;         /* the node holds the current version; it reads when it does not */
bool marker = false; bool chosen = false;
byte covered = 0;            /* peers, as bits */
byte managers_list = 0; bool manager_read = false;

hidden byte i, n, all, list, lives;

inline lease_moves() {
  current = false; carried = false; strays = 0;
#ifndef MARKER_BLIND
  manager_read = false; managers_list = 0;
#endif
}
inline count(set) { n = 0; i = 0; do :: i < PEERS -> if :: (set) & bit(i) -> n++ :: else fi; i++ :: else -> break od; i = 0 }

inline sends() {
#ifdef ADOPT_ON_SEND
  candidates = bit(wanted);
#else
#ifndef ADOPT_ON_ACK
  candidates = candidates | bit(wanted);
#endif
#endif
  printf("list %d sent\n", wanted)
}

proctype Node() {
  do
  /* a renewal, with the list that is published or with another one */
  :: d_step { !chosen && request == IDLE && current -> request = SENT; wanted = 0; carried = true; sends() }
  :: d_step { !chosen && request == IDLE && current -> request = SENT; wanted = 1; carried = true; sends() }
  :: d_step { !chosen && request == IDLE && current -> request = SENT; wanted = 2; carried = true; sends() }
  :: d_step { !chosen && request == SENT && carried -> lease_moves(); published = wanted; request = COMMITTED; carried = true;
       printf("list %d committed\n", wanted) }
  :: d_step { !chosen && request == SENT && !carried -> request = REFUSED }
  :: d_step { !chosen && request == COMMITTED ->
       last_acked = wanted; candidates = bit(wanted); current = carried; request = IDLE; carried = false;
       printf("list %d acknowledged\n", wanted); wanted = 0 }
  :: d_step { !chosen && request == REFUSED -> request = IDLE; wanted = 0; printf("conflict\n") }
  :: d_step { !chosen && request != IDLE ->
       if :: request == SENT && carried -> strays = strays | bit(wanted) :: else fi;
       printf("list %d lost\n", wanted); request = IDLE; carried = false; wanted = 0 }
  :: d_step { !chosen && (strays & bit(0)) -> published = 0; printf("stray list 0 committed\n"); lease_moves() }
  :: d_step { !chosen && (strays & bit(1)) -> published = 1; printf("stray list 1 committed\n"); lease_moves() }
  :: d_step { !chosen && (strays & bit(2)) -> published = 2; printf("stray list 2 committed\n"); lease_moves() }
  :: d_step { !chosen && request == IDLE && !current && !marker -> current = true; printf("read\n") }
  od
}
proctype Manager() {
  do
  :: d_step { !marker && !manager_read -> manager_read = true; managers_list = published; printf("manager read list %d\n", published) }
  :: d_step { !marker && manager_read ->
       list = managers_list; lease_moves(); managers_list = list; marker = true; printf("marker, list %d\n", list); list = 0 }
  :: d_step { marker && !chosen && covered < 31 -> covered++ }      /* any set of peers may be the covered one */
  :: d_step { marker && !chosen ->
       count(covered & peers_of(managers_list)); all = n; count(peers_of(managers_list));
       if
#ifdef EMPTY_RELEASES
       :: 2 * all >= n ->
#else
       :: 2 * all >= n && n > 0 ->                                   /* at least half of the manager's list is covered: released */
#endif
          chosen = true; lives = true; list = 0;
          do
          :: list < LISTS ->
             if
             :: candidates & bit(list) ->
                count(peers_of(list) & (31 - covered)); all = n; count(peers_of(list));
                if :: 2 * all > n || n == 0 -> skip :: else -> lives = false fi
             :: else
             fi;
             list++
          :: else -> break
          od;
          if :: lives -> printf("covered %d, the node lives on candidates %d\n", covered, candidates); assert(false) :: else fi
       :: else
       fi;
       list = 0; n = 0; all = 0; lives = false }
  od
}
init { atomic { run Node(); run Manager() } }
