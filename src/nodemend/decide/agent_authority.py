"""When the authority over agents' certificates is made, replaced and forgotten.

A certificate is believed by whoever has the authority's own. So a new authority signs nothing before all who
matter have its certificate, and an old one is believed until the last that it signed is over:

    made -> published -> (OVERLAP) -> signs -> replaced -> (OVERLAP) -> forgotten

OVERLAP is longer than any certificate lives. So whoever shows a certificate when a new authority begins to
sign got it after the new one was published; and when an old one is forgotten, nothing of it is left.

Times are seconds since 1970, by the clock that certificates go by. No release rests on any of them.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.decide.agent_certificate import LONGEST
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

OVERLAP: Final = LONGEST + 3600.0
"""The hour is for clocks that differ, and for kubelets that bring the bundle to their nodes."""
SIGNS_FOR: Final = 90 * 86400.0
"""An authority of this age gets a successor."""
LIVES_FOR: Final = 365 * 86400.0
"""How long its own certificate lasts: a signer may be away for most of a year."""


@dataclass(frozen=True, slots=True)
class Authority:
    """By the fingerprint of its certificate."""

    fingerprint: str
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class Former:
    fingerprint: str
    replaced: float


@dataclass(frozen=True, slots=True)
class Kept:
    """What the signer's Secret holds."""

    signing: Authority
    successor: Authority | None = None
    published: float | None = None
    """Since when the successor's certificate has been seen in the bundle."""
    former: tuple[Former, ...] = ()
    replacement_asked: bool = False

    @property
    def trusted(self) -> frozenset[str]:
        """Whose certificates belong into the bundle."""
        also = (self.successor.fingerprint,) if self.successor else ()
        return frozenset((self.signing.fingerprint, *also, *(one.fingerprint for one in self.former)))


@dataclass(frozen=True, slots=True)
class AuthorityFacts:
    kept: Seen[Kept]
    bundle: Seen[frozenset[str]]
    """Whose certificates the agents are given to believe."""
    now: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is to be done. `why` is not empty when that is because something is not known."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class MakeFirst:
    """There is no authority yet."""


@dataclass(frozen=True, slots=True)
class Publish:
    """Put exactly these certificates into the bundle."""

    trusted: frozenset[str]


@dataclass(frozen=True, slots=True)
class MakeSuccessor:
    pass


@dataclass(frozen=True, slots=True)
class NotePublished:
    """From now on the successor is known; None: it is not, after all."""

    at: float | None


@dataclass(frozen=True, slots=True)
class Replace:
    """The successor signs from now on."""

    at: float


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing that these signed is left."""

    fingerprints: frozenset[str]


Step = Wait | MakeFirst | Publish | MakeSuccessor | NotePublished | Replace | Forget


def next_step(facts: AuthorityFacts) -> Step:
    """One write a pass; the next reads everything anew."""
    match facts.kept:
        case Unreadable(why):
            return Wait(f"the authority's Secret cannot be read: {why}")
        case Absent():
            return MakeFirst()
        case Present(kept):
            return _look_after(kept, facts)


def _look_after(kept: Kept, facts: AuthorityFacts) -> Step:
    if isinstance(facts.bundle, Unreadable):
        return Wait(f"the agents' bundle cannot be read: {facts.bundle.why}")
    bundle = facts.bundle.value if isinstance(facts.bundle, Present) else frozenset[str]()
    if kept.published is not None and not _is_published(kept, bundle):
        # Somebody has emptied the bundle. Before it is mended, the wait begins anew.
        return NotePublished(None)
    if bundle != kept.trusted:
        return Publish(kept.trusted)
    over = frozenset(one.fingerprint for one in kept.former if one.replaced + OVERLAP <= facts.now)
    if over:
        return Forget(over)
    return _succession(kept, facts.now)


def _succession(kept: Kept, now: float) -> Step:
    """The bundle is as it should be."""
    if kept.successor is None:
        due = kept.replacement_asked or kept.signing.begins + SIGNS_FOR <= now
        return MakeSuccessor() if due else Wait()
    if kept.published is None:
        return NotePublished(now)
    # With a signing authority that is about to end, nothing is kept alive by waiting.
    ending = kept.signing.ends <= now + OVERLAP
    return Replace(now) if ending or kept.published + OVERLAP <= now else Wait()


def _is_published(kept: Kept, bundle: frozenset[str]) -> bool:
    return kept.successor is not None and kept.successor.fingerprint in bundle


@dataclass(frozen=True, slots=True)
class Signs:
    """Until then at the latest: no certificate outlives its authority."""

    until: float


@dataclass(frozen=True, slots=True)
class SignsNothing:
    why: str


def may_sign(facts: AuthorityFacts) -> Signs | SignsNothing:
    """Whether the signing authority may be used now: only when those who matter can believe it."""
    if not isinstance(facts.kept, Present):
        return SignsNothing("there is no authority that can be read")
    signing = facts.kept.value.signing
    if isinstance(facts.bundle, Unreadable):
        return SignsNothing("nobody knows what agents are given to believe")
    if isinstance(facts.bundle, Absent) or signing.fingerprint not in facts.bundle.value:
        return SignsNothing("its certificate is not published yet")
    if not signing.begins <= facts.now < signing.ends:
        return SignsNothing("its own certificate is not valid now")
    return Signs(signing.ends)
