"""Decides what a health check requests for one target: a remediation, the next remedy, a recovery or nothing.

A user's order to remediate one node now replaces only the wait for a threshold; guard, preflight and creation
are the same as for every other remediation. An order to pass the guard overrides only reasons about counts
and time.

A recovery is the step after the last remedy: when a node is healthy again, it powers the node's host back on.
It is a single remedy that starts when a node is healthy. The pending recovery is recorded before the
remediation is deleted, and its outcome before the recovery object is deleted, so a new leader always finds
one of the two.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, assert_never

from nodemend.api.meta import LabelSelector, Operator, Requirement
from nodemend.api.node_health_check import RecoveryPhase
from nodemend.api.remediation_policy import Mode
from nodemend.rules.node import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import Allowed, GuardFacts, guard
from nodemend.safety.guard_holds import (
    OVERRIDABLE,
    CheckDryRun,
    ControlPlaneBusy,
    CoolingDown,
    DryRun,
    OtherRemediation,
    QuorumAtRisk,
    RecentApiErrors,
    StartInterval,
)
from nodemend.safety.holds import CannotRead, Explanation, Hold, HoldReason, spell_count


@dataclass(frozen=True, slots=True)
class CreationRefused(HoldReason):
    """The API server refuses a create: a permission is missing, or a template is wrong."""

    reason: ClassVar[str] = "CreationRefused"
    what: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The API server refuses a {self.what}: {self.why}.",
            "Grant the checker the permission to create it, or correct its template.",
        )


@dataclass(frozen=True, slots=True)
class RemediesExhausted(HoldReason):
    """Every remedy of the check was tried. The remediation of the last one stays."""

    reason: ClassVar[str] = "RemediesExhausted"
    tried: int

    def explain(self) -> Explanation:
        return Explanation(
            f"{spell_count(self.tried, 'remedy was', 'remedies were')} tried, and the node is still "
            "unhealthy.",
            "Repair the node by hand; the remediation ends when the node is healthy.",
        )


@dataclass(frozen=True, slots=True)
class OrderInvalid(HoldReason):
    """The RemediationOrder that requested this is no longer valid."""

    reason: ClassVar[str] = "OrderInvalid"
    by: str
    why: str

    def explain(self) -> Explanation:
        return Explanation(
            f"The order of {self.by} is no longer valid: {self.why}.",
            "`kubectl mend run NODE --reason ...` creates a new order.",
        )


@dataclass(frozen=True, slots=True)
class Unserved(HoldReason):
    """No controller has started the remediation.

    Its kind is switched off, or the controller for it is not running.
    """

    reason: ClassVar[str] = "Unserved"
    holder: str

    def explain(self) -> Explanation:
        return Explanation(
            f"No controller has started {self.holder}.",
            "Enable its kind in the chart (powerCycle.enabled, selfFencing.enabled), make sure that the"
            " remediator runs, or name another remedy in the check.",
        )


@dataclass(frozen=True, slots=True)
class RemedyAttempt:
    """The current remedy: its index in the escalation, its run time, and whether it reports failure."""

    index: int
    seconds: float
    failed: bool


FIRST: Final = 300.0
"""Seconds until the event of a hold is repeated for the first time. Every hold has one when it begins."""
LONGEST: Final = 2700.0
"""Less than the hour for which an API server keeps an event, so a lasting hold always has one."""


@dataclass(frozen=True, slots=True)
class LastingHold:
    """A lasting hold: its start, its last event, and the interval to the next.

    Times are on this process's clock.
    """

    since: float
    reported_at: float
    interval: float = FIRST

    def due_in(self, now: float) -> float:
        return max(0.0, self.reported_at + self.interval - now)


def remind(before: LastingHold | None, *, held: bool, now: float) -> tuple[LastingHold | None, float | None]:
    """Return the state to remember, and if a reminder is due, for how many seconds the hold has lasted.

    A hold that ends is forgotten.
    """
    if not held:
        return None, None
    known = before or LastingHold(since=now, reported_at=now)
    if known.due_in(now) > 0:
        return known, None
    return LastingHold(known.since, now, min(2 * known.interval, LONGEST)), now - known.since


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    # A loop instead of a generator, for speed: it runs for every node and every check.
    for key, value in selector.match_labels.items():
        if labels.get(key) != value:
            return False
    return all(_meets(demand, labels) for demand in selector.match_expressions)


def _meets(demand: Requirement, labels: Mapping[str, str]) -> bool:
    match demand.operator:
        case Operator.IN:
            return labels.get(demand.key) in demand.values
        case Operator.NOT_IN:
            return labels.get(demand.key) not in demand.values
        case Operator.EXISTS:
            return demand.key in labels
        case Operator.DOES_NOT_EXIST:
            return demand.key not in labels
        case _:
            assert_never(demand.operator)


UNSERVED_AFTER: Final = 120.0
"""Seconds after which a remediation of Nodemend's kinds that no controller has started counts as unserved."""


@dataclass(frozen=True, slots=True)
class ExistingRemediation:
    """The remediation that exists for a target."""

    holder: str
    ours: bool
    ending: bool
    # A workload was released, or may have been: only the remediator knows when it is over.
    committed: bool
    finished: bool
    trying: RemedyAttempt
    # The UID of the user's order that it came from; empty if the check created it without an order.
    order: str = ""
    # The controller of its kind has not started it: nothing has been done.
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    request: ClassVar[str] = "Create"


@dataclass(frozen=True, slots=True)
class DeleteRemediation:
    request: ClassVar[str] = "DeleteRemediation"


@dataclass(frozen=True, slots=True)
class NoAction:
    """No action; evaluate again after `again_in` seconds, or when something changes."""

    again_in: float | None = None


@dataclass(frozen=True, slots=True)
class Escalate:
    """Delete this remedy. The next one starts when it is gone, never in parallel."""

    request: ClassVar[str] = "Escalate"
    to: int


Request = Create | DeleteRemediation | Escalate | NoAction | Hold


@dataclass(frozen=True, slots=True)
class RemedyPolicy:
    """The check's settings for its remedies: the timeout of each, and how long a node must be healthy."""

    timeouts: tuple[float | None, ...]
    healthy_delay: float


def decide(
    health: NodeHealth,
    existing: ExistingRemediation | None,
    guarded: Allowed | Hold,
    remedy_policy: RemedyPolicy,
    *,
    ordered: bool = False,
) -> Request:
    """Return the request. `ordered`: a user requests remediation now with a valid order."""
    if existing is None:
        return _without(health, guarded, ordered=ordered)
    if not existing.ours:
        return _without(health, Hold(OtherRemediation(existing.holder)), ordered=ordered)
    if existing.ending:
        return NoAction()
    return _with(health, existing, remedy_policy)


def decide_one_remedy(
    health: NodeHealth, existing: ExistingRemediation | None, guarded: Allowed | Hold, healthy_delay: float
) -> Create | DeleteRemediation | NoAction | Hold:
    """Return the request of a check that has one remedy, without a timeout."""
    request = decide(health, existing, guarded, RemedyPolicy((None,), healthy_delay))
    if isinstance(request, Escalate):
        raise TypeError("a check with one remedy cannot escalate")
    return request


def decide_orphan(existing: ExistingRemediation) -> DeleteRemediation | NoAction:
    """Return the request for a remediation that no check selects any longer.

    It is deleted, unless only its remediator knows when it is over.
    """
    if existing.ending or (existing.committed and not existing.finished):
        return NoAction()
    return DeleteRemediation()


def _without(health: NodeHealth, guarded: Allowed | Hold, *, ordered: bool) -> Request:
    if ordered:
        return guarded if isinstance(guarded, Hold) else Create()
    match health:
        case Unhealthy():
            return guarded if isinstance(guarded, Hold) else Create()
        case Suspect(match):
            return NoAction(match.remaining)
        case Healthy() | Unjudged():
            return NoAction()


def _with(health: NodeHealth, existing: ExistingRemediation, remedy_policy: RemedyPolicy) -> Request:
    """Return the request while a remediation exists.

    Clean-up is never held: a closed guard stops only new work.
    """
    if existing.committed and not existing.finished:
        return NoAction()
    match health:
        case Healthy(ready_for) if ready_for is not None:
            missing = remedy_policy.healthy_delay - ready_for
            return DeleteRemediation() if missing <= 0 else NoAction(missing)
        case Unhealthy() if existing.finished:
            # It healed one boot; what fails now is the next, and needs a separate remediation.
            return DeleteRemediation()
        case Unhealthy():
            request = next_remedy(remedy_policy.timeouts, existing.trying)
            if isinstance(request, NoAction) and existing.untouched:
                return _await_service(existing, request.again_in)
            return request
        case Healthy() | Unjudged():
            return NoAction()
        case Suspect(match):
            return NoAction(match.remaining)


def _await_service(existing: ExistingRemediation, again_in: float | None) -> NoAction | Hold:
    """Keep an unserved remediation: its controller may be about to start it, and has its own timeout."""
    missing = UNSERVED_AFTER - existing.trying.seconds
    if missing <= 0:
        return Hold(Unserved(existing.holder))
    return NoAction(missing if again_in is None else min(missing, again_in))


def next_remedy(timeouts: Sequence[float | None], trying: RemedyAttempt) -> NoAction | Escalate | Hold:
    """Return whether to keep the current remedy, escalate to the next, or stop after the last.

    `timeouts` has one entry per remedy, in order of escalation; None for a remedy without a time limit.
    """
    limit = timeouts[trying.index]
    if not trying.failed and (limit is None or trying.seconds < limit):
        return NoAction(None if limit is None else limit - trying.seconds)
    following = trying.index + 1
    return Escalate(following) if following < len(timeouts) else Hold(RemediesExhausted(len(timeouts)))


PASSES: Final = (*OVERRIDABLE, ControlPlaneBusy, QuorumAtRisk)
"""Guard reasons that do not hold a recovery: it removes no capacity, and it helps to end a storm. Pauses
and other settings of users, data that cannot be read and other controllers' work hold a recovery like
everything else."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """The object that recovers a node."""

    ending: bool
    succeeded: bool
    trying: RemedyAttempt


@dataclass(frozen=True, slots=True)
class RecoveryFacts:
    """The recorded phase of a node's recovery, and its existing object."""

    written: RecoveryPhase | None
    there: Recovering | None
    timeout: float
    missing: float | None
    """Seconds for which the node must still stay healthy; None if it is not healthy now."""
    remediating: bool = False
    """True if a remediation of the node exists, even if it is being deleted."""


@dataclass(frozen=True, slots=True)
class MarkRecoveryPending:
    """Record first that a recovery is pending."""


@dataclass(frozen=True, slots=True)
class CreateRecovery:
    """Create the recovery object."""


@dataclass(frozen=True, slots=True)
class DeleteRecovery:
    """Delete the recovery object: it is done, or a remediation is about to start and must run alone."""


Step = MarkRecoveryPending | CreateRecovery | DeleteRecovery


def progress(
    written: RecoveryPhase | None, there: Recovering | None, timeout: float, *, owing: bool
) -> RecoveryPhase | None:
    """Return the recovery phase to record next; None if no phase is recorded any longer.

    `owing`: another step waits until it is recorded as pending.
    A failed or overdue recovery keeps its phase until it succeeds: an alarm does not clear by itself.
    """
    if written is RecoveryPhase.SUCCEEDED:
        return None if there is None else written
    if owing:
        return RecoveryPhase.PENDING
    if there is None:
        return written if written is RecoveryPhase.PENDING else None
    if there.ending:
        return written
    if there.succeeded:
        return RecoveryPhase.SUCCEEDED
    if there.trying.failed:
        return RecoveryPhase.FAILED
    if written in (RecoveryPhase.FAILED, RecoveryPhase.OVERDUE):
        return written
    in_time = isinstance(next_remedy((timeout,), there.trying), NoAction)
    return RecoveryPhase.RUNNING if in_time else RecoveryPhase.OVERDUE


def decide_recovery(wanted: Request, facts: RecoveryFacts) -> Request | Step:
    """Return the next step. `wanted` is what the check requests for the node apart from the recovery."""
    if facts.there is not None:
        return _beside(wanted, facts, facts.there)
    pending = facts.written is RecoveryPhase.PENDING
    if facts.missing is None:
        return wanted
    if isinstance(wanted, DeleteRemediation):
        return wanted if pending else MarkRecoveryPending()
    if facts.remediating or not pending or wanted != NoAction():
        return wanted
    return CreateRecovery() if facts.missing <= 0 else NoAction(facts.missing)


def _beside(wanted: Request, facts: RecoveryFacts, there: Recovering) -> Request | Step:
    """Return the next step while a recovery object exists: a remediation never starts beside it.

    Actions that the recovery has begun end at their own safe point: its object is deleted when its controller
    removes the finalizer, and the recovery is pending until the node is healthy again.
    """
    if there.ending:
        return NoAction() if isinstance(wanted, Create) else wanted
    if facts.written is RecoveryPhase.SUCCEEDED:
        return DeleteRecovery()
    if isinstance(wanted, Create):
        return DeleteRecovery() if facts.written is RecoveryPhase.PENDING else MarkRecoveryPending()
    if wanted == NoAction() and isinstance(stay := next_remedy((facts.timeout,), there.trying), NoAction):
        return stay
    return wanted


def still_missing(health: NodeHealth, healthy_delay: float) -> float | None:
    if isinstance(health, Healthy) and health.ready_for is not None:
        return max(0.0, healthy_delay - health.ready_for)
    return None


def spell_phase(phase: RecoveryPhase, what: str, held: str = "") -> str:
    """Describe a phase to a user. `what` is the recovery object, `held` the reason why it does not start."""
    by_hand = f"Power on manually what is still off, then delete the {what}."
    match phase:
        case RecoveryPhase.PENDING:
            return held or "It starts when the remediation is gone and the node is healthy."
        case RecoveryPhase.RUNNING:
            return f"The {what} is under way."
        case RecoveryPhase.SUCCEEDED:
            return f"The {what} has succeeded, and is deleted."
        case RecoveryPhase.FAILED:
            return f"The {what} reports that it has failed. {by_hand}"
        case RecoveryPhase.OVERDUE:
            return f"The {what} has not ended in its time. {by_hand}"
        case _:
            assert_never(phase)


GOOD_FOR: Final = 900.0
"""Seconds. An older order is not valid: its author no longer watches, and the cluster may have changed."""


@dataclass(frozen=True, slots=True)
class Order:
    """The order as stored in the API server. `age` is the larger of its clock's value and this process's."""

    uid: str
    node_uid: str
    by: str
    reason: str
    past_guard: bool
    age: float


@dataclass(frozen=True, slots=True)
class OrderValid:
    """The order is valid now."""


@dataclass(frozen=True, slots=True)
class OrderConsumed:
    """The remediation that it requested exists."""


@dataclass(frozen=True, slots=True)
class OrderExpired:
    """The order ends unused. `why` completes a sentence that begins with the order's author."""

    why: str


def evaluate_order(
    order: Order, node_uid: str, health: NodeHealth, existing: ExistingRemediation | None
) -> OrderValid | OrderConsumed | OrderExpired:
    """Return the state of the order.

    `existing` is the node's remediation, `health` the verdict of its check.
    """
    if existing is not None and existing.ours and not existing.ending:
        return (
            OrderConsumed()
            if existing.order == order.uid
            else OrderExpired("the node is under remediation already")
        )
    if order.node_uid != node_uid:
        return OrderExpired("it is for another Node, which had this name before")
    if order.age > GOOD_FOR:
        return OrderExpired(expired(order.age))
    if is_well(health):
        return OrderExpired(
            "the node is Ready and its check finds nothing wrong: a remediation would end at once"
        )
    return OrderValid()


def is_well(health: NodeHealth) -> bool:
    """Return whether the node is Ready and meets no threshold: its remediation would be deleted at once."""
    return isinstance(health, Healthy) and health.ready_for is not None


def expired(age: float) -> str:
    return f"it is {age:.0f} s old, and is valid for {GOOD_FOR:.0f} s"


def passes(reasons: Iterable[HoldReason]) -> tuple[tuple[HoldReason, ...], tuple[HoldReason, ...]]:
    """Split the reasons to hold into those that an override passes and those that still hold."""
    found = tuple(reasons)
    passed = tuple(reason for reason in found if isinstance(reason, OVERRIDABLE))
    return passed, tuple(reason for reason in found if not isinstance(reason, OVERRIDABLE))


@dataclass(frozen=True, slots=True)
class ExternalLease:
    """Another operator's Lease. `holder` is empty if unclaimed, `lasts` None if it has no duration."""

    name: str
    holder: str
    lasts: float | None
    unchanged_for: float
    """Seconds for which this process has observed it unchanged."""

    @property
    def is_over(self) -> bool:
        """True if the Lease has expired, by this process's observation alone.

        The times in the Lease are from another machine's clock.
        """
        # A Lease that lasts no time has no usable duration either.
        return self.lasts is not None and 0 < self.lasts <= self.unchanged_for


def held_externally(lease: ReadResult[ExternalLease]) -> Hold | None:
    """Return a hold unless the Lease is certainly over. A Lease that cannot be read may be held."""
    match lease:
        case Unreadable(why):
            return Hold(CannotRead("the Lease that medik8s has for this node", why))
        case Absent():
            return None
        case Present(found):
            if not found.holder or found.is_over:
                return None
            return Hold(OtherRemediation(f"{found.holder} (by the Lease {found.name})"))
        case _:
            assert_never(lease)


DRY_RUN_WOULD: Final = "It would"


DRY_RUN_COULD_NOT: Final = "It could do nothing"
"""Beginnings of the sentence that a dry run adds to its hold; `kubectl mend status` shows only this."""


@dataclass(frozen=True, slots=True)
class DryRunAction:
    """The action `what` of a check, and `in_the_way`: an obstacle regardless of the guard; else empty."""

    what: str
    in_the_way: str = ""


def report_dry_run(
    facts: GuardFacts,
    guarded: Allowed | Hold,
    wish: DryRunAction,
    default: PolicyFacts,
    passing: tuple[type[HoldReason], ...] = (),
) -> Allowed | Hold:
    """Return the same answer; for a dry run, add the action that would be taken and the guard's answer to it.

    If there is no policy, the guard checks one with only defaults.
    """
    if not isinstance(guarded, Hold) or not isinstance(guarded.reason, DryRun | CheckDryRun):
        return guarded
    if wish.in_the_way:
        return Hold(replace(guarded.reason, would=f"{DRY_RUN_COULD_NOT}: {wish.in_the_way}."))
    policy = facts.policy.value if isinstance(facts.policy, Present) else default
    acting = replace(
        facts,
        policy=Present(replace(policy, mode=Mode.ACT)),
        check=replace(facts.check, dry_run=False),
    )
    would = f"{DRY_RUN_WOULD} {wish.what}; the guard {_spell(guard(acting, passing))}"
    return Hold(replace(guarded.reason, would=would))


def _spell(answer: Allowed | Hold) -> str:
    if isinstance(answer, Allowed):
        return "would let it begin."
    reason = answer.reason
    # A countdown would be out of date as soon as it is written.
    lasting = not isinstance(reason, CoolingDown | StartInterval | RecentApiErrors)
    said = reason.explain().sentence if lasting else f"{reason.reason}."
    return f"would hold it: {said}"
