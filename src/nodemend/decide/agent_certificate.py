"""Which request for an agent's certificate is signed, and why another is not.

A certificate says which node its holder is, and peers believe it. So it is given only to whom the API server
itself knows to run on that node: the agents' account, by a token that is bound to a pod there. What such a
token cannot be had for, a node's name, is what the request has to be for; and it may be for nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from nodemend.api import keys
from nodemend.api.certified_names import certified_name

LONGEST: Final = 24 * 3600
"""Seconds that a certificate may live, from its first to its last."""
SHORTEST: Final = 600
"""Below this an agent would hardly have it before it asks for the next."""
KEY: Final = "P-256"
"""The one kind of key. Every TLS 1.3 has it, it is quick to make and to sign with, and one is enough."""
USAGES: Final = frozenset({"client auth", "digital signature", "server auth"})
BACKDATED: Final = 300.0
"""Seconds by which a certificate begins before now, for clocks that are behind ours."""
_MOST_REPEATED: Final = 500
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
"""Longer ones no TLS library asks for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is in the request itself, as its asker signed it."""

    names: tuple[tuple[str, str], ...]
    """Every alternative name as its kind ("DNS", "IP", "email", "URI", ...) and its value."""
    subject: str
    key: str
    """Such as "P-256"."""
    proven: bool
    """Whether it was signed by the key that it is for."""
    also: tuple[str, ...] = ()
    """Extensions and attributes beside the names, as people know them."""


@dataclass(frozen=True, slots=True)
class Garbled:
    """It cannot be read."""

    why: str


class Standing(Enum):
    """How far a request has come."""

    OPEN = auto()
    APPROVED = auto()
    OVER = auto()
    """Denied, failed, or its certificate is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """One CertificateSigningRequest. Who asks was written by the API server, and by nobody else."""

    signer: str
    user: str
    nodes: tuple[str, ...]
    """The nodes that the asker's token is bound to."""
    pods: tuple[str, ...]
    usages: tuple[str, ...]
    seconds: int | None
    """For how long, if it says so."""
    asked: Asked | Garbled
    standing: Standing


@dataclass(frozen=True, slots=True)
class Objection:
    """Why it is not signed: a word for programs, and a sentence for people."""

    reason: str
    words: str


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """It is for another signer."""


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing is left to do."""


@dataclass(frozen=True, slots=True)
class Approve:
    node: str


@dataclass(frozen=True, slots=True)
class Issue:
    """It is approved: sign it."""

    node: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Deny:
    objection: Objection


@dataclass(frozen=True, slots=True)
class Fail:
    """Somebody else has approved what we do not sign. That cannot be taken back, but it comes to nothing."""

    objection: Objection


Verdict = LeftAlone | Over | Approve | Issue | Deny | Fail


def decide(facts: RequestFacts) -> Verdict:
    if facts.signer != keys.AGENT_SIGNER:
        return LeftAlone()
    if facts.standing is Standing.OVER:
        return Over()
    approved = facts.standing is Standing.APPROVED
    objection = object_to(facts)
    if objection is not None:
        return Fail(objection) if approved else Deny(objection)
    [node] = facts.nodes
    return Issue(node, min(facts.seconds or LONGEST, LONGEST)) if approved else Approve(node)


@dataclass(frozen=True, slots=True)
class Window:
    """When a certificate is valid, in seconds since 1970."""

    begins: float
    ends: float


def window_of(issue: Issue, now: float, authority_ends: float) -> Window:
    """Backdated, and all the same no longer than LONGEST, nor beyond its authority."""
    begins = now - BACKDATED
    return Window(begins, min(now + issue.seconds, begins + LONGEST, authority_ends))


def object_to(facts: RequestFacts) -> Objection | None:
    """The first thing that is wrong with it: who asks, then what for."""
    for check in _OF_THE_ASKER:
        if (found := check(facts)) is not None:
            return found
    match facts.asked:
        case Garbled(why):
            return Objection("Unreadable", f"spec.request cannot be read: {why}.")
        case Asked() as asked:
            return next(
                (found for look in _OF_THE_REQUEST if (found := look(facts, asked)) is not None), None
            )


def _account(facts: RequestFacts) -> Objection | None:
    if facts.user == keys.AGENT_USER:
        return None
    words = f"Only Nodemend's agents ({keys.AGENT_USER}) get these certificates; you are {facts.user}."
    return Objection("NotAnAgent", words)


def _bound(facts: RequestFacts) -> Objection | None:
    if len(facts.nodes) == 1 == len(facts.pods) and facts.nodes[0] and facts.pods[0]:
        return None
    words = "The token that asked is not bound to a pod on a node, so nobody can say which node asks."
    return Objection("NotBoundToANode", words)


def _short_enough(facts: RequestFacts) -> Objection | None:
    name = certified_name(facts.nodes[0])
    if len(name) <= _LONGEST_NAME and max(map(len, name.split("."))) <= _LONGEST_LABEL:
        return None
    words = f"{name} is too long: {_LONGEST_NAME} characters at most, {_LONGEST_LABEL} between dots."
    return Objection("NameTooLong", words)


def _key(_facts: RequestFacts, asked: Asked) -> Objection | None:
    if asked.key == KEY:
        return None
    return Objection("WrongKey", f"The key must be {KEY}, not {asked.key}.")


def _proof(_facts: RequestFacts, asked: Asked) -> Objection | None:
    if asked.proven:
        return None
    return Objection("NotProven", "The request is not signed by the key that it is for.")


def _own_name(facts: RequestFacts, asked: Asked) -> Objection | None:
    own = certified_name(facts.nodes[0])
    if asked.names == (("DNS", own),):
        return None
    said = _cut(", ".join(f"{kind} {value}" for kind, value in asked.names)) or "nothing"
    return Objection("NotItsOwnName", f"The request must name DNS {own} and nothing else; it names {said}.")


def _no_subject(_facts: RequestFacts, asked: Asked) -> Objection | None:
    if not asked.subject:
        return None
    return Objection("HasASubject", f"The subject must be empty; it is {_cut(asked.subject)}.")


def _nothing_else(_facts: RequestFacts, asked: Asked) -> Objection | None:
    if not asked.also:
        return None
    return Objection("AsksForMore", f"Beside its name the request asks for: {_cut(', '.join(asked.also))}.")


def _usages(facts: RequestFacts, _asked: Asked) -> Objection | None:
    if frozenset(facts.usages) == USAGES and len(facts.usages) == len(USAGES):
        return None
    words = f"spec.usages must be {_list(USAGES)}; they are {_list(facts.usages)}."
    return Objection("WrongUsages", words)


def _lifetime(facts: RequestFacts, _asked: Asked) -> Objection | None:
    if facts.seconds is None or facts.seconds >= SHORTEST:
        return None
    words = f"spec.expirationSeconds must be {SHORTEST} at least; it is {facts.seconds}."
    return Objection("TooShort", words)


_OF_THE_ASKER: Final[tuple[Callable[[RequestFacts], Objection | None], ...]] = (
    _account,
    _bound,
    _short_enough,
)
"""Each may rest on those before it."""
_OF_THE_REQUEST: Final[tuple[Callable[[RequestFacts, Asked], Objection | None], ...]] = (
    _key,
    _proof,
    _own_name,
    _no_subject,
    _nothing_else,
    _usages,
    _lifetime,
)


def _cut(words: str) -> str:
    """What a stranger wrote is repeated in part: a denial must not grow with what it denies."""
    return words if len(words) <= _MOST_REPEATED else words[:_MOST_REPEATED] + " and more"


def _list(words: frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(words)) or "none"
