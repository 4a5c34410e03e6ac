"""What an agent must not forget within one boot, and how it changes. A value: each change gives another."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from msgspec import Struct, structs

from nodemend.agent.certificate import Held, Holding
from nodemend.agent.feeder.worth import STOOD_DOWN
from nodemend.agent.published import Conduct, Terms
from nodemend.api.agent_lease import (
    UNSUPPORTED,
    AgentReport,
    CertificateReport,
    LastReset,
    PeerEntry,
    PeerProposal,
    WatchdogReport,
)
from nodemend.api.timestamps import print_time
from nodemend.decide.certificate_belief import SettledContact, first_contact
from nodemend.decide.certificate_life import judge_certificate
from nodemend.decide.own_contact import OwnContact, begin
from nodemend.decide.renewal_pace import RenewalPace


def stood_down(watchdog: WatchdogReport) -> WatchdogReport:
    """Without an agent: nothing rests on it."""
    return structs.replace(watchdog, class_=UNSUPPORTED, why=STOOD_DOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Self:
    """Which node, in which boot, and what will reset it.

    The watchdog and the longest lease are what the feeder tells by now, the certificate what is held by now.
    The rest stays while the agent runs.
    """

    node_uid: str
    boot_id: str
    watchdog: WatchdogReport
    address: str = ""
    boot_gate: bool = False
    version: str = ""
    longest_lease: float | None = None
    """Seconds: further ahead the feeder believes no lease. It may live on its own last look for as long."""
    last_reset: LastReset | None = None
    ride_through: float = 0.0
    """Seconds, as the agent's settings want it."""
    certificate: CertificateReport | None = None
    heard: bool = True
    """Whether peers believe who it is, and will for long enough. Else it has no peers: nobody answers it."""

    def stood_down(self) -> "Self":
        return replace(self, watchdog=stood_down(self.watchdog))

    def certified(self, holding: Holding, wall: datetime, feed_lease: float) -> "Self":
        """With the certificate that is held by now. `wall` is from right after the look at it."""
        if not isinstance(holding, Held):
            return replace(self, certificate=None, heard=False)
        shown = _shown(round(wall.timestamp() + holding.left), holding.life)
        standing = judge_certificate(holding.life, holding.left, feed_lease)
        if (shown, standing.lasts) == (self.certificate, self.heard):
            return self
        return replace(self, certificate=shown, heard=standing.lasts)


@lru_cache(maxsize=1)
def _shown(ends: int, life: float) -> CertificateReport:
    """It is looked at with every renewal, and is another one once in a long while."""
    return CertificateReport(ends=print_time(datetime.fromtimestamp(ends, UTC)), life=life)


class Renewal(Struct, frozen=True):
    """One that is sent at a moment: what it says, and which terms stand once it is acknowledged."""

    report: AgentReport
    terms: Terms
    sent_at: float


class Memory(Struct, frozen=True, kw_only=True):
    """It outlives the process: the next one goes on where this one was.

    Where it is lost, `fed_until` must still be what the feeder was last allowed.
    """

    conduct: Conduct
    number: int = 0
    """Of the last renewal that was sent."""
    contact: OwnContact | None = None
    """None before the first acknowledgement: such a node denies nothing."""
    settled: SettledContact | None = None
    """By which a certificate that is over is judged. None before the first acknowledgement."""
    fed_until: float = 0.0
    fresh: bool = True
    """Nothing is known of this boot yet."""
    remembers_from: int = 0
    """The version of the Lease by the first acknowledgement that it remembers without a break."""

    def take_up(self, who: Self, report: AgentReport) -> "Memory":
        """After a read. Numbers go on, and without a memory of this boot the newest peers published in it."""
        memory = structs.replace(self, number=max(self.number, report.sequence), fresh=False)
        same_boot = (report.node_uid, report.boot_id) == (who.node_uid, who.boot_id)
        if not self.fresh or not same_boot or not report.peers:
            return memory
        peers = tuple(PeerEntry(name=name, address="") for name in report.peers[-1])
        return structs.replace(memory, conduct=structs.replace(self.conduct, peers=peers))

    def compare(self, who: Self, report: object) -> "Memory":
        """With the report that stands on the Lease, read or missing.

        Where that is older than what was acknowledged, etcd was restored from a backup. What this node
        promised since may be lost, and so may what others did: it can vouch for nothing from before.
        """
        contact = self.contact
        if contact is None or _shows(report, who, contact.acknowledged):
            return self
        # Steady from the next renewal on: what a manager counted for this node before is void.
        contact = replace(contact, steady_since=self.number + 1)
        return structs.replace(self, contact=contact, remembers_from=0)

    def acknowledge(self, renewal: Renewal, unslewed: float, version: int = 0) -> "Memory":
        """`version` is the one that this renewal made."""
        number, terms = renewal.report.sequence, renewal.terms
        conduct = self.conduct.acknowledge(terms)
        before = self.contact
        if before is None:
            contact = begin(number, unslewed, terms.contact_age)
        else:
            contact = before.acknowledge(number, unslewed)
        return structs.replace(
            self,
            conduct=conduct,
            contact=replace(contact, age=conduct.contact_age),
            fresh=False,
            remembers_from=self.remembers_from or version,
        )

    def contacted(self, now: float, wall: float, *, heard: bool) -> "Memory":
        """After an acknowledged renewal, at `wall` by this node's own clock."""
        before, unbroken_for = self.settled, self.conduct.contact_age
        settled = (
            before.renewed(now, wall, unbroken_for=unbroken_for, heard=heard)
            if before
            else first_contact(now, wall)
        )
        return structs.replace(self, settled=settled)

    def consider(self, who: Self, proposal: PeerProposal | None) -> "Memory":
        """A pace that asks for a longer lease than the feeder believes is taken up as far as it does.

        Whom nobody would answer gives its peers up, as it would take up a proposal of none: published first.
        """
        if not who.heard:
            proposal = PeerProposal(every=proposal.every if proposal else self.conduct.pace.every)
        conduct = self.conduct
        if proposal is not None:
            if who.longest_lease is not None:
                borne = RenewalPace(every=proposal.every).every_within(who.longest_lease)
                if borne != proposal.every:
                    proposal = structs.replace(proposal, every=borne)
            conduct = conduct.consider(proposal)
        pace = conduct.pace.riding(who.ride_through, who.longest_lease)
        return structs.replace(self, conduct=conduct.at_pace(pace))

    def feed_from(self, looked_at: float, longest_lease: float | None = None) -> "Memory":
        """After a clean look that was asked for at `looked_at`. No further ahead than the feeder believes."""
        length = self.conduct.feed_lease
        if longest_lease is not None:
            length = min(length, longest_lease)
        return structs.replace(self, fed_until=max(self.fed_until, looked_at + length))

    def renew(self, who: Self, now: float, replaces: int = 0) -> tuple["Memory", Renewal]:
        """The next renewal, with a number that was never used before, of this version of the Lease."""
        number, contact = self.number + 1, self.contact
        terms = self.conduct.terms(self.fed_until - now)
        report = AgentReport(
            node_uid=who.node_uid,
            boot_id=who.boot_id,
            sequence=number,
            acknowledged=contact.acknowledged if contact else 0,
            steady_since=contact.steady_since if contact else number,
            # Before this agent was there, the feeder lived by looks of its own.
            feed_lease=max(terms.feed_lease, who.longest_lease or 0.0),
            contact_age=terms.contact_age,
            ride_through=self.conduct.pace.ride_through,
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


def _shows(report: object, who: Self, acknowledged: int) -> bool:
    """Whether it is of this boot, and at least as new as what was acknowledged."""
    return (
        isinstance(report, AgentReport)
        and (report.node_uid, report.boot_id) == (who.node_uid, who.boot_id)
        and report.sequence >= acknowledged
    )
