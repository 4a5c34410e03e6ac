"""Reports of health checks of any kind: events, reminders of lasting holds, and metrics."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from nodemend.api import condition_types
from nodemend.api.meta import find_true
from nodemend.api.node_health_check import NodeHealthCheckStatus
from nodemend.api.upstream_types import ObjectReference
from nodemend.guard.state import CheckCounts, LimitUsage, StormScopeKind, TargetState, TargetStatus
from nodemend.kube.controller import Done, Outcome, RequeueAfter
from nodemend.kube.events import EventRecord, EventText
from nodemend.rules.request import LastingHold, Unserved, remind
from nodemend.safety.guard import Allowed
from nodemend.safety.guard_holds import (
    CoolingDown,
    Paused,
    RecentApiErrors,
    TooFewUnhealthy,
    TooManyAtOnce,
    TooManyUnhealthy,
)
from nodemend.safety.holds import CacheStale, Hold, spell_count
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics


class CheckMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._stalled = metrics.check_stalled
        self._overlapping = metrics.check_overlapping
        self._shown: dict[str, str] = {}
        """The exported reason per stalled check."""

    def show(self, check: str, stalled: str, status: NodeHealthCheckStatus) -> None:
        """Export a check's conditions. `stalled` is the reason why the check cannot act; empty if it can."""
        if self._shown.get(check, "") != stalled:
            self._remove(check)
        if stalled:
            self._shown[check] = stalled
            self._stalled.labels(check, stalled).set(1)
        overlapping = find_true(status.conditions, condition_types.OVERLAPPING) is not None
        self._overlapping.labels(check).set(overlapping)

    def forget(self, check: str) -> None:
        self._remove(check)
        self._overlapping.remove(check)

    def _remove(self, check: str) -> None:
        if reason := self._shown.pop(check, ""):
            self._stalled.remove(check, reason)


class GuardMetrics:
    def __init__(self, metrics: Metrics, controller: str) -> None:
        self._metrics = metrics
        self._controller = controller
        self._shown: dict[str, frozenset[tuple[StormScopeKind, str]]] = {}
        self._reasons: dict[str, str] = {}
        """The exported hold reason per check; empty if the guard is open."""

    def show_check(self, check: str, guarded: Allowed | Hold, usage: LimitUsage | None) -> None:
        """Export whether the guard is closed for a check, and the check's own limit if it has one."""
        held = guarded.reason if isinstance(guarded, Hold) else None
        reason = held.reason if held is not None else ""
        if self._reasons.get(check) != reason:
            self._strike_reason(check)
            self._reasons[check] = reason
        self._metrics.guard_closed.labels(check, reason).set(held is not None)
        if usage is None:
            self._remove(StormScopeKind.CHECK, check)
        else:
            self._set(replace(usage, name=check))

    def show_cluster(self, cluster: str, usages: Iterable[LimitUsage]) -> None:
        """Export all limits of a cluster, and remove the series of limits that no longer exist."""
        shown = set()
        for usage in usages:
            self._set(usage)
            shown.add((usage.scope_kind, usage.name))
        for scope_kind, name in self._shown.get(cluster, frozenset()) - shown:
            self._remove(scope_kind, name)
        self._shown[cluster] = frozenset(shown)

    def begin(self, check: str, kind: str, waited: float | None) -> None:
        self._metrics.started.labels(check, kind).inc()
        if waited is not None:
            self._metrics.seconds_to_start.labels(check).observe(waited)

    def forget_check(self, check: str) -> None:
        self._strike_reason(check)
        self._remove(StormScopeKind.CHECK, check)

    def _set(self, usage: LimitUsage) -> None:
        labels = (self._controller, usage.scope_kind.value, usage.name)
        self._metrics.guard_used.labels(*labels).set(usage.unhealthy)
        self._metrics.guard_limit.labels(*labels).set(usage.limit)

    # Remove series by all labels: removal by some labels would scan the series of a thousand other checks.

    def _strike_reason(self, check: str) -> None:
        if check in self._reasons:
            self._metrics.guard_closed.remove(check, self._reasons.pop(check))

    def _remove(self, scope_kind: StormScopeKind, name: str) -> None:
        for gauge in (self._metrics.guard_used, self._metrics.guard_limit):
            gauge.remove(self._controller, scope_kind.value, name)


MOST_REASONS: Final = 3


class HoldReminders:
    """Tracks since when each check has had held targets without a break, for one leader term."""

    def __init__(self, noun: str) -> None:
        """`noun` is the name of a target in texts: node, machine."""
        self._noun = noun
        self._lasting: dict[str, LastingHold] = {}

    def update(self, check: str, counts: CheckCounts, now: float) -> tuple[str, float | None]:
        """Return the reminder that is due now, or "", and the seconds until the next call is due."""
        held = {name: entry for name, entry in counts.unwell.items() if _is_held(entry)}
        lasting, lasted = remind(self._lasting.pop(check, None), held=bool(held), now=now)
        if lasting is None:
            return "", None
        self._lasting[check] = lasting
        note = self._spell(held, len(counts), lasted) if lasted is not None else ""
        return note, lasting.due_in(now)

    def forget(self, check: str) -> None:
        self._lasting.pop(check, None)

    def _spell(self, held: dict[str, TargetStatus], total: int, lasted: float) -> str:
        """Describe how many targets are held for which reasons, with one example of the commonest reason."""
        reasons = Counter(entry.cause for entry in held.values()).most_common()
        shown = ", ".join(f"{cause} {number}" for cause, number in reasons[:MOST_REASONS])
        more = ", ..." if len(reasons) > MOST_REASONS else ""
        first = min(name for name, entry in held.items() if entry.cause == reasons[0][0])
        count = f"{len(held)} of {spell_count(total, self._noun)}"
        return (
            f"Held for {lasted / 60:.0f} min without a break: {count} ({shown}{more})."
            f" {first}: {held[first].message}"
        )


def _is_held(entry: TargetStatus) -> bool:
    """True also under remediation with a hold: the last remedy failed, so the target needs an operator."""
    return entry.state is TargetState.HELD or (entry.state is TargetState.REMEDIATING and bool(entry.cause))


REPORT_AT_MOST_EVERY: Final = 1.0
"""Seconds, so that changes that occur together are reported together."""
WHILE_WAITING: Final = 10.0
"""Seconds: a storm may end in another scope, and a cooldown ends by time alone."""

_PASSING: Final = (
    Paused,
    CoolingDown,
    RecentApiErrors,
    CacheStale,
    TooManyAtOnce,
    TooManyUnhealthy,
    TooFewUnhealthy,
)
"""Holds that end without a change of the check: by time, or when other targets recover."""


def after_report(guarded: Allowed | Hold, reminder_in: float | None = None) -> Outcome:
    """Return when to report again. `reminder_in`: seconds until the next reminder of a lasting hold."""
    if isinstance(guarded, Hold) and isinstance(guarded.reason, _PASSING):
        return RequeueAfter(WHILE_WAITING if reminder_in is None else min(WHILE_WAITING, reminder_in))
    return Done() if reminder_in is None else RequeueAfter(reminder_in)


_UNWELL: Final = frozenset({TargetState.UNHEALTHY, TargetState.HELD, TargetState.REMEDIATING})


@dataclass(frozen=True, slots=True)
class EventReasons:
    """The event reasons of one kind of target. `suspect` is None if that state alone causes no event."""

    healthy: EventReason
    unhealthy: EventReason
    suspect: EventReason | None = None


@dataclass(frozen=True, slots=True)
class EventSubject:
    """A target as named in events and in the log."""

    name: str
    check: str
    regarding: ObjectReference
    logged: Mapping[str, object]


class HealthRecorder:
    """Log lines, metrics and events of one kind of check. Checks are named as users name them.

    `record` takes an event and never blocks or fails.
    """

    controller: ClassVar[str]
    words: ClassVar[EventReasons]

    def __init__(self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None]) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._guard = GuardMetrics(metrics, self.controller)

    def count(self, verdict: str) -> None:
        self._metrics.decisions.labels(self.controller, verdict).inc()

    def tell(
        self,
        regarding: ObjectReference,
        reason: EventReason,
        note: str,
        related: ObjectReference | None = None,
    ) -> None:
        self._record(EventText(reason, note).about(regarding, related))

    def report_change(self, subject: EventSubject, before: TargetStatus | None, now: TargetStatus) -> None:
        """Report a changed entry: a log line, and events if the change matters to users."""
        was = before.state if before else "-"
        self._log.info("judged", standing=now.state, was=was, note=now.message, **subject.logged)
        for reason, note in _news(subject, self.words, before, now):
            self.tell(subject.regarding, reason, note)

    def guarded(self, check: str, guarded: Allowed | Hold, usage: LimitUsage | None) -> None:
        """Export if the guard is closed for a check, and the usage of the check's own limit."""
        self._guard.show_check(check, guarded, usage)

    def filled(self, cluster: str, usages: Iterable[LimitUsage]) -> None:
        """Export the usage of the policy's limits in a cluster."""
        self._guard.show_cluster(cluster, usages)

    def still_held(self, check: str, regarding: ObjectReference | None, note: str) -> None:
        """Report that targets of a check have been held for long.

        `regarding` is None for requests by annotation: an event needs an object, and each Machine already has
        its own event.
        """
        self._log.info("still held", check=check, note=note)
        if regarding is not None:
            self.tell(regarding, event_reasons.STILL_HELD, note)

    def overlapped(self, check: str, regarding: ObjectReference, note: str) -> None:
        """Report that other checks have started to own targets that this check selects."""
        self._log.info("overlapped", check=check, note=note)
        self.tell(regarding, event_reasons.CHECK_OVERLAPPED, note)

    def counted(self, check: str, counts: CheckCounts | None) -> None:
        """Export a check's counts; None removes them: the check is deleted or not served any longer."""
        if counts is None:
            self._guard.forget_check(check)
            self._metrics.unserved.remove(check)
        else:
            unserved = sum(entry.cause == Unserved.reason for entry in counts.unwell.values())
            self._metrics.unserved.labels(check).set(unserved)
        for target_state in TargetState:
            state = target_state.value.lower()
            if counts is not None:
                self._metrics.nodes.labels(check, state).set(counts.count(target_state))
            else:
                self._metrics.nodes.remove(check, state)


def _news(
    subject: EventSubject, words: EventReasons, before: TargetStatus | None, now: TargetStatus
) -> Iterator[tuple[EventReason, str]]:
    """Yield the events for a change. An unchanged state causes none, except a hold with another reason."""
    name, check = subject.name, subject.check
    was_unwell = before is not None and before.state in _UNWELL
    # A new leader finds existing remediations, which do not prove that the target is unhealthy now.
    found_open = before is None and now.state is TargetState.REMEDIATING
    if now.ordered_by and (before is None or before.ordered_by != now.ordered_by):
        yield event_reasons.REMEDIATION_ORDERED, f"{now.ordered_by} ordered the remediation of {name}."
    elif now.state in _UNWELL and not was_unwell and not found_open:
        yield words.unhealthy, f"{check} reports {name} as unhealthy."
    match now.state:
        case TargetState.SUSPECT:
            if words.suspect is not None:
                yield words.suspect, f"{check}: {now.message}."
        case TargetState.HELD:
            yield event_reasons.REMEDIATION_HELD, now.message
        case TargetState.HEALTHY:
            yield words.healthy, f"{check} reports {name} as healthy."
        case TargetState.UNHEALTHY | TargetState.REMEDIATING | TargetState.UNJUDGED | TargetState.DELETED:
            pass
