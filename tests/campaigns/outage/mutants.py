"""Bugs in the rules for outages, and whether this campaign finds them by itself.

Each replaces one function of the shipped code, in a separate process.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from nodemend.agent import heartbeat
from nodemend.agent.heartbeat import Heartbeat
from nodemend.agent.watchdog.feeder import Feeder
from nodemend.protocol import peers
from nodemend.protocol.peers import CertificateTrust, PeerReply, Poll, SettledContact, Verdict
from nodemend.protocol.timing import OwnContact, RenewalPace
from tests.campaigns.outage.play import KINDS, play
from tests.simulation.self_fencing import agent_process

Break = Callable[[], None]
SEEDS: Final = {"outage-1h": 6, "brown-out-70-of-3": 6, "brown-out-60-of-5": 4, "outage-1d": 2}
"""The number of seeds of each kind, until one finds it."""
_BEGIN: Final = Heartbeat.__init__
_RENEWED: Final = SettledContact.renewed


def _put(owner: object, name: str, value: object) -> None:
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name} to replace")
    setattr(owner, name, value)


def _strict(shown: Any, authority: Any, wall: float, _trusted_at: object) -> CertificateTrust:
    return peers.evaluate_validity(shown, authority, wall, ())


def _admits_full_only(belief: CertificateTrust, _answer: PeerReply) -> bool:
    return belief is CertificateTrust.FULL


def _trusted_at_once(
    contact: SettledContact, now: float, wall: float, *, unbroken_for: float, heard: bool
) -> SettledContact:
    found = _RENEWED(contact, now, wall, unbroken_for=unbroken_for, heard=heard)
    return SettledContact(began=found.began, at=now, offset=found.offset, trusted_at=(wall,))


def _forgets(watch: Heartbeat, who: Any, _memory: object, **more: Any) -> None:
    _BEGIN(watch, who, None, **more)


def _concludes_otherwise(change: Callable[[Poll], bool], poll: Poll) -> Verdict:
    found = peers.conclude(poll)
    return Verdict.UNDETERMINED if found is Verdict.OUTAGE and change(poll) else found


MUTANTS: Final[dict[str, Break]] = {
    "certificates end on the hour": partial(_put, agent_process, "evaluate_validity", _strict),
    "what is over says nothing": partial(_put, CertificateTrust, "admits", _admits_full_only),
    "any contact voids certificates": partial(_put, SettledContact, "renewed", _trusted_at_once),
    "no looks beside renewals": partial(_put, Heartbeat, "_start_parallel_read", lambda _watch, _now: ()),
    "tries again as late as ever": partial(_put, RenewalPace, "retry", property(lambda pace: pace.every)),
    "a new agent remembers nothing": partial(_put, Heartbeat, "__init__", _forgets),
    "an outage renews nothing": partial(
        _put, heartbeat, "conclude", partial(_concludes_otherwise, lambda _poll: True)
    ),
    "an outage wants everybody": partial(
        _put,
        heartbeat,
        "conclude",
        partial(_concludes_otherwise, lambda poll: poll.out_of_reach < poll.peers),
    ),
    "no boot awaits its agent": partial(_put, Feeder, "_gate_says", lambda _feeder, _holds: False),
    "no peer is ever out of reach": partial(_put, OwnContact, "out_of_reach", lambda _contact, _now: False),
}


def caught_by(name: str) -> str:
    """The first kind that finds it; empty if none does. Leaves its process modified."""
    MUTANTS[name]()
    for kind in KINDS:
        for seed in range(SEEDS.get(kind.name, 0)):
            if play(kind, seed).resets:
                return f"{kind.name}, seed {seed}"
    return ""
