"""`python -m tests.models.replay 1000`: replays traces of the model against the shipped code.

The shipped values and state machines perform the actions of the model's node, peers and manager, with one
second per tick: the agent's state, the rounds of peers, the feeder, a peer's own contact, and the time proof.
They must agree with every verdict in the trace, and never release before the trace's reset. Where the shipped
code is stricter than the model it may refuse: such cases are counted, too.
"""

import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from nodemend.agent.heartbeat import PeerRounds
from nodemend.agent.state import ActiveTerms, AgentState
from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.api.agent import PeerEntry
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.peers import PeerReply, Verdict
from nodemend.protocol.timing import OwnContact, begin
from nodemend.protocol.watchdog_drivers import SECOND, Physical
from nodemend.safety.time_proof import (
    Contact,
    PeerObservation,
    PeerProof,
    SequenceHistory,
    count,
    covered_until,
    enough,
    proven,
)
from tests.models.traces import PARAMETERS, Event, Trace, trace_of

G, W, K, T, NP = (PARAMETERS[name] for name in ("G", "W", "K", "T", "NP"))
NAMES: Final = tuple(str(number) for number in range(NP))
BOOT: Final = "boot"
VERDICTS: Final = {
    "round healthy": Verdict.HEALTHY,
    "round condemned": Verdict.FENCE_NOW,
    "round outage": Verdict.OUTAGE,
    "round undetermined": Verdict.UNDETERMINED,
}
ANSWERS: Final = {
    "peer healthy": PeerReply.HEALTHY,
    "peer unhealthy": PeerReply.FENCE_NOW,
    "peer cannot reach": PeerReply.API_OUT_OF_REACH,
}


class DivergedError(AssertionError):
    """The shipped code disagrees with the model."""


@dataclass
class PlayedPeer:
    """A peer's agent: its contact, and the contents of its Lease."""

    contact: OwnContact | None
    published: Contact
    number: int = 1

    def commit(self) -> None:
        self.number += 1
        known = self.contact
        self.published = Contact(
            uid="uid",
            boot_id=BOOT,
            sequence=self.number,
            acknowledged=known.acknowledged if known else 0,
            steady_since=known.steady_since if known else self.number,
            contact_age=float(K),
        )

    def acknowledge(self, now: float) -> None:
        known = self.contact
        self.contact = known.acknowledge(self.number, now) if known else begin(self.number, now, float(K))


def a_peer() -> PlayedPeer:
    start = Contact(uid="uid", boot_id=BOOT, sequence=1, acknowledged=1, steady_since=1, contact_age=float(K))
    return PlayedPeer(begin(1, 0.0, float(K)), start)


@dataclass
class PlayedManager:
    """The observations of one manager, and the status, which outlives it."""

    history: dict[str, SequenceHistory] = field(default_factory=dict)
    proof: dict[str, PeerProof] = field(default_factory=dict)
    observations: dict[str, PeerObservation] = field(default_factory=dict)
    counts_since: float | None = None
    asked_at: float = 0.0
    served: dict[str, Contact] = field(default_factory=dict)

    def evaluate(self, now: float) -> None:
        for name, contact in self.served.items():
            seen = self.history.get(name, SequenceHistory()).seen(contact.sequence, self.asked_at)
            self.history[name] = seen
            self.observations[name] = PeerObservation(contact, covered_until(contact, seen, 0.0))
        if self.counts_since is not None:
            self.proof = count(self.proof, self.observations, now - self.counts_since)
            self.counts_since = now

    def replaced(self, now: float) -> None:
        """The next manager has no observations, and continues from the status."""
        self.history, self.observations, self.served = {}, {}, {}
        if self.counts_since is not None:
            self.counts_since = now

    def would_release(self, now: float) -> bool:
        if self.counts_since is None:
            return False
        counted = count(self.proof, self.observations, now - self.counts_since)
        return enough(proven(counted, self.observations, now, float(T)), [NAMES])


class PlayedFeeder:
    """The shipped feeder, which reads its record when the trace says so."""

    def __init__(self, until: float) -> None:
        self.checked_at = 0.0
        """The time at which it was last allowed to ping."""
        self._machine = self._start()
        self._open(until)

    def _start(self) -> Feeder:
        rules = w.FeederRules(
            boot_id=BOOT,
            lease_length=G * SECOND,
            wanted_reset=W * SECOND,
            ping_every=0,
            read_interval=SECOND,
            check_every=None,
            machine=Physical(),
        )
        machine = Feeder(rules)
        machine.step(w.FeederStarted(), 0)
        return machine

    def _open(self, until: float) -> None:
        self.dies()
        self.checks_opening(until, 0.0)
        self.opens(0.0)

    def dies(self) -> None:
        self._machine = self._start()

    def checks_opening(self, until: float, now: float) -> bool:
        self._machine.step(w.LockTaken(), int(now * SECOND))
        return self._polls(until, now, w.Open)

    def opens(self, now: float) -> None:
        """Opened, with its timeout set in the same moment: the model's opening is one ping."""
        at = int(now * SECOND)
        device = w.Device("Software Watchdog", W, magic_close=True, nowayout=False)
        self._machine.step(w.DeviceOpened(device), at)
        self._machine.step(w.TimeoutSet(W), at)

    def checks(self, until: float, now: float) -> bool:
        return self._polls(until, now, w.Ping)

    def pings(self, now: float) -> None:
        self._machine.step(w.Pinged(), int(now * SECOND))

    def _polls(self, until: float, now: float, wanted: type[w.Open | w.Ping]) -> bool:
        record = FeedLease(BOOT, int(until * SECOND))
        commands = self._machine.step(w.FilesRead(record), int(now * SECOND))
        may = any(isinstance(one, wanted) for one in commands)
        if may:
            self.checked_at = now
        return may


class Replay:
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.careful: Counter[str] = Counter()
        self._now = 0.0
        self._dead = self._fence_requested = False
        self._memory = AgentState(active_terms=ActiveTerms(feed_lease=float(G)), fed_until=float(G))
        self._sent_at = 0.0
        self._rounds: PeerRounds | None = None
        self._peers = {name: a_peer() for name in NAMES}
        self._manager = PlayedManager()
        self._feeder: PlayedFeeder | None = PlayedFeeder(float(G))

    def play(self) -> "Counter[str]":
        for tick, events in enumerate(self._trace.ticks):
            self._now = float(tick)
            for event in events:
                self._hear(event)
                self._check()
            self._check()
        return self.careful

    def _check(self) -> None:
        if not self._dead and self._manager.would_release(self._now):
            raise DivergedError(f"released at {self._now:g} while the node lives")

    def _hear(self, event: Event) -> None:
        name, number = event
        peer = "" if number is None else str(number)
        if name in VERDICTS:
            self._round_ends(name)
        elif name in ANSWERS:
            self._peer_says(name, peer)
        elif name.startswith("peer "):
            self._peer_lives(name, self._peers[peer])
        elif name.startswith(("poll", "manager", "marker", "release")):
            self._manage(name)
        else:
            self._node(name)

    # The node.

    def _node(self, name: str) -> None:
        match name:
            case "reset":
                self._dead = True
            case "renewal sent":
                self._sent_at = self._now
            case "renewal acknowledged" if not self._fence_requested:
                self._memory = self._memory.feed_from(self._sent_at)
            case "read marked":
                self._fence_requested = True
            case "round asked":
                entries = tuple(PeerEntry(name=one, address="") for one in NAMES)
                self._rounds = PeerRounds(entries, self._now)
                self._rounds.open_first(0.0)
            case "agent restarted":
                self._rounds = None
            case "ping checked" | "pinged" | "closed" | "opening checked" | "opened" | "feeder died closed":
                self._feed(name)
            case _:
                pass

    def _round_ends(self, name: str) -> None:
        rounds = self._rounds
        if rounds is None or (found := rounds.conclude()) is not VERDICTS[name]:
            raise DivergedError(f"{name} at {self._now:g}, and not {found if rounds else 'asked'}")
        if name == "round condemned":
            self._fence_requested = True
        elif name != "round undetermined" and not self._fence_requested:
            self._memory = self._memory.feed_from(rounds.began)
        self._rounds = None

    def _feed(self, name: str) -> None:
        feeder = self._feeder
        if feeder is None:
            return
        until = 0.0 if self._fence_requested else self._memory.fed_until
        match name:
            case "closed" | "feeder died closed":
                feeder.dies()
            case "opened":
                feeder.opens(self._now)
            case "pinged":
                feeder.pings(self._now)
            case "opening checked":
                if not feeder.checks_opening(until, self._now):
                    raise DivergedError(f"a lease until {until:g} does not let it open at {self._now:g}")
            case "ping checked" if not feeder.checks(until, self._now):
                if self._now - feeder.checked_at < W:
                    raise DivergedError(f"a lease until {until:g} does not let it ping at {self._now:g}")
                # It dates a ping to its check, and stops feeding after a pause of W; the model does not.
                self.careful["starved after a pause"] += 1
                self._feeder = None

    # Peers.

    def _peer_says(self, name: str, peer: str) -> None:
        if name == "peer cannot reach":
            contact = self._peers[peer].contact
            if contact is None:
                # After a restart it does not deny contact before it had any; the model counts from its start.
                self.careful["denies nothing after a restart"] += 1
            elif not contact.out_of_reach(self._now):
                raise DivergedError(f"peer {peer} denies at {self._now:g}: {contact}")
        if self._rounds is not None:
            self._rounds.note(peer, ANSWERS[name])

    def _peer_lives(self, name: str, peer: PlayedPeer) -> None:
        match name:
            case "peer renewal committed":
                peer.commit()
            case "peer renewal acknowledged":
                peer.acknowledge(self._now)
            case "peer restarted":
                peer.contact = None
            case _:
                pass

    # The manager.

    def _manage(self, name: str) -> None:
        manager = self._manager
        match name:
            case "marker acknowledged":
                manager.counts_since = self._now
            case "poll sent":
                manager.asked_at = self._now
            case "poll served":
                manager.served = {one: peer.published for one, peer in self._peers.items()}
            case "poll":
                manager.evaluate(self._now)
            case "manager replaced":
                manager.replaced(self._now)
            case "release":
                agrees = manager.would_release(self._now)
                self.careful["releases as the model does" if agrees else "releases later than the model"] += 1
            case _:
                pass


def play_one(seed: int) -> tuple[int, str, "Counter[str]"]:
    replay = Replay(trace_of(seed))
    try:
        return seed, "", replay.play()
    except DivergedError as error:
        return seed, str(error), replay.careful


def main() -> int:
    wanted, began = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, time.monotonic()
    careful: Counter[str] = Counter()
    diverged = 0
    with ProcessPoolExecutor(2) as pool:
        for seed, why, met in pool.map(play_one, range(wanted), chunksize=8):
            careful += met
            if why:
                diverged += 1
                print(f"seed {seed}: {why}", flush=True)
    for what, number in sorted(careful.items()):
        print(f"{number:6}  {what}")
    took = time.monotonic() - began
    print(f"{wanted} traces of the model against the shipped code in {took:.0f} s: {diverged} divergences")
    return 1 if diverged else 0


if __name__ == "__main__":
    sys.exit(main())
