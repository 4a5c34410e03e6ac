"""Judges a Machine by a MachineHealthCheck, independent of the API in which the check was written.

The verdict follows from the Machine's own conditions, its node's conditions, and their ages. It is shown as
conditions on the Machine, for its owner and for users. The owner replaces a machine if the check failed *and*
the owner is requested to act. So a failed check is always reported, and the request is the action: it waits
for the guard, and is withdrawn while the owner has not begun.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, assert_never

from nodemend.api import condition_reasons
from nodemend.api.meta import ConditionStatus, LabelSelector
from nodemend.rules.node import (
    AskedFor,
    ConditionOwner,
    ConditionSeen,
    Finding,
    Healthy,
    Match,
    NeverStarted,
    NodeGone,
    NodeHealth,
    PhaseFailed,
    Suspect,
    Unhealthy,
    Unjudged,
    spell_finding,
)
from nodemend.rules.request import matches
from nodemend.safety import guard_holds, holds
from nodemend.safety.holds import Hold
from nodemend.safety.limits import LimitComparison, LimitSemantics

WAITING: Final = condition_reasons.WAITING_FOR_REMEDIATION
PASSED: Final = condition_reasons.HEALTH_CHECK_SUCCEEDED
NO_TEMPLATE: Final = condition_reasons.REMEDIATION_TEMPLATE_NOT_FOUND

NOT_BEGUN: Final = frozenset({WAITING, condition_reasons.REMEDIATION_DEFERRED})
"""With these reasons the owner has been requested to act, and has not begun."""

SILENT: Final = (
    guard_holds.DryRun,
    guard_holds.CheckDryRun,
    guard_holds.Paused,
    guard_holds.Excluded,
    guard_holds.RecentApiErrors,
    holds.CacheStale,
    holds.CannotRead,
)
"""Holds under which a verdict is not even written: no user wants it yet, or the data cannot be trusted."""

UNSURE: Final = (guard_holds.RecentApiErrors, holds.CacheStale, holds.CannotRead)
"""The silent holds that end without a user's action."""

BRAKES: Final = (
    guard_holds.DryRun,
    guard_holds.CheckDryRun,
    guard_holds.Paused,
    guard_holds.Excluded,
    guard_holds.InMaintenance,
    guard_holds.TooManyUnhealthy,
    guard_holds.TooFewUnhealthy,
    guard_holds.QuorumAtRisk,
)
"""Holds that withdraw a request which the owner has not begun to fulfil.

Other holds only stop new requests.
"""


@dataclass(frozen=True, slots=True)
class HealthCondition:
    """One condition.

    A different `message` alone, such as another condition with the same reason, is no change.
    """

    status: ConditionStatus
    reason: str
    message: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class HealthConditions:
    """HealthCheckSucceeded, OwnerRemediated and ExternallyRemediated; None if the condition is not set."""

    checked: HealthCondition | None = None
    owner: HealthCondition | None = None
    external: HealthCondition | None = None

    @property
    def asks_owner(self) -> bool:
        return self.owner is not None and self.owner.status is ConditionStatus.FALSE

    @property
    def not_begun(self) -> bool:
        """True if the owner is requested to act and has not begun."""
        return self.asks_owner and self.owner is not None and self.owner.reason in NOT_BEGUN


def health_condition(
    health: NodeHealth, held: Hold | None, shown: HealthCondition | None
) -> HealthCondition | None:
    """Return HealthCheckSucceeded. A suspect or unjudged machine keeps its last condition."""
    if held is not None and isinstance(held.reason, SILENT):
        return shown
    match health:
        case Healthy():
            return HealthCondition(ConditionStatus.TRUE, PASSED)
        case Unhealthy(finding, more):
            said = "; ".join(spell_finding(one) for one in (finding, *more))
            return HealthCondition(ConditionStatus.FALSE, reason_of(finding), f"Unhealthy: {said}.")
        case Suspect() | Unjudged():
            return shown
        case _:
            assert_never(health)


def ask_owner(shown: HealthConditions) -> HealthCondition | None:
    """Return OwnerRemediated as a request. The condition of an owner that has begun is left unchanged."""
    if shown.asks_owner:
        return shown.owner
    return HealthCondition(ConditionStatus.FALSE, WAITING)


def spare_owner(shown: HealthConditions) -> HealthCondition | None:
    """Return OwnerRemediated without the request, unless the owner has begun."""
    return None if shown.not_begun else shown.owner


def brakes(held: Hold | None) -> bool:
    return held is not None and isinstance(held.reason, BRAKES)


def reason_of(finding: Finding) -> str:
    """Return the condition reason, as Cluster API's own tools know it."""
    match finding:
        case Match(of=ConditionOwner.NODE):
            return condition_reasons.UNHEALTHY_NODE
        case Match():
            return condition_reasons.UNHEALTHY_MACHINE
        case NeverStarted():
            return condition_reasons.NODE_STARTUP_TIMEOUT
        case NodeGone():
            return condition_reasons.NODE_DELETED
        case AskedFor():
            return condition_reasons.HAS_REMEDIATE_ANNOTATION
        case PhaseFailed():
            return condition_reasons.MACHINE_FAILED
        case _:
            assert_never(finding)


@dataclass(frozen=True, slots=True)
class WatchedCondition:
    """A condition that makes a machine unhealthy once it has had this status for `seconds`."""

    type: str
    status: ConditionStatus
    seconds: float


@dataclass(frozen=True, slots=True)
class TemplateNamed:
    """The template of the remediations that a check creates, in the check's own namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class MachineRules:
    """The rules. `startup` is how long a machine may take to become a node; None if there is no limit."""

    cluster: str
    selector: LabelSelector
    of_node: tuple[WatchedCondition, ...]
    of_machine: tuple[WatchedCondition, ...]
    startup: float | None
    gate: LimitComparison | None
    reading: LimitSemantics
    template: TemplateNamed | None
    unread: tuple[str, ...] = ()
    """Settings of the check that Nodemend cannot interpret. While there are any, it starts nothing for the
    check."""

    def selects(self, cluster: str, labels: Mapping[str, str], *, all_without_demand: bool) -> bool:
        """Return whether the check selects a Machine of that cluster.

        `all_without_demand`: an empty selector selects all Machines; otherwise it selects no Machine.
        """
        if self.cluster and self.cluster != cluster:
            return False
        if not all_without_demand and not (self.selector.match_labels or self.selector.match_expressions):
            return False
        return matches(self.selector, labels)


@dataclass(frozen=True, slots=True)
class NodeFound:
    conditions: tuple[ConditionSeen, ...]


@dataclass(frozen=True, slots=True)
class NodeAwaited:
    """The machine names no node yet, and could have for this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NodeMissing:
    """The machine names a node that the API server does not have."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeUnseen:
    """Unknown: the node's cluster does not answer, or it is not certain that it is the right cluster."""

    why: str


NodeSeen = NodeFound | NodeAwaited | NodeMissing | NodeUnseen


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """A machine and its node. `asked_by` and `not_yet` are empty if they do not apply."""

    node: NodeSeen
    conditions: tuple[ConditionSeen, ...] = ()
    asked_by: str = ""
    """The annotation that requests its remediation."""
    asked_externally_for: float | None = None
    """Seconds for which this process has observed another annotation with such a request; None if it is
    not set."""
    not_yet: str = ""
    """The reason why its cluster is not ready for an evaluation."""
    failed: str | None = None
    """The message of its phase Failed; None if it is in another phase."""
    deleting: bool = False


def evaluate_machine_health(rules: MachineRules, machine: MachineFacts) -> NodeHealth:
    """Return the most severe verdict; findings of the machine itself come before those of its node."""
    if machine.deleting:
        return Unjudged("it is being deleted")
    if machine.asked_by:
        return Unhealthy(AskedFor(machine.asked_by))
    if machine.not_yet:
        return Unjudged(machine.not_yet)
    if isinstance(machine.node, NodeUnseen):
        return Unjudged(machine.node.why)
    findings = list(_findings(rules, machine))
    over = [finding for finding in findings if finding.remaining == 0]
    if over:
        return Unhealthy(over[0], tuple(over[1:]))
    if findings:
        return Suspect(min(findings, key=lambda finding: finding.remaining))
    return _unblemished(machine.node)


def _findings(rules: MachineRules, machine: MachineFacts) -> Iterator[Finding]:
    if machine.failed is not None:
        yield PhaseFailed(machine.failed)
    yield from _met(rules.of_machine, machine.conditions, ConditionOwner.MACHINE)
    match machine.node:
        case NodeMissing(node):
            yield NodeGone(node)
        case NodeAwaited(seconds) if rules.startup is not None:
            yield NeverStarted(seconds, rules.startup)
        case NodeFound(conditions):
            yield from _met(rules.of_node, conditions, ConditionOwner.NODE)
        case NodeAwaited() | NodeUnseen():
            pass
        case _:
            assert_never(machine.node)


def _met(
    watched: Sequence[WatchedCondition], conditions: Iterable[ConditionSeen], of: ConditionOwner
) -> Iterator[Match]:
    seen = {condition.type: condition for condition in conditions}
    for one in watched:
        shown = seen.get(one.type)
        if shown is not None and shown.status is one.status:
            yield Match(one.type, one.status, shown.seen_for, one.seconds, of, shown.reason)


def _unblemished(node: NodeSeen) -> NodeHealth:
    match node:
        case NodeFound(conditions):
            ready = next((one for one in conditions if one.type == "Ready"), None)
            return Healthy(ready.seen_for if ready and ready.status is ConditionStatus.TRUE else None)
        case NodeAwaited():
            return Unjudged("it has no node yet, and the check sets no limit for that")
        case NodeMissing() | NodeUnseen():
            # NodeMissing is a finding and NodeUnseen a verdict, both handled above.
            raise ValueError(f"{node} is no unblemished machine's")
        case _:
            assert_never(node)
