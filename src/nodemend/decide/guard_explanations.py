"""Every hold of the guard in words."""

from typing import assert_never

from nodemend.decide.explanation import Explanation, spell_count
from nodemend.decide.guard_holds import (
    AnnotationServed,
    ApiUnsettled,
    CheckDryRun,
    ControlPlaneBusy,
    DryRun,
    Excluded,
    GuardHold,
    InMaintenance,
    NobodyActs,
    NodeWell,
    NotReadyBriefly,
    NotUnderstood,
    OrderVoid,
    OtherRemediation,
    Pacing,
    Paused,
    PolicyNotInForce,
    PolicyNotProven,
    QuorumAtRisk,
    RemediesExhausted,
    Settling,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
    Unserved,
)


def explain_guard(reason: GuardHold) -> Explanation:
    match reason:
        case DryRun() | CheckDryRun() | Paused() | Excluded() | InMaintenance() | OrderVoid():
            return _explain_wish(reason)
        case TooManyUnhealthy() | TooFewUnhealthy() | Settling() | ApiUnsettled():
            return _explain_storm(reason)
        case (
            TooManyAtOnce()
            | Pacing()
            | ControlPlaneBusy()
            | QuorumAtRisk()
            | OtherRemediation()
            | RemediesExhausted()
        ):
            return _explain_others(reason)
        case NobodyActs() | NotUnderstood():
            return _explain_check(reason)
        case Unserved(holder):
            return Explanation(
                f"Nobody serves {holder}: it was asked for, and nothing has begun.",
                "Switch its kind on in the chart (powerCycle.enabled, selfFencing.enabled), see that the"
                " remediator runs, or name another remedy in the check.",
            )
        case NodeWell(node):
            return Explanation(
                f"Node {node} is Ready, its kubelet renews its Lease, and no check finds it unhealthy.",
                "Nothing is switched off. Delete this remediation, and correct what created it.",
            )
        case NotReadyBriefly(seen_for, needed):
            return Explanation(
                f"The node has been seen not Ready for {seen_for:.0f} s of the {needed:.0f} s needed.",
                "It goes on when the node stays so.",
            )
        case PolicyNotInForce() | PolicyNotProven():
            return _explain_admission(reason)
        case AnnotationServed(by):
            return Explanation(
                f"Another controller acts upon the annotation that asks for it: {by}.",
                "Let one of the two serve it: stop that one, or switch this off here.",
            )
        case _:
            assert_never(reason)


def _after(sentence: str) -> str:
    return f" {sentence}" if sentence else ""


def _explain_wish(
    reason: DryRun | CheckDryRun | Paused | Excluded | InMaintenance | OrderVoid,
) -> Explanation:
    """What somebody has asked for."""
    match reason:
        case DryRun(policy_exists, would):
            said = "The RemediationPolicy says DryRun" if policy_exists else "There is no RemediationPolicy"
            told = f"{said}: nothing is done, only told.{_after(would)}"
            way = (
                "Set its mode to Act to remediate."
                if policy_exists
                else "Create one with mode Act to remediate."
            )
            return Explanation(told, way)
        case CheckDryRun(check, would):
            return Explanation(
                f"The check {check} says dryRun: nothing is done, only told.{_after(would)}",
                "Take dryRun off the check to remediate.",
            )
        case Paused(by, why, check, unpause):
            what = f"The check {check} is paused" if check else "Paused"
            resume = f"kubectl mend resume --check {check}" if check else "kubectl mend resume"
            ended = f"{unpause} to end the pause." if unpause else f"`{resume}` ends the pause."
            return Explanation(f"{what} by {by or 'somebody'}: {why}.", ended)
        case Excluded(by):
            return Explanation(
                f"The node is to be left alone: it has {by}.", f"Take {by} off it to have it remediated."
            )
        case InMaintenance(by):
            return Explanation(
                f"The node is in maintenance: {by}.", "It goes on when the maintenance has ended."
            )
        case OrderVoid(by, why):
            return Explanation(
                f"The order of {by} counts no longer: {why}.",
                "`kubectl mend run NODE --reason ...` orders it anew.",
            )
        case _:
            assert_never(reason)


def _explain_admission(reason: PolicyNotInForce | PolicyNotProven) -> Explanation:
    match reason:
        case PolicyNotInForce(policy, why):
            return Explanation(
                f"The admission policy {policy} is not in force: {why}. What it forbids may have been done.",
                "Install Nodemend again as it is shipped, and see `kubectl mend check`; the API server needs"
                " its admission plugin ValidatingAdmissionPolicy.",
            )
        case PolicyNotProven(policy, why):
            return Explanation(
                f"It is not known whether the admission policy {policy} is in force: {why}.",
                "It is tried again every minute; `kubectl mend check` looks too.",
            )
        case _:
            assert_never(reason)


def _explain_check(reason: NobodyActs | NotUnderstood) -> Explanation:
    """What the check itself lacks."""
    match reason:
        case NobodyActs(why):
            return Explanation(
                f"Nobody would act on it: {why}.",
                "Give its check a remediation template, or let machines be deleted in the RemediationPolicy.",
            )
        case NotUnderstood(check, what):
            return Explanation(f"The check {check} says what nobody can follow: {what}.", "Correct it.")
        case _:
            assert_never(reason)


def _explain_storm(reason: TooManyUnhealthy | TooFewUnhealthy | Settling | ApiUnsettled) -> Explanation:
    match reason:
        case TooManyUnhealthy(scope, unhealthy, total, limit, room):
            return Explanation(
                f"Too many are unhealthy in {scope}: {unhealthy} of {total}, and the limit is {limit}.",
                f"It goes on when at most {room} are, or when maxUnhealthy is raised."
                if room
                else "With this limit nothing is ever remediated: raise maxUnhealthy.",
            )
        case TooFewUnhealthy(scope, unhealthy, least):
            return Explanation(
                f"Only {unhealthy} are unhealthy in {scope}, and it acts when at least {least} are.",
                "It goes on when more are, or when the range is widened.",
            )
        case Settling(remaining):
            return Explanation(
                "A storm has just ended, and what it leaves is judged anew.",
                f"It goes on in {remaining:.0f} s if no other begins.",
            )
        case ApiUnsettled(calm_for, needed):
            return Explanation(
                "The API server failed us just now: nodes may only have looked sick.",
                f"It goes on in {needed - calm_for:.0f} s if it answers all the time.",
            )
        case _:
            assert_never(reason)


def _explain_others(
    reason: TooManyAtOnce | Pacing | ControlPlaneBusy | QuorumAtRisk | OtherRemediation | RemediesExhausted,
) -> Explanation:
    """What is under way already."""
    match reason:
        case TooManyAtOnce(others, limit, domain, setting):
            where = f" in {domain}" if domain else ""
            return Explanation(
                f"Other nodes under remediation{where}: {others}, and the limit is {limit}.",
                f"It goes on when one of them is done, or when {setting} is raised.",
            )
        case Pacing(remaining):
            return Explanation(
                "Another remediation has only just begun.", f"It goes on in {remaining:.0f} s."
            )
        case ControlPlaneBusy(other):
            return Explanation(
                f"The control-plane node {other} is under remediation, and there is one at a time.",
                "It goes on when that one is back.",
            )
        case QuorumAtRisk(others_ready, total):
            return Explanation(
                f"Without it {others_ready} of {total} control-plane nodes would be Ready, no majority.",
                "It goes on when more of the others are Ready.",
            )
        case OtherRemediation(holder):
            return Explanation(f"{holder} is at work on this node.", "It goes on when that one has ended.")
        case RemediesExhausted(tried):
            return Explanation(
                f"{spell_count(tried, 'remedy was', 'remedies were')} tried, and it is still unhealthy.",
                "Repair it by hand; the case is closed when it is healthy.",
            )
        case _:
            assert_never(reason)
