"""Decides which requests for agents' certificates are signed, and when their authority is replaced.

A certificate states its holder's node, and peers trust it. So it is issued only to a client that the API
server itself knows to run on that node: the agents' account, with a token that is bound to a pod there. The
request must be for that node's name, which a token bound to another node cannot get, and for nothing else.

A peer trusts a certificate only if it has the authority's certificate. So a new authority signs nothing
before all agents have its certificate, and an old one is trusted until the last certificate that it signed
has expired:

    made -> published -> (OVERLAP) -> signs -> replaced -> (OVERLAP) -> forgotten

OVERLAP is longer than the lifetime of any certificate. So an agent that shows a certificate when a new
authority begins to sign got it after the new one was published; and when an old authority is forgotten, none
of its certificates is still valid.

Times are seconds since 1970, on the clock that certificates use. No release rests on any of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Final

from nodemend.api import condition_reasons, well_known
from nodemend.api.agent import CERTIFICATE_USAGES, certified_name
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable

LONGEST: Final = 24 * 3600
"""Seconds. Longest lifetime of a certificate, from notBefore to notAfter."""
SHORTEST: Final = 600
"""Seconds. With a shorter lifetime an agent would hardly have it before it must request the next."""
KEY: Final = "P-256"
"""The only kind of key. Every TLS 1.3 implementation has it, it is fast to generate and to sign with, and
one kind is enough."""
BACKDATED: Final = 300.0
"""Seconds by which a certificate is backdated, for clocks that are behind the signer's."""
_MOST_REPEATED: Final = 500
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63
"""No TLS library requests longer ones."""


@dataclass(frozen=True, slots=True)
class RequestContent:
    """Contents of the request itself, as its requester signed it."""

    names: tuple[tuple[str, str], ...]
    """Every alternative name as its kind ("DNS", "IP", "email", "URI", ...) and its value."""
    subject: str
    key: str
    """Such as "P-256"."""
    proven: bool
    """True if the request is signed by the key that it is for."""
    also: tuple[str, ...] = ()
    """Extensions and attributes other than the names, as readable text."""


@dataclass(frozen=True, slots=True)
class UnreadableRequest:
    why: str


class RequestState(Enum):
    OPEN = auto()
    APPROVED = auto()
    OVER = auto()
    """Denied, failed, or its certificate is issued."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """One CertificateSigningRequest. The API server alone wrote the fields that identify the requester."""

    signer: str
    user: str
    nodes: tuple[str, ...]
    """The nodes that the requester's token is bound to."""
    pods: tuple[str, ...]
    usages: tuple[str, ...]
    seconds: int | None
    """The requested lifetime; None if the request has none."""
    asked: RequestContent | UnreadableRequest
    request_state: RequestState


@dataclass(frozen=True, slots=True)
class Objection:
    """The reason not to sign: `reason` for programs, and a sentence for users."""

    reason: str
    words: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """The request is for another signer."""

    verdict: ClassVar[str] = "Ignored"


@dataclass(frozen=True, slots=True)
class AlreadyDecided:
    """No action is left to take."""

    verdict: ClassVar[str] = "AlreadyDecided"


@dataclass(frozen=True, slots=True)
class Approve:
    verdict: ClassVar[str] = "Approve"
    node: str


@dataclass(frozen=True, slots=True)
class Issue:
    """The request is approved: sign it."""

    verdict: ClassVar[str] = "Issue"
    node: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Deny:
    verdict: ClassVar[str] = "Deny"
    objection: Objection


@dataclass(frozen=True, slots=True)
class Fail:
    """Another client has approved a request that Nodemend does not sign.

    The approval cannot be removed, but it has no effect.
    """

    verdict: ClassVar[str] = "Fail"
    objection: Objection


Verdict = Ignored | AlreadyDecided | Approve | Issue | Deny | Fail


def decide(facts: RequestFacts) -> Verdict:
    if facts.signer != well_known.AGENT_SIGNER:
        return Ignored()
    if facts.request_state is RequestState.OVER:
        return AlreadyDecided()
    approved = facts.request_state is RequestState.APPROVED
    objection = object_to(facts)
    if objection is not None:
        return Fail(objection) if approved else Deny(objection)
    [node] = facts.nodes
    return Issue(node, min(facts.seconds or LONGEST, LONGEST)) if approved else Approve(node)


@dataclass(frozen=True, slots=True)
class Window:
    """Validity of a certificate, in seconds since 1970."""

    begins: float
    ends: float


def window_of(issue: Issue, now: float, authority_ends: float) -> Window:
    """Return the validity: backdated, but no longer than LONGEST, and not beyond its authority's."""
    begins = now - BACKDATED
    return Window(begins, min(now + issue.seconds, begins + LONGEST, authority_ends))


def object_to(facts: RequestFacts) -> Objection | None:
    """Return the first objection to the request: to the requester, then to its contents."""
    return next(_objections(facts), None)


def _objections(facts: RequestFacts) -> Iterator[Objection]:
    """Each check may rely on those before it: the caller stops at the first objection."""
    if facts.user != well_known.AGENT_USER:
        words = (
            f"Only Nodemend's agents ({well_known.AGENT_USER}) get these certificates; you are {facts.user}."
        )
        yield Objection(condition_reasons.NOT_AN_AGENT, words)
    if not (len(facts.nodes) == 1 == len(facts.pods) and facts.nodes[0] and facts.pods[0]):
        words = "The token of the request is not bound to a pod on a node, so the requesting node is unknown."
        yield Objection(condition_reasons.NOT_BOUND_TO_NODE, words)
    own = certified_name(facts.nodes[0])
    if len(own) > _LONGEST_NAME or max(map(len, own.split("."))) > _LONGEST_LABEL:
        words = f"{own} is too long: {_LONGEST_NAME} characters at most, {_LONGEST_LABEL} between dots."
        yield Objection(condition_reasons.NAME_TOO_LONG, words)
    if isinstance(facts.asked, UnreadableRequest):
        words = f"spec.request cannot be read: {facts.asked.why}."
        yield Objection(condition_reasons.REQUEST_UNREADABLE, words)
    else:
        yield from _objections_to_content(facts, facts.asked, own)


def _objections_to_content(facts: RequestFacts, asked: RequestContent, own: str) -> Iterator[Objection]:
    if asked.key != KEY:
        yield Objection(condition_reasons.WRONG_KEY, f"The key must be {KEY}, not {asked.key}.")
    if not asked.proven:
        words = "The request is not signed by the key that it is for."
        yield Objection(condition_reasons.WRONG_SIGNATURE, words)
    if asked.names != (("DNS", own),):
        said = _cut(", ".join(f"{kind} {value}" for kind, value in asked.names)) or "nothing"
        words = f"The request must name DNS {own} and nothing else; it names {said}."
        yield Objection(condition_reasons.WRONG_NAME, words)
    if asked.subject:
        words = f"The subject must be empty; it is {_cut(asked.subject)}."
        yield Objection(condition_reasons.UNEXPECTED_SUBJECT, words)
    if asked.also:
        words = f"Beside its name the request asks for: {_cut(', '.join(asked.also))}."
        yield Objection(condition_reasons.UNEXPECTED_CONTENT, words)
    if frozenset(facts.usages) != CERTIFICATE_USAGES or len(facts.usages) != len(CERTIFICATE_USAGES):
        words = f"spec.usages must be {_list(CERTIFICATE_USAGES)}; they are {_list(facts.usages)}."
        yield Objection(condition_reasons.WRONG_USAGES, words)
    if facts.seconds is not None and facts.seconds < SHORTEST:
        words = f"spec.expirationSeconds must be {SHORTEST} at least; it is {facts.seconds}."
        yield Objection(condition_reasons.LIFETIME_TOO_SHORT, words)


def _cut(words: str) -> str:
    """Truncate a requester's text before it is repeated: a denial must not grow with the request."""
    return words if len(words) <= _MOST_REPEATED else words[:_MOST_REPEATED] + " and more"


def _list(words: frozenset[str] | tuple[str, ...]) -> str:
    return ", ".join(sorted(words)) or "none"


OVERLAP: Final = LONGEST + 3600.0
"""The hour allows for clocks that differ, and for kubelets that bring the bundle to their nodes."""
SIGNS_FOR: Final = 90 * 86400.0
"""An authority of this age gets a successor."""
LIVES_FOR: Final = 365 * 86400.0
"""Lifetime of the authority's certificate: a signer may be down for most of a year."""


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority, identified by the fingerprint of its certificate."""

    fingerprint: str
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class FormerCa:
    fingerprint: str
    replaced: float


@dataclass(frozen=True, slots=True)
class StoredCa:
    """Contents of the signer's Secret."""

    signing: Authority
    successor: Authority | None = None
    published: float | None = None
    """Time since which the successor's certificate has been in the bundle."""
    former: tuple[FormerCa, ...] = ()
    replacement_asked: bool = False

    @property
    def trusted(self) -> frozenset[str]:
        """Fingerprints of the authorities whose certificates belong in the bundle."""
        also = (self.successor.fingerprint,) if self.successor else ()
        return frozenset((self.signing.fingerprint, *also, *(one.fingerprint for one in self.former)))


@dataclass(frozen=True, slots=True)
class AuthorityFacts:
    kept: ReadResult[StoredCa]
    bundle: ReadResult[frozenset[str]]
    """Fingerprints of the authorities that agents are configured to trust."""
    now: float


@dataclass(frozen=True, slots=True)
class Wait:
    """No action. `why` is not empty if the reason is that a fact is unknown."""

    step: ClassVar[str] = "Wait"
    why: str = ""


@dataclass(frozen=True, slots=True)
class CreateCa:
    step: ClassVar[str] = "CreateCa"


@dataclass(frozen=True, slots=True)
class PublishBundle:
    """Put exactly these certificates into the bundle."""

    step: ClassVar[str] = "PublishBundle"
    trusted: frozenset[str]


@dataclass(frozen=True, slots=True)
class CreateNextCa:
    step: ClassVar[str] = "CreateNextCa"


@dataclass(frozen=True, slots=True)
class RecordPublished:
    """Record that the successor is published since `at`; None: it is no longer published."""

    step: ClassVar[str] = "RecordPublished"
    at: float | None


@dataclass(frozen=True, slots=True)
class ReplaceCa:
    """The successor signs from now on."""

    step: ClassVar[str] = "ReplaceCa"
    at: float


@dataclass(frozen=True, slots=True)
class ForgetCa:
    """Forget these authorities: none of their certificates is still valid."""

    step: ClassVar[str] = "ForgetCa"
    fingerprints: frozenset[str]


Step = Wait | CreateCa | PublishBundle | CreateNextCa | RecordPublished | ReplaceCa | ForgetCa


def next_step(facts: AuthorityFacts) -> Step:
    """Return the next step: one write in a pass; the next pass reads everything again."""
    match facts.kept:
        case Unreadable(why):
            return Wait(f"the authority's Secret cannot be read: {why}")
        case Absent():
            return CreateCa()
        case Present(kept):
            return _maintain(kept, facts)


def _maintain(kept: StoredCa, facts: AuthorityFacts) -> Step:
    if isinstance(facts.bundle, Unreadable):
        return Wait(f"the agents' bundle cannot be read: {facts.bundle.why}")
    bundle = facts.bundle.value if isinstance(facts.bundle, Present) else frozenset[str]()
    if kept.published is not None and not _is_published(kept, bundle):
        # The bundle was emptied. Before it is restored, the wait starts again.
        return RecordPublished(None)
    if bundle != kept.trusted:
        return PublishBundle(kept.trusted)
    over = frozenset(one.fingerprint for one in kept.former if one.replaced + OVERLAP <= facts.now)
    if over:
        return ForgetCa(over)
    return _succession(kept, facts.now)


def _succession(kept: StoredCa, now: float) -> Step:
    """Return the next step when the bundle is correct."""
    if kept.successor is None:
        due = kept.replacement_asked or kept.signing.begins + SIGNS_FOR <= now
        return CreateNextCa() if due else Wait()
    if kept.published is None:
        return RecordPublished(now)
    # If the signing authority is about to expire, waiting keeps no certificate alive.
    ending = kept.signing.ends <= now + OVERLAP
    return ReplaceCa(now) if ending or kept.published + OVERLAP <= now else Wait()


def _is_published(kept: StoredCa, bundle: frozenset[str]) -> bool:
    return kept.successor is not None and kept.successor.fingerprint in bundle


@dataclass(frozen=True, slots=True)
class MaySign:
    """The authority may sign until then at the latest: no certificate outlives its authority."""

    until: float


@dataclass(frozen=True, slots=True)
class MayNotSign:
    why: str


def may_sign(facts: AuthorityFacts) -> MaySign | MayNotSign:
    """Return whether the signing authority may be used now: only if the agents can trust its certificates."""
    if not isinstance(facts.kept, Present):
        return MayNotSign("there is no authority that can be read")
    signing = facts.kept.value.signing
    if isinstance(facts.bundle, Unreadable):
        return MayNotSign("the trust bundle of the agents cannot be read")
    if isinstance(facts.bundle, Absent) or signing.fingerprint not in facts.bundle.value:
        return MayNotSign("its certificate is not published yet")
    if not signing.begins <= facts.now < signing.ends:
        return MayNotSign("its own certificate is not valid now")
    return MaySign(signing.ends)
