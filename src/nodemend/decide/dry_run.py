"""What would be done for a target if nothing were a dry run, and what the guard would say to that."""

from dataclasses import dataclass, replace

from nodemend.api.remediation_policy import Mode
from nodemend.decide.facts import PolicyFacts, Present
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.guard_holds import ApiUnsettled, CheckDryRun, DryRun, Pacing, Settling
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.storm_guard import Go, guard


@dataclass(frozen=True, slots=True)
class Wish:
    """`what` a check would do, and what is `in_the_way` of it whatever the guard says; else empty."""

    what: str
    in_the_way: str = ""


def tell_dry_run(
    facts: GuardFacts,
    guarded: Go | Hold,
    wish: Wish,
    default: PolicyFacts,
    passing: tuple[type[HoldReason], ...] = (),
) -> Go | Hold:
    """The same answer. If it is a dry run, it says what would be done: `wish`, and the guard's answer to it.

    Where there is no policy, one with nothing but defaults is asked.
    """
    if not isinstance(guarded, Hold) or not isinstance(guarded.reason, DryRun | CheckDryRun):
        return guarded
    if wish.in_the_way:
        return Hold(replace(guarded.reason, would=f"It could do nothing: {wish.in_the_way}."))
    policy = facts.policy.value if isinstance(facts.policy, Present) else default
    acting = replace(
        facts,
        policy=Present(replace(policy, mode=Mode.ACT)),
        check=replace(facts.check, dry_run=False),
    )
    would = f"It would {wish.what}; the guard {_spell(guard(acting, passing))}"
    return Hold(replace(guarded.reason, would=would))


def _spell(answer: Go | Hold) -> str:
    if isinstance(answer, Go):
        return "would let it begin."
    reason = answer.reason
    # A countdown would be out of date as soon as it is written.
    lasting = not isinstance(reason, Settling | Pacing | ApiUnsettled)
    said = explain(reason).sentence if lasting else f"{type(reason).__name__}."
    return f"would hold it: {said}"
