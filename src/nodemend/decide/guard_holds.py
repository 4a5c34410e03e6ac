"""Why the guard refuses for now: what people said, what the cluster shows, who else is at work."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DryRun:
    """The cluster's policy is absent or says DryRun."""

    policy_exists: bool
    would: str = ""
    """What would be done else, and what the guard would say to it; empty where nobody asked."""


@dataclass(frozen=True, slots=True)
class CheckDryRun:
    """The check says so for its own targets."""

    check: str
    would: str = ""
    """As of DryRun."""


@dataclass(frozen=True, slots=True)
class Paused:
    """`check` is empty when the whole cluster is paused; `unpause` where `kubectl mend resume` ends it."""

    by: str
    reason: str
    check: str = ""
    unpause: str = ""


@dataclass(frozen=True, slots=True)
class TooManyAtOnce:
    """Under remediation already; `domain` is empty when the whole cluster is meant.

    `setting` is the one of the policy that makes the limit what it is.
    """

    others: int
    limit: int
    domain: str = ""
    setting: str = "maxConcurrent"


@dataclass(frozen=True, slots=True)
class TooManyUnhealthy:
    """More likely one common cause than so many sick nodes. `room` is how many would still be allowed."""

    scope: str
    unhealthy: int
    total: int
    limit: str
    room: int


@dataclass(frozen=True, slots=True)
class TooFewUnhealthy:
    """The check acts only when at least so many are."""

    scope: str
    unhealthy: int
    least: int


@dataclass(frozen=True, slots=True)
class Settling:
    """A storm has just ended."""

    remaining: float


@dataclass(frozen=True, slots=True)
class Pacing:
    """The last remediation began only now."""

    remaining: float


@dataclass(frozen=True, slots=True)
class ControlPlaneBusy:
    """One control-plane node at a time."""

    other: str


@dataclass(frozen=True, slots=True)
class QuorumAtRisk:
    """Without this node, no majority of the control plane would be Ready."""

    others_ready: int
    total: int


@dataclass(frozen=True, slots=True)
class Excluded:
    """A label or an annotation asks to leave this target alone."""

    by: str


@dataclass(frozen=True, slots=True)
class InMaintenance:
    """The node says that somebody works on it."""

    by: str


@dataclass(frozen=True, slots=True)
class ApiUnsettled:
    """The API server failed us a moment ago: what we then see of nodes may be its own trouble."""

    calm_for: float
    needed: float


@dataclass(frozen=True, slots=True)
class OtherRemediation:
    """Somebody else is at work on this very node."""

    holder: str


@dataclass(frozen=True, slots=True)
class RemediesExhausted:
    """Every remedy of the check was tried; the last one stays."""

    tried: int


@dataclass(frozen=True, slots=True)
class NobodyActs:
    """The check asks an owner to act, and there is none that would."""

    why: str


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """The check says something that nobody can follow: it may mean that nothing should be done."""

    check: str
    what: str


@dataclass(frozen=True, slots=True)
class OrderVoid:
    """The person's order that this rests on counts no longer."""

    by: str
    why: str


@dataclass(frozen=True, slots=True)
class AnnotationServed:
    """Another controller acts upon the annotation that asks for it."""

    by: str


@dataclass(frozen=True, slots=True)
class Unserved:
    """Its remediation was asked for, and nobody has taken it up: its kind is switched off, or nobody runs."""

    holder: str


@dataclass(frozen=True, slots=True)
class NodeWell:
    """Ready, its kubelet's Lease is renewed, and no check of ours finds it unhealthy."""

    node: str


@dataclass(frozen=True, slots=True)
class NotReadyBriefly:
    """Not Ready, but the remediator has not seen that for long enough to act on another's request."""

    seen_for: float
    needed: float


@dataclass(frozen=True, slots=True)
class PolicyNotInForce:
    """An admission policy that our safety rests on refuses nothing, or something else than it should."""

    policy: str
    why: str


@dataclass(frozen=True, slots=True)
class PolicyNotProven:
    """Nobody knows whether that policy is in force."""

    policy: str
    why: str


GuardHold = (
    DryRun
    | CheckDryRun
    | Paused
    | TooManyAtOnce
    | TooManyUnhealthy
    | TooFewUnhealthy
    | Settling
    | Pacing
    | ControlPlaneBusy
    | QuorumAtRisk
    | Excluded
    | InMaintenance
    | ApiUnsettled
    | OtherRemediation
    | RemediesExhausted
    | Unserved
    | NobodyActs
    | NotUnderstood
    | OrderVoid
    | AnnotationServed
    | NodeWell
    | NotReadyBriefly
    | PolicyNotInForce
    | PolicyNotProven
)
