"""Judges the admission policies: each that there must be is there, as this version ships it, and bound so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from nodemend.api.conditions import ConditionStatus, find
from nodemend.api.remediation_policy import ADMISSION_DOUBTED, RemediationPolicy
from nodemend.cli.check.assess_fencing import is_used
from nodemend.cli.check.facts import CheckFacts
from nodemend.cli.check.view import Finding, fail, ok
from nodemend.decide.admission_policies import ALWAYS, OF_SELF_FENCING, judge_look
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.shipped_policies import SHIPPED

T = TypeVar("T")
_INSTALL: Final = (
    "install or upgrade Nodemend, in the version of this command: helm upgrade --install nodemend ..."
)


def assess_policies(facts: CheckFacts) -> Iterator[Finding]:
    """One that is not there, not bound or not as shipped refuses nothing, or something else."""
    policies, bindings = facts.cluster.policies, facts.cluster.bindings
    for what, found in (("they", policies), ("their bindings", bindings)):
        if not isinstance(found, Present):
            why = found.why if isinstance(found, Unreadable) else "the API server does not know their kind"
            yield fail(
                f"nobody knows whether the admission policies are in force: {what} were not read: {why}"
            )
            return
    names = _expected(facts)
    looks = (judge_look(one, _named(policies, one), _named(bindings, one), SHIPPED[one]) for one in names)
    doubts = [doubt for doubt in looks if doubt is not None]
    for doubt in doubts:
        yield fail(f"the admission policy {doubt.policy} is not in force: {doubt.why}", _INSTALL)
    if not doubts:
        yield ok(f"all {len(names)} admission policies are as shipped, and bound")
    yield from _by_the_checker(facts.policy)


def _expected(facts: CheckFacts) -> Sequence[str]:
    """Those that there must be, and whatever else of ours there is."""
    there = facts.cluster.policies.value.keys() if isinstance(facts.cluster.policies, Present) else set()
    fencing = OF_SELF_FENCING if is_used(facts) else ()
    return sorted({*ALWAYS, *fencing, *(there & SHIPPED.keys())})


def _named(found: Seen[Mapping[str, T]], name: str) -> Seen[T]:
    if not isinstance(found, Present):
        return found
    return Present(found.value[name]) if name in found.value else Absent()


def _by_the_checker(policy: Seen[RemediationPolicy]) -> Iterator[Finding]:
    """What the checker tried. It sees, too, where policies are there and the API server does not ask them."""
    doubted = find(policy.value.status.conditions, ADMISSION_DOUBTED) if isinstance(policy, Present) else None
    if doubted is not None and doubted.status is not ConditionStatus.FALSE:
        yield fail(f"the checker holds everything: {doubted.message}")
