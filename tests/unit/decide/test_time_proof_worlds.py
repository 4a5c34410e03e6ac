"""Nodes that renew, replies that are lost, managers that pause and take over: the time proof is never wrong.

A world of one peer and several managers, played by true time. Whenever a manager takes the time as proven,
the peer must not have been able to say "I cannot reach the API" at any moment of it.
"""

from dataclasses import dataclass, field
from random import Random

import pytest

from nodemend.decide.contact_evidence import Contact, Sightings, covered_until
from nodemend.decide.own_contact import OwnContact, begin
from nodemend.decide.proven_seconds import Look, PeerProof, count, proven

K, WANTED, ERROR = 15.0, 40.0, 0.1


@dataclass(slots=True)
class Clock:
    rate: float
    offset: float

    def at(self, true: float) -> float:
        return self.offset + true * self.rate


@dataclass(slots=True)
class PeerNode:
    """Renews now and then. What was committed last is what everybody reads."""

    clock: Clock
    contact: OwnContact
    published: Contact
    number: int = 1
    under_way: Contact | None = None

    def send(self) -> None:
        """Whatever was under way is given up; its outcome stays unknown to this node."""
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
    """One of the managers: what it has seen itself, and from when on it counts."""

    clock: Clock
    sightings: Sightings = field(default_factory=Sightings)
    since: float | None = None
    version: int = -1


@dataclass(slots=True)
class Status:
    version: int = 0
    proof: dict[str, PeerProof] = field(default_factory=dict)


def look_and_count(who: Counter, peer: PeerNode, status: Status, true: float, *, written: bool) -> bool:
    """One pass; whether it takes the time as proven."""
    now = who.clock.at(true)
    who.sightings = who.sightings.seen(peer.published.sequence, now)
    look = Look(peer.published, covered_until(peer.published, who.sightings, ERROR))
    if who.version != status.version or who.since is None:
        who.version, who.since = status.version, now
    counted = count(status.proof, {"peer": look}, now - who.since)
    if written:
        status.proof, status.version = counted, status.version + 1
        who.version, who.since = status.version, now
    return bool(proven(counted, {"peer": look}, now, WANTED))


def happens(peer: PeerNode, true: float, chance: Random, bad_weather: float) -> None:
    """The next thing in a renewal's life, unless the weather is bad: then it is given up and sent anew."""
    if peer.under_way is None or chance.random() < bad_weather:
        peer.send()
    elif peer.published.sequence != peer.number:
        peer.commit()
    else:
        peer.hear(true)


def play(seed: int) -> tuple[int, list[tuple[float, float]]]:
    """How often it was proven, and each time at which it was although the peer could have denied."""
    chance = Random(seed)
    clock = Clock(1 + chance.uniform(-ERROR, ERROR), chance.uniform(0, 1e6))
    start = Contact(uid="uid", boot_id="boot", sequence=1, acknowledged=1, steady_since=1, contact_age=K)
    peer = PeerNode(clock, begin(1, clock.at(0.0), K), start)
    managers = [Counter(Clock(1 + chance.uniform(-ERROR, ERROR), chance.uniform(0, 1e6))) for _ in range(2)]
    status, true, denied_at, found, wrong = Status(), 0.0, -1.0, 0, []
    bad_weather = chance.choice([0.02, 0.1, 0.4])
    for _ in range(600):
        true += chance.expovariate(1 / chance.choice([0.3, 1.0, 3.0]))
        if peer.may_deny(true):
            denied_at = true
        if chance.random() < 0.7:
            happens(peer, true, chance, bad_weather)
        else:
            who = managers[0] if chance.random() < 0.8 else managers[1]
            if look_and_count(who, peer, status, true, written=chance.random() < 0.8):
                found += 1
                if denied_at > true - WANTED / (1 + ERROR):
                    wrong.append((true, denied_at))
    return found, wrong


@pytest.mark.parametrize("hundred", range(8))
def test_a_peer_that_could_deny_is_never_proven(hundred: int) -> None:
    worlds = [play(seed) for seed in range(hundred * 100, hundred * 100 + 100)]

    assert [wrong for _, wrong in worlds if wrong] == []
    assert sum(found > 0 for found, _ in worlds) > 20
