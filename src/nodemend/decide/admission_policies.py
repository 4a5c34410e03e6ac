"""Whether an admission policy of ours is in force: it is there as shipped, and refuses what it must."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import PolicyNotInForce, PolicyNotProven

ALWAYS: Final = (
    "nodemend-accounts",
    "nodemend-confirmation",
    "nodemend-hosts",
    "nodemend-node-exclusion",
    "nodemend-nodes",
    "nodemend-orders",
    "nodemend-remediations",
    "nodemend-settings",
)
"""Those that every installation has."""
OF_SELF_FENCING: Final = (
    "nodemend-agent-leases",
    "nodemend-agent-namespace",
    "nodemend-agent-requests",
    "nodemend-agent-trust",
)
OF_CAPM3: Final = ("nodemend-capm3",)
OF_ANNOTATIONS: Final = ("nodemend-external-remediation", "nodemend-machines")

Doubt = PolicyNotInForce | PolicyNotProven


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Of one policy and its binding: whom it is asked about, what it demands, and how it is bound."""

    scope: str
    demands: str
    binding: str


@dataclass(frozen=True, slots=True)
class PolicySeen:
    """A policy as it stands in the cluster."""

    scope: str
    demands: str


@dataclass(frozen=True, slots=True)
class DeniedBy:
    """Refused by an admission policy, in these words."""

    words: str


@dataclass(frozen=True, slots=True)
class LetThrough:
    """Nobody refused it."""


@dataclass(frozen=True, slots=True)
class Untold:
    """No answer, or a refusal by somebody else: it tells nothing about the policy."""

    why: str


Attempted = DeniedBy | LetThrough | Untold


def is_pinned(revision: int, reports_from: int | None) -> bool:
    """Whether a Lease of this revision was last written when its node alone could write its report.

    `reports_from` is 0 where no policies are looked at, and None while none could be relied on.
    """
    return reports_from is not None and (reports_from == 0 or revision > reports_from)


def judge_look(
    name: str, policy: Seen[PolicySeen], binding: Seen[str], shipped: Sequence[Fingerprint]
) -> Doubt | None:
    """What speaks against the policy of this name as it was read; None where it is as shipped."""
    match policy, binding:
        case Unreadable(why), _:
            return PolicyNotProven(name, f"it cannot be read: {why}")
        case Absent(), _:
            return PolicyNotInForce(name, "it is missing")
        case _, Unreadable(why):
            return PolicyNotProven(name, f"its binding cannot be read: {why}")
        case _, Absent():
            return PolicyNotInForce(name, "it has no binding of its name")
        case Present(found), Present(bound):
            what = _changed(found, bound, shipped)
            return PolicyNotInForce(name, f"{what} not as this version ships it") if what else None
        case _:
            raise AssertionError("every look is one of these")


def _changed(found: PolicySeen, bound: str, shipped: Sequence[Fingerprint]) -> str:
    if any(one == Fingerprint(found.scope, found.demands, bound) for one in shipped):
        return ""
    if not any(one.binding == bound for one in shipped):
        return "its binding is"
    if not any(one.scope == found.scope for one in shipped):
        return "what it is asked about is"
    return "what it demands is"


def judge_attempt(name: str, what: str, attempted: Attempted) -> Doubt | None:
    """What a write says that the policy of this name had to refuse; None where it did."""
    match attempted:
        case DeniedBy(words) if f"ValidatingAdmissionPolicy '{name}'" in words:
            return None
        case DeniedBy(words):
            return PolicyNotProven(name, f"{what} was refused by another: {words}")
        case LetThrough():
            return PolicyNotInForce(name, f"the API server would let {what} pass")
        case Untold(why):
            return PolicyNotProven(name, f"{what} was not answered by it: {why}")
        case _:
            assert_never(attempted)
