"""Evidence E4: proof by elapsed time that a marked boot has been reset by its own watchdog.

Three things must hold: the agent's Lease, read in one version, promises it; enough time has been counted
since the marker; and enough peers cannot have reported "I cannot reach the API either" meanwhile.

A peer reports that only if its last acknowledged contact is K old. With every renewal it publishes its
number, the highest number whose acknowledgement it has received, and since which number it has never been
without an acknowledged contact for K ("steady"). So a peer's own report covers the time between two reads of
a manager, and a manager that was paused, or took over, continues where its predecessor stopped.

The counted time is a lower bound of how long a node has been marked. No clock, pause or change of leaders can
make it longer than the real time. Every manager counts on its own monotonic clock, starting from a read of
the current sum, and adds by compare-and-swap. No two additions cover the same time, so the sum is at most the
time that has passed.

T_safe is the time after its marker by which a node that follows the feeding rules has certainly been reset.
The last clean API check was sent before the marker was written, and lets the feeder ping for G. An allowed
ping may be late, but not later than the watchdog's expiry, W after the previous ping. If the feeder dies at
that moment, the kernel pings once more as it closes the device. W later the machine is reset. So the sum is G
+ 3W, each stretched by the error of its clock, plus the reset itself and the storage writes still in flight.
The proof is docs/explanation/self_fencing.md; tests/models checks it.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from math import ceil, floor
from typing import ClassVar, Final

from nodemend.api.agent import HARDWARE, SOFTWARE, UNTESTED, AgentReport, Marker
from nodemend.api.self_remediation import SelfRemediationSpec, Weakness
from nodemend.safety.holds import Explanation, HoldReason, spell_count


@dataclass(frozen=True, slots=True)
class NoTimeProof(HoldReason):
    """A time proof is not possible for this node. Only a new boot can be evidence."""

    reason: ClassVar[str] = "NoTimeProof"
    why: str
    remedy: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node must reset itself, and only a new boot can prove that it has: {self.why}.",
            f"{self.remedy} Nodemend continues when the node reports a new boot.",
        )


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """An agent's Lease. `report` is None if there is no readable report; then `problem` has the reason."""

    uid: str
    version: str
    report: AgentReport | None
    marker: Marker | None
    problem: str = ""

    def marked_for(self, remediation_uid: str, boot_id: str) -> bool:
        """Return whether the Lease has the marker of this remediation, for this boot."""
        marker = self.marker
        return marker is not None and (marker.remediation_uid, marker.boot_id) == (remediation_uid, boot_id)


_REMEMBERED: Final = 8
"""Sequence numbers kept, with the times of their last read. Forgetting older ones only dates evidence
earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """The report in one peer's Lease at one linearizable read."""

    uid: str
    boot_id: str
    sequence: int
    acknowledged: int
    steady_since: int
    contact_age: float
    """K, as this peer uses it."""
    remembers_from: int = 0

    def outlasts(self, version: int) -> bool:
        """Return whether the peer has kept its state since before this version was written.

        Then it would have noticed if etcd had been restored since to an earlier state, and would not report
        this.
        """
        return 0 < self.remembers_from < version


def contact_of(report: AgentReport) -> Contact:
    return Contact(
        uid=report.node_uid,
        boot_id=report.boot_id,
        sequence=report.sequence,
        acknowledged=report.acknowledged,
        steady_since=report.steady_since,
        contact_age=report.contact_age,
        remembers_from=report.remembers_from,
    )


@dataclass(frozen=True, slots=True)
class Anchor:
    """Start of a peer's coverage: its report at a read after the marker was acknowledged."""

    uid: str
    boot_id: str
    acknowledged: int

    def holds_for(self, contact: Contact) -> bool:
        """Return whether the peer has been steady from the anchor to its current report."""
        same = (contact.uid, contact.boot_id) == (self.uid, self.boot_id)
        return same and contact.steady_since <= self.acknowledged


def anchor_at(contact: Contact) -> Anchor:
    return Anchor(contact.uid, contact.boot_id, contact.acknowledged)


@dataclass(frozen=True, slots=True)
class SequenceHistory:
    """Times at which a manager last read each number of one peer's renewals, the newest last.

    Only on the manager's own clock.
    """

    last_seen: tuple[tuple[int, float], ...] = field(default=())

    def seen(self, sequence: int, asked_at: float) -> "SequenceHistory":
        """Return the history with one more read. `asked_at` is its send time: numbers not shown came later.

        Replies to concurrent reads may arrive in another order: a reply to an earlier request adds nothing.
        """
        kept = self.last_seen
        if kept and kept[-1][1] > asked_at:
            return self
        if kept and kept[-1][0] == sequence:
            kept = kept[:-1]
        elif kept and kept[-1][0] > sequence:
            # Numbers never fall within a boot: these belong to another boot.
            kept = ()
        return SequenceHistory((*kept, (sequence, asked_at))[-_REMEMBERED:])

    def not_before(self, sequence: int) -> float | None:
        """Return the latest time at which this number was certainly not committed; None if it is unknown."""
        for number, when in reversed(self.last_seen):
            if number < sequence:
                return when
        return None


def covered_until(contact: Contact, history: SequenceHistory, clock_error: float) -> float | None:
    """Return the time until which this peer cannot have reported it, on the manager's clock.

    None if it is unknown. The peer received the acknowledgement `contact.acknowledged` after that renewal was
    committed, which was after the last read that did not show it. Both clocks may be wrong: the manager's may
    run slow, the peer's fast.
    """
    since = history.not_before(contact.acknowledged)
    if since is None:
        return None
    return since + contact.contact_age * (1 - clock_error) / (1 + clock_error)


@dataclass(frozen=True, slots=True)
class PeerProof:
    """Seconds for which one peer has been covered without a lapse."""

    anchor: Anchor
    seconds: float = 0.0


PeerProofs = Mapping[str, PeerProof]
"""Proof per peer name, as in the remediation's status."""


@dataclass(frozen=True, slots=True)
class PeerObservation:
    """One peer in one pass. `covered_until` is on the manager's clock; None if it is unknown."""

    contact: Contact
    covered_until: float | None


def count(
    proof: PeerProofs, observations: Mapping[str, PeerObservation], passed: float
) -> dict[str, PeerProof]:
    """Return the proof after `passed` more seconds, updated with the peers in `looks`.

    A peer that lapsed, or is new, starts at zero from this pass on. A peer that could not be read keeps its
    seconds: its next report shows whether it was covered without a lapse.
    """
    if passed < 0:
        raise ValueError(f"time that passed backwards: {passed}")
    counted = {name: replace(one, seconds=one.seconds + passed) for name, one in proof.items()}
    for name, observation in observations.items():
        if name not in counted or not counted[name].anchor.holds_for(observation.contact):
            counted[name] = PeerProof(anchor_at(observation.contact))
    return counted


def proven(
    proof: PeerProofs, observations: Mapping[str, PeerObservation], now: float, wanted: float
) -> frozenset[str]:
    """Return the peers for which `wanted` seconds are proven, up to `now`."""
    return frozenset(name for name in proof if _is_proven(proof[name], observations.get(name), now, wanted))


def _is_proven(peer: PeerProof, observation: PeerObservation | None, now: float, wanted: float) -> bool:
    if observation is None or observation.covered_until is None or now >= observation.covered_until:
        return False
    return peer.seconds >= wanted and peer.anchor.holds_for(observation.contact)


def enough(covered: AbstractSet[str], lists: Sequence[Sequence[str]], byzantine_peers: int = 0) -> bool:
    """Return whether every majority of each peer list has more covered peers than may be Byzantine.

    While a node changes its peers it may use the old list or the new one: both are published. A node without
    peers proves nothing by time.
    """
    return bool(lists) and all(
        names and 2 * (len(covered & set(names)) - byzantine_peers) >= len(names) for names in lists
    )


WATCHDOGS: Final = 3
"""Watchdog times that pass at most after the last allowed check: a late ping, the kernel's own, the
expiry."""


CLOCK_ERROR: Final = 0.001
"""Assumed error of the clocks of agents and managers, as a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingTimes:
    """The times that a node has published, and assumptions about its hardware.

    In seconds, except the two rates.
    """

    feed_lease: float
    """G."""
    watchdog: float
    """W: the effective time from the last ping to the reset, never the number written to the driver."""
    clock_error: float = CLOCK_ERROR
    """Fraction by which the clocks of agents and managers may run fast or slow."""
    watchdog_error: float = 0.02
    """The same for the watchdog's own oscillator."""
    reset_takes: float = 1.0
    drain: float = 5.0
    """Allowance for writes that have left the node and still reach the storage."""

    def __post_init__(self) -> None:
        lengths = (self.feed_lease, self.watchdog)
        if min(lengths) <= 0 or min(self.reset_takes, self.drain) < 0:
            raise ValueError(f"times that prove nothing: {self}")
        if not (0 <= self.clock_error < 0.5 and 0 <= self.watchdog_error < 0.5):
            raise ValueError(f"clocks that are this wrong prove nothing: {self}")


@dataclass(frozen=True, slots=True)
class TooShort:
    """The configured time is shorter than the least that proves anything."""

    wanted: float
    least: float

    def __str__(self) -> str:
        return f"{self.wanted:g} s prove nothing for this node: at least {self.least:.1f} s do"


def safe_time(times: FencingTimes) -> float:
    """Return the seconds from the acknowledged marker after which no process of that boot runs.

    The seconds are on a manager's clock.
    """
    lease = times.feed_lease / (1 - times.clock_error)
    resets = WATCHDOGS * times.watchdog / (1 - times.watchdog_error)
    return (1 + times.clock_error) * (lease + resets + times.reset_takes + times.drain)


def evaluate_deadline(wanted: float | None, times: FencingTimes) -> float | TooShort:
    """Return the seconds to wait: the configured time, by default the least that proves a reset.

    A configured time that is too short is refused, never raised silently.
    """
    least = safe_time(times)
    if wanted is None:
        return least
    return TooShort(wanted, least) if wanted < least else wanted


_BY_HAND: Final = "Power it off yourself if it does not come back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """Assumed bounds for clocks, hardware and peers. Times are in seconds."""

    clock_error: float = CLOCK_ERROR
    watchdog_error: float = 0.02
    reset_takes: float = 1.0
    drain: float = 5.0
    byzantine_peers: int = 1
    """Byzantine peers of a node that are tolerated: they may send any reply, and still no running boot is
    released."""


DEFAULT_ASSUMPTIONS: Final = Assumptions()


@dataclass(frozen=True, slots=True)
class BootOver:
    """The marked boot is over, and a boot gate keeps a new one from starting the node's pods."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the count; `needed` seconds prove that the boot is over."""

    counted: Mapping[str, PeerProof]
    seconds: int
    """Whole seconds for which every peer list that the node may use has enough peers covered."""
    needed: int
    covered: int
    """Peers that are covered at this moment."""
    done: bool


def needed_for(
    report: AgentReport, spec: SelfRemediationSpec, assumed: Assumptions = DEFAULT_ASSUMPTIONS
) -> int | NoTimeProof:
    """Return the whole seconds after which a marked boot is over, or why time proves nothing."""
    if weak := _weakness(report, spec) or _too_few_peers(report, assumed):
        return weak
    if min(report.feed_lease, report.watchdog.effective) <= 0:
        return NoTimeProof("it reports times that prove nothing", "Look at what its agent logs.")
    times = FencingTimes(
        feed_lease=report.feed_lease,
        watchdog=report.watchdog.effective,
        clock_error=assumed.clock_error,
        watchdog_error=assumed.watchdog_error,
        reset_takes=assumed.reset_takes,
        drain=assumed.drain,
    )
    wanted = evaluate_deadline(spec.safe_time_seconds or None, times)
    if isinstance(wanted, TooShort):
        return NoTimeProof(str(wanted), "Raise spec.safeTimeSeconds in its template, or leave it out.")
    return ceil(wanted)


def _weakness(report: AgentReport, spec: SelfRemediationSpec) -> NoTimeProof | None:
    watchdog = report.watchdog
    if watchdog.class_ not in (HARDWARE, SOFTWARE, UNTESTED):
        why = watchdog.why or f"its watchdog is {watchdog.class_}"
        return NoTimeProof(why, _BY_HAND)
    if watchdog.class_ == SOFTWARE and Weakness.SOFTWARE_WATCHDOG not in spec.accept:
        return _weak("its watchdog is the kernel's own, which hangs with it", Weakness.SOFTWARE_WATCHDOG)
    if watchdog.class_ == UNTESTED and Weakness.UNTESTED_WATCHDOG not in spec.accept:
        return NoTimeProof(
            "its watchdog was never observed to reset it",
            f"Drill it (kubectl mend drill), or add {Weakness.UNTESTED_WATCHDOG.value} to spec.accept of its "
            "template.",
        )
    if not report.boot_gate and Weakness.NO_BOOT_GATE not in spec.accept:
        return _weak("no boot gate holds its kubelet back when it returns", Weakness.NO_BOOT_GATE)
    return None


def _weak(why: str, weakness: Weakness) -> NoTimeProof:
    return NoTimeProof(why, f"If you accept that, add {weakness.value} to spec.accept of its template.")


def _too_few_peers(report: AgentReport, assumed: Assumptions) -> NoTimeProof | None:
    """Return a reason if all peers of a list may be Byzantine: they prove nothing."""
    fewest, needed = min((len(names) for names in report.peers), default=0), assumed.byzantine_peers + 1
    if fewest >= needed:
        return None
    why = f"it has {spell_count(fewest, 'peer')}, and a time proof needs at least {needed}"
    return NoTimeProof(
        why, f"{_BY_HAND} Four nodes with agents are enough; for three see docs/how-to/self_fence_nodes.md."
    )


def unvouched(
    report: AgentReport, observations: Mapping[str, PeerObservation], assumed: Assumptions
) -> NoTimeProof | None:
    """Return a reason if too few peers guarantee that this is the last report the node made.

    A peer guarantees that only if it has kept its state since before this report. If all have rebooted since,
    or noticed that etcd was restored, the node may have published other promises after this report.
    """
    vouching = sum(observation.contact.outlasts(report.replaces) for observation in observations.values())
    if vouching > assumed.byzantine_peers:
        return None
    why = (
        f"only {vouching} of its peers have been up since before its last report, and that needs "
        f"{assumed.byzantine_peers + 1}: etcd may have been restored since then"
    )
    return NoTimeProof(why, _BY_HAND)


def evaluate_time(
    counted: PeerProofs,
    observations: Mapping[str, PeerObservation],
    now: float,
    lists: Sequence[Sequence[str]],
    needed: int,
    byzantine_peers: int = DEFAULT_ASSUMPTIONS.byzantine_peers,
) -> Progress:
    """Return the progress.

    `counted` ends just before `looks` were read; these cover the rest, up to `now`.
    """

    def is_enough(seconds: float) -> bool:
        return enough(proven(counted, observations, now, seconds), lists, byzantine_peers)

    reached = sorted({floor(one.seconds) for one in counted.values()}, reverse=True)
    seconds = next((one for one in reached if is_enough(one)), 0)
    covered = proven(counted, observations, now, 0.0)
    of_the_node = {name for names in lists for name in names}
    return Progress(counted, seconds, needed, len(covered & of_the_node), done=is_enough(needed))


def is_pinned(revision: int, reports_from: int | None) -> bool:
    """Return whether only its own node could write the report of a Lease last written at this revision.

    `reports_from` is 0 if no policies are checked, and None if no policy could be relied on.
    """
    return reports_from is not None and (reports_from == 0 or revision > reports_from)
