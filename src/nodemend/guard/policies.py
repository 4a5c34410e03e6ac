"""Checks that Nodemend's admission policies are installed as shipped and refuse what they must."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven, PolicyProblem

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
"""Policies that every installation has."""


OF_SELF_FENCING: Final = (
    "nodemend-agent-leases",
    "nodemend-agent-namespace",
    "nodemend-agent-requests",
    "nodemend-agent-trust",
)


OF_CAPM3: Final = ("nodemend-capm3",)


OF_ANNOTATIONS: Final = ("nodemend-external-remediation", "nodemend-machines")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of one policy and its binding: what it matches, what it validates, and how it is bound."""

    scope: str
    demands: str
    binding: str


@dataclass(frozen=True, slots=True)
class PolicySeen:
    """A policy as it exists in the cluster."""

    scope: str
    demands: str


@dataclass(frozen=True, slots=True)
class DeniedBy:
    """An admission policy refuses it with this message."""

    words: str


@dataclass(frozen=True, slots=True)
class Admitted:
    """The API server accepted it."""


@dataclass(frozen=True, slots=True)
class AttemptUnclear:
    """No answer, or a refusal by another policy: it proves nothing about this policy."""

    why: str


Attempted = DeniedBy | Admitted | AttemptUnclear


def evaluate_policy(
    name: str, policy: ReadResult[PolicySeen], binding: ReadResult[str], shipped: Sequence[Fingerprint]
) -> PolicyProblem | None:
    """Return what is wrong with the policy of this name as it was read; None if it is as shipped."""
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
            raise AssertionError("a read has one of these results")


def _changed(found: PolicySeen, bound: str, shipped: Sequence[Fingerprint]) -> str:
    if any(one == Fingerprint(found.scope, found.demands, bound) for one in shipped):
        return ""
    if not any(one.binding == bound for one in shipped):
        return "its binding is"
    if not any(one.scope == found.scope for one in shipped):
        return "its scope is"
    return "its rules are"


def evaluate_attempt(name: str, what: str, attempted: Attempted) -> PolicyProblem | None:
    """Return the doubt that a test write raises which the policy had to refuse; None if it did refuse."""
    match attempted:
        case DeniedBy(words) if f"ValidatingAdmissionPolicy '{name}'" in words:
            return None
        case DeniedBy(words):
            return PolicyNotProven(name, f"another policy refused {what}: {words}")
        case Admitted():
            return PolicyNotInForce(name, f"the API server would let {what} pass")
        case AttemptUnclear(why):
            return PolicyNotProven(name, f"the API server did not report its decision about {what}: {why}")
        case _:
            assert_never(attempted)
