"""Managers: the shipped life of a SelfRemediation, step by step. Two may both think that they lead."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf
from operator import itemgetter
from typing import Final

from nodemend.api import keys
from nodemend.api.agent_lease import AgentReport, Marker, PeerEntry, PeerProposal
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.controllers.self_remediation.agent_looks import SHARED_FOR
from nodemend.decide import remediation_steps as steps
from nodemend.decide.agent_facts import AgentFacts
from nodemend.decide.facts import LeaseFacts, Present
from nodemend.decide.holds import Hold
from nodemend.decide.peer_sampling import Peer, propose
from nodemend.decide.remediation_life import HeldBy
from nodemend.decide.self_remediation import decide
from nodemend.decide.self_remediation_facts import SelfFacts
from nodemend.decide.self_remediation_status import after
from nodemend.decide.self_remediation_steps import (
    NoteProgress,
    PlaceMarker,
    RecordProof,
    StatusStep,
    Step,
    TakeMarkerOff,
)
from nodemend.decide.time_proof import Assumptions
from nodemend.kube.agent_lease import AgentLease, Found
from tests.simulation.fencing.kube_nodes import GRACE, KubeNode
from tests.simulation.fencing.looks import Looks
from tests.simulation.fencing.marker_sweep import SWEEP_EVERY, sweep
from tests.simulation.fencing.surroundings import Surroundings
from tests.simulation.fencing.time_line import Clock, Process
from tests.unit.decide.worlds import ACTING, switch

EVERY: Final = 3.0
SILENT_FOR: Final = 20.0
PODS_LEAVE: Final = 6.0
NEW: Final = SelfRemediationStatus()


@dataclass(frozen=True, slots=True)
class Kept:
    """One remediation, as it stands in the store. No epoch is higher: that must not be what saves us."""

    version: int = 0
    number: int = 0
    """Of the remediation: another is another object."""
    wanted: bool = False
    deleting: bool = False
    status: SelfRemediationStatus = NEW


@dataclass(slots=True)
class Statuses:
    """All remediations, written by compare-and-swap."""

    world: Surroundings
    of: dict[str, Kept] = field(default_factory=dict)

    def living(self) -> set[str]:
        """The UIDs of those that somebody wants, or that are not deleted yet."""
        return {uid_of(node, kept) for node, kept in self.of.items() if kept.wanted}

    def write(self, node: str, known: Kept, wanted: Kept) -> bool:
        if self.of[node].version != known.version:
            return False
        self.of[node] = replace(wanted, version=known.version + 1)
        return True


@dataclass(slots=True)
class Seen:
    """What a manager has read so far in one pass, in this order. It grows as the pass goes on."""

    node: str
    asked_at: float
    kept: Kept
    kube: KubeNode
    read_at: float
    """By true time, as the API server has it."""
    lease: AgentLease | None = None
    peers: Mapping[str, AgentLease] = field(default_factory=dict)


@cache
def _peers_of(node: str, eligible: frozenset[str]) -> tuple[PeerEntry, ...]:
    candidates = (Peer(name, name, name) for name in sorted(eligible))
    return tuple(PeerEntry(name=one.name, address=one.address) for one in propose(node, candidates))


def _answering(peers: Mapping[str, AgentLease]) -> Iterator[str]:
    """As the sweep has it: who tells no address has no agent yet, or no certificate."""
    return (name for name, one in peers.items() if isinstance(one.report, AgentReport) and one.report.address)


class Manager(Process):
    def __init__(self, name: str, world: Surroundings, statuses: Statuses) -> None:
        super().__init__(world.line)
        self.name = name
        self.leads = True
        self._world = world
        self._statuses = statuses
        self._clock = Clock(world.line, 1 + world.chance.uniform(-1, 1) * world.clock_error, -1000.0)
        self._assumed = Assumptions(
            clock_error=world.clock_error,
            watchdog_error=world.watchdog_error,
            # Here a reset takes no time and nothing is in flight after it: no slack may hide an error.
            reset_takes=0.0,
            drain=0.0,
            liars=world.liars,
        )
        self._looks = Looks(world.clock_error)
        self._versions: dict[str, tuple[object, float]] = {}
        self._kubelets: dict[str, tuple[object, float]] = {}
        self._markers: dict[str, tuple[object, float]] = {}
        self._shared: tuple[float, Mapping[str, AgentLease]] = (-inf, {})
        """The last read of all Leases, and when it was asked for."""
        for number, node in enumerate(world.nodes):
            self.do(lambda node=node: self._pass(node), world.line.now + 0.3 * number)  # type: ignore[misc]
        self.do(self._sweep)

    def _sweep(self) -> None:
        self.do(self._sweep, self._clock.true(self._clock.now() + SWEEP_EVERY))
        if self.leads:
            sweep(self.name, self._world, self._statuses, self)

    # One look at one node: first what was decided and the Node, then its Lease, then its peers'.

    def _pass(self, node: str) -> None:
        self.do(lambda: self._pass(node), self._clock.true(self._clock.now() + EVERY))
        if self.leads:
            self._look(node)

    def _look(self, node: str) -> None:
        world, asked_at = self._world, self._clock.now()

        def read() -> Seen | None:
            kube = world.kube.of.get(node)
            return (
                None if kube is None else Seen(node, asked_at, self._statuses.of[node], kube, world.line.now)
            )

        def hear(seen: Seen | None) -> None:
            if seen is not None:
                self._unchanged(self._versions, node, seen.kept.version)
                self._read_lease(seen)

        world.store.ask(self.name, read, hear, self)

    def _read_lease(self, seen: Seen) -> None:
        store, node, asked_at = self._world.store, seen.node, self._clock.now()

        def hear(lease: AgentLease | None) -> None:
            if lease is not None:
                self._looks.note(node, lease, asked_at)
                seen.lease = lease
                self._read_peers(seen)

        store.ask(self.name, partial(store.read, node), hear, self)

    def _read_peers(self, seen: Seen) -> None:
        """Or take what was just read for another node; but never from before this one's marker was seen."""
        store, now = self._world.store, self._clock.now()
        marker = seen.lease.marker if seen.lease else None
        marked_for = self._unchanged(self._markers, seen.node, marker)
        if marker is not None and now - self._shared[0] <= min(marked_for, SHARED_FOR):
            self._world.counts["looks shared"] += 1
            seen.peers = self._shared[1]
            self._consider(seen)
            return

        def hear(leases: dict[str, AgentLease]) -> None:
            for name, lease in leases.items():
                self._looks.note(name, lease, now)
            self._shared = max(self._shared, (now, leases), key=itemgetter(0))
            seen.peers = leases
            self._consider(seen)

        store.ask(self.name, store.leases.copy, hear, self)

    def _unchanged(self, seen: dict[str, tuple[object, float]], node: str, what: object) -> float:
        now = self._clock.now()
        known = seen.get(node)
        if known is None or known[0] != what:
            known = seen[node] = (what, now)
        return now - known[1]

    # What comes of it.

    def _consider(self, seen: Seen) -> None:
        if not seen.kept.wanted:
            self._keep(seen)
            return
        facts = self._facts(seen)
        step = decide(facts)
        if isinstance(step, NoteProgress):
            self._note_progress(seen, step, facts.now)
        elif not isinstance(step, Hold):
            self._perform(seen, step)

    def _keep(self, seen: Seen) -> None:
        """Propose peers; and think that a node is sick when it has been silent for long."""
        lease, node = seen.lease, seen.node
        if lease is None or not isinstance(lease.report, AgentReport):
            return
        entries = _peers_of(node, frozenset(_answering(seen.peers)) - self._world.left_out)
        if not isinstance(lease.proposal, PeerProposal) or lease.proposal.peers != entries:
            proposal, store = PeerProposal(peers=entries), self._world.store
            store.ask(self.name, lambda: store.propose(node, lease, proposal), lambda _news: None)
        if not lease.report.acknowledged:
            return  # By the gate: its agent is still to come, and nobody else would call that sick either.
        looks = self._looks.sightings(node, lease.report.boot_id).last_seen
        quiet = len(looks) > 1 and seen.asked_at - looks[-2][1] > SILENT_FOR
        if quiet and looks[-1][0] == lease.report.sequence:
            self.want(node, seen.kept)

    def want(self, node: str, kept: Kept) -> None:
        self._write(node, kept, replace(kept, wanted=True))

    def unwant(self, node: str, kept: Kept) -> None:
        self._write(node, kept, replace(kept, deleting=True))

    def _facts(self, seen: Seen) -> SelfFacts:
        lease = seen.lease
        assert lease is not None
        report = lease.report if isinstance(lease.report, AgentReport) else None
        kube, renewed = seen.kube, str(seen.kube.renewed)
        gone = kube.tainted_at is not None and seen.read_at - kube.tainted_at > PODS_LEAVE
        silent_for = self._unchanged(self._kubelets, seen.node, renewed)
        now = self._clock.now()
        return SelfFacts(
            remediation=_object(seen.node, seen.kept),
            epoch=0,
            remembers_from=0,
            node=Present(kube.facts(seen.node, seen.read_at)),
            void_mark=kube.void_mark,
            lease=Present(LeaseFacts(renewed, GRACE, silent_for)),
            lock=Present(HeldBy(ours=True, holder="")),
            policy=Present(ACTING),
            switch=switch(),
            left=Present(steps.Left(0 if gone else 1, 0)),
            agent=Present(AgentFacts(lease.uid, lease.version, report, lease.marker)),
            looks=self._looks.at(seen.peers),
            passed=now - self._versions[seen.node][1],
            now=now,
            assumed=self._assumed,
        )

    # Each step as the one write that it is.

    def _perform(self, seen: Seen, step: Step) -> None:
        node, world = seen.node, self._world
        match step:
            case PlaceMarker(_, marker):
                self._mark(seen, marker)
            case TakeMarkerOff():
                self._mark(seen, None)
            case steps.Release(ticket):
                self._send(node, lambda: world.taint(ticket, seen.kept.status.safe_time_seconds))
            case steps.Untaint(facts):
                self._send(node, lambda: world.kube.swap(node, facts.version, tainted_at=None))
            case steps.VoidOnNode(facts, mark):
                self._send(node, lambda: world.kube.swap(node, facts.version, void_mark=mark))
            case steps.ClearVoidMark(facts):
                self._send(node, lambda: world.kube.swap(node, facts.version, void_mark=""))
            case steps.DropLock() | steps.DropFinalizer() | steps.Done():
                self._end(seen)
            case steps.AddFinalizer() | steps.TakeLock():
                raise AssertionError(f"{step} is done already")
            case _:
                self._report(seen, step)

    def _report(self, seen: Seen, step: StatusStep) -> None:
        kept = seen.kept
        status = after(kept.status, step, epoch=0, generation=1, now="")

        def write() -> bool:
            written = self._statuses.write(seen.node, kept, replace(kept, status=status))
            if written and isinstance(step, RecordProof):
                self._world.proven_over(seen.node, step.evidence.boot_id)
            if written and isinstance(step, steps.MarkReleased):
                self._world.counts[f"over by {status.evidence.class_ if status.evidence else '?'}"] += 1
            return written

        self._send(seen.node, write)

    def _note_progress(self, seen: Seen, step: NoteProgress, counted_to: float) -> None:
        """What is acknowledged was counted up to then, and goes on from there."""
        node, kept = seen.node, seen.kept
        status = after(kept.status, step, epoch=0, generation=1, now="")

        def heard(written: bool) -> None:
            if written:
                self._versions[node] = (kept.version + 1, counted_to)
            self._look(node)

        self._world.store.ask(
            self.name,
            lambda: self._statuses.write(node, kept, replace(kept, status=status)),
            heard,
            self,
        )

    def _end(self, seen: Seen) -> None:
        """The next remediation is another object; and the node may have its workload again."""
        kept = seen.kept

        def write() -> None:
            if self._statuses.write(seen.node, kept, Kept(number=kept.number + 1)):
                self._world.bound.add(seen.node)

        self._send(seen.node, write)

    def _mark(self, seen: Seen, marker: Marker | None) -> None:
        store, world, node, lease = self._world.store, self._world, seen.node, seen.lease
        assert lease is not None

        def mark() -> object:
            news = store.mark(node, lease, marker)
            if isinstance(news, Found) and marker is not None:
                world.mark(node, marker.boot_id)
            return news

        self._send(node, mark)

    def _write(self, node: str, known: Kept, wanted: Kept) -> None:
        self._send(node, lambda: self._statuses.write(node, known, wanted))

    def _send(self, node: str, what: Callable[[], object]) -> None:
        """Whatever came of it, the node is looked at again at once, as the shipped loop does."""
        self._world.store.ask(self.name, what, lambda _done: self._look(node), self)


def uid_of(node: str, kept: Kept) -> str:
    return f"{node}-{kept.number}"


def _object(node: str, kept: Kept) -> SelfRemediation:
    metadata = ObjectMeta(
        name=node,
        uid=uid_of(node, kept),
        resource_version=str(kept.version),
        finalizers=(keys.SAFE_END,),
        deletion_timestamp="2026-01-01T00:00:00Z" if kept.deleting else None,
    )
    return SelfRemediation(metadata=metadata, status=kept.status)
