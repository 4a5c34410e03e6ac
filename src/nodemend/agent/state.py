"""State that the agent keeps within one boot: the times and peers in use, and those that it has published.

The published terms never promise more than the node keeps. The node publishes a change before it uses it if
the change lets it live longer, or report a lost contact sooner. It uses the opposite change before it
publishes it. While peers change, it publishes both lists, and the new list counts from the acknowledgement
on. A write without an answer may have been applied or not; both cases are covered.

All values are immutable: each change returns a new value.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct, field, structs

from nodemend.agent.certificates import CertificateHeld, CertificateStatus
from nodemend.agent.watchdog.records import STOPPED_GRACEFULLY
from nodemend.api.agent import (
    UNSUPPORTED,
    AgentReport,
    CertificateReport,
    LastReset,
    PeerEntry,
    PeerProposal,
    WatchdogReport,
)
from nodemend.api.meta import print_time
from nodemend.protocol.peers import SettledContact, first_contact
from nodemend.protocol.timing import USUAL_PACE, OwnContact, RenewalPace, begin, evaluate_certificate

Names = tuple[str, ...]


class PublishedTerms(Struct, frozen=True):
    """The terms that a renewal publishes. `lists` has the current peers, and the next ones if they differ.

    An empty list among them means that no time proof is possible: without peers the node promises nothing.
    """

    feed_lease: float
    contact_age: float
    lists: tuple[Names, ...]


class ActiveTerms(Struct, frozen=True, kw_only=True):
    """The times and peers in use. Immutable: each change returns a new value."""

    pace: RenewalPace = USUAL_PACE
    feed_lease: float = USUAL_PACE.feed_lease
    """G in use, in seconds."""
    contact_age: float = USUAL_PACE.contact_age
    """K in use, in seconds."""
    peers: tuple[PeerEntry, ...] = ()
    proposed: PeerProposal | None = None
    """The remediator's proposal, until it is in use."""

    def consider(self, proposal: PeerProposal) -> "ActiveTerms":
        """Return the terms after a proposal. A shorter feed lease and a longer contact age apply at once."""
        every = max(USUAL_PACE.every, proposal.every)
        pace = self.pace if every == self.pace.every else replace(self.pace, every=every)
        reported = {one.name: one for one in proposal.peers}
        return ActiveTerms(
            pace=pace,
            feed_lease=min(self.feed_lease, pace.feed_lease),
            contact_age=max(self.contact_age, pace.contact_age),
            # A peer with another address is still the same peer.
            peers=tuple(reported.get(one.name, one) for one in self.peers),
            proposed=None if names(proposal.peers) == names(self.peers) else proposal,
        )

    def at_pace(self, pace: RenewalPace) -> "ActiveTerms":
        """Return the terms at another pace. A longer feed lease applies only once it is published."""
        if pace == self.pace:
            return self
        return structs.replace(self, pace=pace, feed_lease=min(self.feed_lease, pace.feed_lease))

    def terms(self, fed_for: float) -> PublishedTerms:
        """Return what the next renewal publishes. `fed_for`: seconds that the feeder may already continue."""
        lists = [names(self.peers)]
        if self.proposed is not None:
            lists.append(names(self.proposed.peers))
        return PublishedTerms(
            feed_lease=max(self.feed_lease, self.pace.feed_lease, fed_for),
            contact_age=min(self.contact_age, self.pace.contact_age),
            lists=tuple(lists),
        )

    def acknowledge(self, terms: PublishedTerms) -> "ActiveTerms":
        """Return the terms after the Lease has `terms`: changes that had to be published first now apply."""
        active_terms = structs.replace(
            self,
            feed_lease=min(terms.feed_lease, self.pace.feed_lease),
            contact_age=max(terms.contact_age, self.pace.contact_age),
        )
        if self.proposed is None or names(self.proposed.peers) not in terms.lists:
            return active_terms
        return structs.replace(active_terms, peers=self.proposed.peers, proposed=None)


def names(peers: tuple[PeerEntry, ...]) -> Names:
    return tuple(one.name for one in peers)


def stopped_gracefully(watchdog: WatchdogReport) -> WatchdogReport:
    """Return the report of a watchdog without an agent: no release may rely on it."""
    return structs.replace(watchdog, class_=UNSUPPORTED, why=STOPPED_GRACEFULLY)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    """Identity of this node and boot, and the watchdog and certificate that it reports.

    The watchdog and the longest lease are the feeder's latest report; the certificate and its acceptance by
    peers are the current ones. The other fields do not change while the agent runs.
    """

    node_uid: str
    boot_id: str
    watchdog: WatchdogReport
    address: str = ""
    boot_gate: bool = False
    version: str = ""
    longest_lease: float | None = None
    """Seconds. The feeder refuses a lease that reaches further ahead, and may keep the node running this long
    after its own last API check."""
    last_reset: LastReset | None = None
    ride_through: float = 0.0
    """Seconds, from the agent's settings."""
    certificate: CertificateReport | None = None
    heard: bool = True
    """True if peers accept this node's certificate, and will for long enough. Otherwise the node has no
    peers, because none would answer."""

    def stopped_gracefully(self) -> "AgentIdentity":
        return replace(self, watchdog=stopped_gracefully(self.watchdog))

    def certified(self, holding: CertificateStatus, wall: datetime, feed_lease: float) -> "AgentIdentity":
        """Return the identity with the current certificate. `wall` is read right after the certificate."""
        if not isinstance(holding, CertificateHeld):
            return replace(self, certificate=None, heard=False)
        shown = _shown(round(wall.timestamp() + holding.left), holding.life)
        certificate = evaluate_certificate(holding.life, holding.left, feed_lease)
        if (shown, certificate.lasts) == (self.certificate, self.heard):
            return self
        return replace(self, certificate=shown, heard=certificate.lasts)


@lru_cache(maxsize=1)
def _shown(ends: int, life: float) -> CertificateReport:
    """Cached: every renewal needs it, and it rarely changes."""
    return CertificateReport(ends=print_time(datetime.fromtimestamp(ends, UTC)), life=life)


class Renewal(Struct, frozen=True):
    """A renewal sent at `sent_at`: its report, and the terms that apply once it is acknowledged."""

    report: AgentReport
    terms: PublishedTerms
    sent_at: float


class AgentState(Struct, frozen=True, kw_only=True):
    """State that outlives the process: a restarted agent continues with it.

    If it is lost, `fed_until` must still be the end of the lease that the feeder last got.
    """

    active_terms: ActiveTerms = field(name="conduct")
    number: int = 0
    """Sequence number of the last renewal that was sent."""
    contact: OwnContact | None = None
    """None before the first acknowledgement; until then this node reports no lost contact to peers."""
    settled: SettledContact | None = None
    """The contact by which expired certificates are judged. None before the first acknowledgement."""
    fed_until: float = 0.0
    fresh: bool = True
    """True while nothing is known of this boot."""
    remembers_from: int = 0
    """Version of the Lease made by the earliest acknowledged renewal since which this state has no gap; 0
    before it."""

    def take_up(self, who: AgentIdentity, report: AgentReport) -> "AgentState":
        """Return the state after a read of the Lease.

        Sequence numbers continue. Without state of this boot, the agent uses the newest peers that this boot
        published.
        """
        memory = structs.replace(self, number=max(self.number, report.sequence), fresh=False)
        same_boot = (report.node_uid, report.boot_id) == (who.node_uid, who.boot_id)
        if not self.fresh or not same_boot or not report.peers:
            return memory
        peers = tuple(PeerEntry(name=name, address="") for name in report.peers[-1])
        return structs.replace(memory, active_terms=structs.replace(self.active_terms, peers=peers))

    def compare(self, who: AgentIdentity, report: object) -> "AgentState":
        """Return the state after a comparison with the report on the Lease, read or missing.

        A report that is older than the acknowledged one means that etcd was restored from a backup.
        Commitments that this node and others published since may be lost, so this node guarantees nothing
        from before.
        """
        contact = self.contact
        if contact is None or _shows(report, who, contact.acknowledged):
            return self
        # Steady from the next renewal on: the coverage that a remediator has counted for this node is void.
        contact = replace(contact, steady_since=self.number + 1)
        return structs.replace(self, contact=contact, remembers_from=0)

    def acknowledge(self, renewal: Renewal, unslewed: float, version: int = 0) -> "AgentState":
        """Return the state after an acknowledged renewal, which made this `version` of the Lease."""
        number, terms = renewal.report.sequence, renewal.terms
        active_terms = self.active_terms.acknowledge(terms)
        before = self.contact
        if before is None:
            contact = begin(number, unslewed, terms.contact_age)
        else:
            contact = before.acknowledge(number, unslewed)
        return structs.replace(
            self,
            active_terms=active_terms,
            contact=replace(contact, age=active_terms.contact_age),
            fresh=False,
            remembers_from=self.remembers_from or version,
        )

    def contacted(self, now: float, wall: float, *, heard: bool) -> "AgentState":
        """Return the state after an acknowledged renewal at `wall`, by this node's own clock."""
        before, unbroken_for = self.settled, self.active_terms.contact_age
        settled = (
            before.renewed(now, wall, unbroken_for=unbroken_for, heard=heard)
            if before
            else first_contact(now, wall)
        )
        return structs.replace(self, settled=settled)

    def consider(self, who: AgentIdentity, proposal: PeerProposal | None) -> "AgentState":
        """Return the state after a proposal, at a pace whose feed lease the feeder accepts.

        A node that no peer would answer drops its peers as for a proposal without peers: it publishes that
        first.
        """
        if not who.heard:
            proposal = PeerProposal(every=proposal.every if proposal else self.active_terms.pace.every)
        active_terms = self.active_terms
        if proposal is not None:
            if who.longest_lease is not None:
                capped = RenewalPace(every=proposal.every).every_within(who.longest_lease)
                if capped != proposal.every:
                    proposal = structs.replace(proposal, every=capped)
            active_terms = active_terms.consider(proposal)
        pace = active_terms.pace.riding(who.ride_through, who.longest_lease)
        return structs.replace(self, active_terms=active_terms.at_pace(pace))

    def feed_from(self, looked_at: float, longest_lease: float | None = None) -> "AgentState":
        """Return the state after a clean read sent at `looked_at`, within the feeder's longest lease."""
        length = self.active_terms.feed_lease
        if longest_lease is not None:
            length = min(length, longest_lease)
        return structs.replace(self, fed_until=max(self.fed_until, looked_at + length))

    def renew(self, who: AgentIdentity, now: float, replaces: int = 0) -> tuple["AgentState", Renewal]:
        """Return the next renewal, with an unused sequence number. `replaces` is the replaced version."""
        number, contact = self.number + 1, self.contact
        terms = self.active_terms.terms(self.fed_until - now)
        report = AgentReport(
            node_uid=who.node_uid,
            boot_id=who.boot_id,
            sequence=number,
            acknowledged=contact.acknowledged if contact else 0,
            steady_since=contact.steady_since if contact else number,
            # Before the agent started, the feeder relied on its own API checks.
            feed_lease=max(terms.feed_lease, who.longest_lease or 0.0),
            contact_age=terms.contact_age,
            ride_through=self.active_terms.pace.ride_through,
            watchdog=who.watchdog,
            peers=terms.lists,
            address=who.address if who.heard else "",
            boot_gate=who.boot_gate,
            version=who.version,
            certificate=who.certificate,
            last_reset=who.last_reset,
            replaces=replaces,
            remembers_from=self.remembers_from,
        )
        return structs.replace(self, number=number), Renewal(report, terms, now)


def _shows(report: object, who: AgentIdentity, acknowledged: int) -> bool:
    """True if the report is of this boot, and at least as new as the acknowledged one."""
    return (
        isinstance(report, AgentReport)
        and (report.node_uid, report.boot_id) == (who.node_uid, who.boot_id)
        and report.sequence >= acknowledged
    )
