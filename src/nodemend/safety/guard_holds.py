"""Hold reasons of the guard: settings of users, the state of the cluster, and other remediations."""

from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.safety.holds import Explanation, HoldReason, spell_count


@dataclass(frozen=True, slots=True)
class DryRun(HoldReason):
    """The RemediationPolicy is missing, or its mode is DryRun."""

    reason: ClassVar[str] = "DryRun"
    policy_exists: bool
    would: str = ""
    """The action without dry run, and the guard's decision on it; empty if that was not evaluated."""

    def explain(self) -> Explanation:
        said = "The RemediationPolicy sets DryRun" if self.policy_exists else "There is no RemediationPolicy"
        sentence = f"{said}, so Nodemend only reports what it would do.{_after(self.would)}"
        next_step = (
            "Set its mode to Act to remediate."
            if self.policy_exists
            else "Create one with mode Act to remediate."
        )
        return Explanation(sentence, next_step)


@dataclass(frozen=True, slots=True)
class CheckDryRun(HoldReason):
    """The check sets dryRun for its targets."""

    reason: ClassVar[str] = "CheckDryRun"
    check: str
    would: str = ""
    """As in DryRun."""

    def explain(self) -> Explanation:
        return Explanation(
            f"The check {self.check} sets dryRun, so Nodemend only reports what it would do."
            f"{_after(self.would)}",
            "Remove dryRun from the check to remediate.",
        )


@dataclass(frozen=True, slots=True)
class Paused(HoldReason):
    """The check or the whole cluster is paused.

    `check` is empty if the whole cluster is paused. `unpause` says how to end the pause; if it is empty,
    `kubectl mend resume` ends it.
    """

    reason: ClassVar[str] = "Paused"
    by: str
    why: str
    check: str = ""
    unpause: str = ""

    def explain(self) -> Explanation:
        what = f"The check {self.check} is paused" if self.check else "Paused"
        resume = f"kubectl mend resume --check {self.check}" if self.check else "kubectl mend resume"
        ended = f"{self.unpause} to end the pause." if self.unpause else f"`{resume}` ends the pause."
        return Explanation(f"{what} by {self.by or 'an unknown user'}: {self.why}.", ended)


@dataclass(frozen=True, slots=True)
class TooManyAtOnce(HoldReason):
    """Too many other targets are under remediation.

    `domain` is empty if the limit is for the whole cluster. `setting` is the field of the RemediationPolicy
    that sets the limit.
    """

    reason: ClassVar[str] = "TooManyAtOnce"
    others: int
    limit: int
    domain: str = ""
    setting: str = "maxConcurrent"

    def explain(self) -> Explanation:
        where = f" in domain {self.domain}" if self.domain else ""
        count = spell_count(self.others, "node or Machine is", "nodes or Machines are")
        raised = "are raised" if " and " in self.setting else "is raised"
        return Explanation(
            f"{count} already under remediation{where}; the limit is {self.limit}.",
            f"Nodemend continues when fewer are under remediation, or when {self.setting} {raised}.",
        )


@dataclass(frozen=True, slots=True)
class TooManyUnhealthy(HoldReason):
    """So many targets are unhealthy that a common cause is more likely than failures of single nodes.

    `max_allowed` is the largest unhealthy count that the limit allows.
    """

    reason: ClassVar[str] = "TooManyUnhealthy"
    scope: str
    unhealthy: int
    total: int
    limit: str
    max_allowed: int

    def explain(self) -> Explanation:
        return Explanation(
            f"Too many targets are unhealthy in {self.scope}: {self.unhealthy} of {self.total}; with the "
            f"limit {self.limit} the guard closes at {max(self.max_allowed, 0) + 1}.",
            f"Nodemend continues when at most {spell_count(self.max_allowed, 'target is', 'targets are')} "
            "unhealthy, or when maxUnhealthy is raised."
            if self.max_allowed > 0
            else "With this limit nothing is ever remediated: raise maxUnhealthy.",
        )


@dataclass(frozen=True, slots=True)
class TooFewUnhealthy(HoldReason):
    """The check acts only if at least `least` targets are unhealthy."""

    reason: ClassVar[str] = "TooFewUnhealthy"
    scope: str
    unhealthy: int
    least: int

    def explain(self) -> Explanation:
        return Explanation(
            f"Only {spell_count(self.unhealthy, 'target is', 'targets are')} unhealthy in {self.scope}; the "
            f"check acts only if at least {self.least} are.",
            "Nodemend continues when more targets are unhealthy, or when the range is widened.",
        )


@dataclass(frozen=True, slots=True)
class CoolingDown(HoldReason):
    """A storm ended less than the cooldown ago. `remaining` is in seconds."""

    reason: ClassVar[str] = "CoolingDown"
    remaining: float

    def explain(self) -> Explanation:
        return Explanation(
            "A storm has just ended, and the cooldown after it is not over.",
            f"Nodemend continues in {self.remaining:.0f} s if no other storm begins.",
        )


@dataclass(frozen=True, slots=True)
class StartInterval(HoldReason):
    """The previous remediation started less than the start interval ago. `remaining` is in seconds."""

    reason: ClassVar[str] = "StartInterval"
    remaining: float

    def explain(self) -> Explanation:
        return Explanation(
            "Another remediation has only just started.", f"Nodemend continues in {self.remaining:.0f} s."
        )


@dataclass(frozen=True, slots=True)
class ControlPlaneBusy(HoldReason):
    """Another control-plane node is under remediation. Only one may be at a time."""

    reason: ClassVar[str] = "ControlPlaneBusy"
    other: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The control-plane node {self.other} is under remediation, and only one may be at a time.",
            "Nodemend continues when that node is back.",
        )


@dataclass(frozen=True, slots=True)
class QuorumAtRisk(HoldReason):
    """Without this node, fewer than a majority of the control-plane nodes would be Ready."""

    reason: ClassVar[str] = "QuorumAtRisk"
    others_ready: int
    total: int

    def explain(self) -> Explanation:
        return Explanation(
            f"Without this node {self.others_ready} of {self.total} control-plane nodes would be Ready, "
            "which is not a majority.",
            "Nodemend continues when more of the others are Ready.",
        )


@dataclass(frozen=True, slots=True)
class Excluded(HoldReason):
    """A label or an annotation excludes this target from remediation."""

    reason: ClassVar[str] = "Excluded"
    by: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node is excluded from remediation: it has {self.by}.",
            f"Remove {self.by} from it to have it remediated.",
        )


@dataclass(frozen=True, slots=True)
class InMaintenance(HoldReason):
    """The node reports that it is under maintenance."""

    reason: ClassVar[str] = "InMaintenance"
    by: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The node is in maintenance: {self.by}.", "Nodemend continues when the maintenance has ended."
        )


@dataclass(frozen=True, slots=True)
class RecentApiErrors(HoldReason):
    """Requests to the API server failed recently, so nodes may only appear unhealthy.

    `error_free_for` is the time without errors, `needed` the time that is required, both in seconds.
    """

    reason: ClassVar[str] = "RecentApiErrors"
    error_free_for: float
    needed: float

    def explain(self) -> Explanation:
        return Explanation(
            "Requests to the API server failed just now, so healthy nodes may have appeared unhealthy.",
            f"Nodemend continues in {self.needed - self.error_free_for:.0f} s if no request fails in "
            "between.",
        )


@dataclass(frozen=True, slots=True)
class OtherRemediation(HoldReason):
    """Another remediation or operator is active on this node."""

    reason: ClassVar[str] = "OtherRemediation"
    holder: str

    def explain(self) -> Explanation:
        return Explanation(
            f"{self.holder} is active on this node.", "Nodemend continues when that one has ended."
        )


@dataclass(frozen=True, slots=True)
class UnsupportedSetting(HoldReason):
    """The check has a setting that cannot be interpreted. It may mean that nothing must be done."""

    reason: ClassVar[str] = "UnsupportedSetting"
    check: str
    what: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The check {self.check} has a setting that Nodemend cannot interpret: {self.what}.",
            "Correct it.",
        )


@dataclass(frozen=True, slots=True)
class NodeHealthy(HoldReason):
    """The Node is Ready, its kubelet renews its Lease, and no check finds it unhealthy."""

    reason: ClassVar[str] = "NodeHealthy"
    node: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Node {self.node} is Ready, its kubelet renews its Lease, and no check finds it unhealthy.",
            "Nothing is powered off. Delete this remediation, and correct what created it.",
        )


@dataclass(frozen=True, slots=True)
class NotReadyBriefly(HoldReason):
    """The remediator has not observed the node not Ready for long enough to act on another project's request.

    Both values are in seconds.
    """

    reason: ClassVar[str] = "NotReadyBriefly"
    seen_for: float
    needed: float

    def explain(self) -> Explanation:
        return Explanation(
            f"The node has been observed not Ready for {self.seen_for:.0f} s of the {self.needed:.0f} s "
            "needed.",
            "Nodemend continues if the node stays not Ready.",
        )


@dataclass(frozen=True, slots=True)
class PolicyNotInForce(HoldReason):
    """An admission policy that the safety argument needs does not refuse what it must refuse."""

    reason: ClassVar[str] = "PolicyNotInForce"
    policy: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The admission policy {self.policy} is not in force: {self.why}. Writes that it must refuse may "
            "have been made.",
            "Reinstall Nodemend as it is shipped, and run `kubectl mend check`; the API server needs"
            " its admission plugin ValidatingAdmissionPolicy.",
        )


@dataclass(frozen=True, slots=True)
class PolicyNotProven(HoldReason):
    """It is unknown whether the admission policy is in force."""

    reason: ClassVar[str] = "PolicyNotProven"
    policy: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"It is not known whether the admission policy {self.policy} is in force: {self.why}.",
            "Nodemend tests it again every minute; `kubectl mend check` tests it, too.",
        )


def _after(sentence: str) -> str:
    return f" {sentence}" if sentence else ""


OVERRIDABLE: Final = (TooManyUnhealthy, TooFewUnhealthy, CoolingDown, TooManyAtOnce, StartInterval)
"""Guard reasons that an order may override: counts of unhealthy or active targets, and their pace. Never
settings of users, data that cannot be read, the quorum of the control plane, or another operator's work."""


PolicyProblem = PolicyNotInForce | PolicyNotProven
