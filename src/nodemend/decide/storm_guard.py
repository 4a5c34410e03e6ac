"""Whether the cluster as a whole allows one more action now."""

from dataclasses import dataclass

from nodemend.api.remediation_policy import Mode
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, DryRun, Hold, Paused, TooManyAtOnce


@dataclass(frozen=True, slots=True)
class Go:
    """One more action may begin."""


def guard(policy: Seen[PolicyFacts], others: Seen[int]) -> Go | Hold:
    """`others` are the targets under remediation besides the one asked about."""
    match policy:
        case Unreadable(why):
            return Hold(CannotRead("the RemediationPolicy", why))
        case Absent():
            return Hold(DryRun(policy_exists=False))
        case Present(allowed):
            return _within(allowed, others)


def _within(allowed: PolicyFacts, others: Seen[int]) -> Go | Hold:
    if allowed.mode is not Mode.ACT:
        return Hold(DryRun(policy_exists=True))
    if allowed.pause is not None:
        return Hold(Paused(allowed.pause.by, allowed.pause.reason))
    match others:
        case Unreadable(why):
            return Hold(CannotRead("the other remediations", why))
        case Absent():
            return Go()
        case Present(count) if count >= allowed.max_concurrent:
            return Hold(TooManyAtOnce(count, allowed.max_concurrent))
        case Present():
            return Go()
