"""The time proof is never wrong, with lost replies and with managers that pause and take over.

A world of one peer and several managers, in true time. Whenever a manager takes the time as proven, the peer
must have been unable to report "I cannot reach the API" at every moment of it.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from nodemend.protocol.timing import OwnContact, begin
from nodemend.safety.time_proof import (
    Contact,
    PeerObservation,
    PeerProof,
    SequenceHistory,
    count,
    covered_until,
    proven,
)

K, WANTED, ERROR = 15.0, 40.0, 0.1


@dataclass(slots=True)
class Clock:
    rate: float
    offset: float

    def at(self, true: float) -> float:
        return self.offset + true * self.rate


@dataclass(slots=True)
class PeerNode:
    """A peer that renews from time to time. Readers see the last committed renewal."""

    clock: Clock
    contact: OwnContact
    published: Contact
    number: int = 1
    under_way: Contact | None = None

    def send(self) -> None:
        """Give up any renewal under way, whose outcome stays unknown to this node, and send the next."""
        self.number += 1
        self.under_way = Contact(
            uid="uid",
            boot_id="boot",
            sequence=self.number,
            acknowledged=self.contact.acknowledged,
            steady_since=self.contact.steady_since,
            contact_age=K,
        )

    def commit(self) -> None:
        if self.under_way is not None:
            self.published = self.under_way

    def hear(self, true: float) -> None:
        if self.under_way is not None and self.published.sequence == self.number:
            self.contact = self.contact.acknowledge(self.number, self.clock.at(true))
            self.under_way = None

    def may_deny(self, true: float) -> bool:
        return self.contact.out_of_reach(self.clock.at(true))


@dataclass(slots=True)
class Counter:
    """One of the managers: its own observations, and the time from which it counts."""

    clock: Clock
    history: SequenceHistory = field(default_factory=SequenceHistory)
    since: float | None = None
    version: int = -1


@dataclass(slots=True)
class Status:
    version: int = 0
    proof: dict[str, PeerProof] = field(default_factory=dict)


def read_and_count(who: Counter, peer: PeerNode, status: Status, true: float, *, written: bool) -> bool:
    """One pass; return True if it takes the time as proven."""
    now = who.clock.at(true)
    who.history = who.history.seen(peer.published.sequence, now)
    observation = PeerObservation(peer.published, covered_until(peer.published, who.history, ERROR))
    if who.version != status.version or who.since is None:
        who.version, who.since = status.version, now
    counted = count(status.proof, {"peer": observation}, now - who.since)
    if written:
        status.proof, status.version = counted, status.version + 1
        who.version, who.since = status.version, now
    return bool(proven(counted, {"peer": observation}, now, WANTED))


def happens(peer: PeerNode, true: float, chance: Random, bad_network: float) -> None:
    """The next event in a renewal's life. With this probability it is given up and sent again instead."""
    if peer.under_way is None or chance.random() < bad_network:
        peer.send()
    elif peer.published.sequence != peer.number:
        peer.commit()
    else:
        peer.hear(true)


def play(seed: int) -> tuple[int, list[tuple[float, float]]]:
    """Return the number of proofs, and each proof's interval in which the peer could have denied contact."""
    chance = Random(seed)
    clock = Clock(1 + chance.uniform(-ERROR, ERROR), chance.uniform(0, 1e6))
    start = Contact(uid="uid", boot_id="boot", sequence=1, acknowledged=1, steady_since=1, contact_age=K)
    peer = PeerNode(clock, begin(1, clock.at(0.0), K), start)
    managers = [Counter(Clock(1 + chance.uniform(-ERROR, ERROR), chance.uniform(0, 1e6))) for _ in range(2)]
    status, true, denied_at, found, wrong = Status(), 0.0, -1.0, 0, []
    bad_network = chance.choice([0.02, 0.1, 0.4])
    for _ in range(600):
        true += chance.expovariate(1 / chance.choice([0.3, 1.0, 3.0]))
        if peer.may_deny(true):
            denied_at = true
        if chance.random() < 0.7:
            happens(peer, true, chance, bad_network)
        else:
            who = managers[0] if chance.random() < 0.8 else managers[1]
            if read_and_count(who, peer, status, true, written=chance.random() < 0.8):
                found += 1
                if denied_at > true - WANTED / (1 + ERROR):
                    wrong.append((true, denied_at))
    return found, wrong


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(8))
def test_a_peer_that_could_deny_is_never_proven(hundred: int) -> None:
    worlds = [play(seed) for seed in range(hundred * 100, hundred * 100 + 100)]

    assert [wrong for _, wrong in worlds if wrong] == []
    assert sum(found > 0 for found, _ in worlds) > 20
