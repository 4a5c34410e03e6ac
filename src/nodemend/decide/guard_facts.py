"""What the guard of one target asks about."""

from dataclasses import dataclass

from nodemend.api.pause import Pause
from nodemend.decide.facts import PolicyFacts, Seen
from nodemend.decide.limits import Gate, Reading


@dataclass(frozen=True, slots=True)
class Census:
    """Of some targets: how many there are, how many are not provably healthy, how many are under remediation.

    Suspects, the unjudged and those under remediation are not provably healthy: counting only those past
    their deadline would let a storm begin one by one.
    """

    total: int
    unhealthy: int
    remediating: int


@dataclass(frozen=True, slots=True)
class Domain:
    """The failure domain that a target stands in."""

    name: str
    census: Census
    released: int = 0
    """Under remediation there, beside those of the census, with workloads that run elsewhere already."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """The control plane around a target that is part of it."""

    total: int
    others_ready: int
    busy: str
    """Another of them that is under remediation; empty when none is."""


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What a check itself says about acting."""

    name: str
    gate: Gate | None = None
    reading: Reading = Reading.STOPS_AT
    dry_run: bool = False
    pause: Pause | None = None
    unpause: str = ""
    """What a person does to end its pause; empty where `kubectl mend resume` ends it."""
    unread: str = ""
    """What it says that nobody can follow."""


@dataclass(frozen=True, slots=True)
class Sight:
    """How well we see: the age of our view, and for how long the API server has answered without trouble."""

    age: float
    age_limit: float
    calm_for: float
    calm_needed: float


@dataclass(frozen=True, slots=True)
class Blind:
    """Nothing is seen of the cluster that the target is in, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class GuardFacts:
    """All that the guard of one target asks about."""

    policy: Seen[PolicyFacts]
    sight: Sight | Blind
    check: CheckFacts
    of_check: Census
    of_cluster: Census
    of_domain: Domain | None
    others: Seen[int]
    """Other targets under remediation in its whole cluster, from their beginning to their release."""
    control_plane: ControlPlane | None
    """None for a target that is no part of it."""
    settling: float
    since_last_start: float
    excluded_by: str
    maintained_by: str
    released: int = 0
    """Further ones, whose workloads run elsewhere already. They count where the policy says so."""
