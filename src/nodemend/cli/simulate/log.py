"""The log of a simulation, in order of time, and the periods for which nodes were held. Times are seconds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from nodemend.api import condition_reasons, condition_types
from nodemend.api.meta import ConditionStatus
from nodemend.cli.output import spell_met
from nodemend.cli.simulate.world import SimulatedEvaluation
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.node import Unhealthy
from nodemend.rules.request import DeleteRemediation, Escalate
from nodemend.safety.guard import HealthCounts
from nodemend.safety.guard_holds import StartInterval, TooManyAtOnce, TooManyUnhealthy
from nodemend.safety.holds import HoldReason

HoldKind = tuple[str, str]
"""Reason and scope of a hold. Holds of one sort differ only in their numbers."""
TURN: Final[HoldKind] = ("Turn", "")
"""The sort of waiting for a start: a target alternates between a full limit and the start interval."""
TURN_REASONS: Final = frozenset({StartInterval.reason, TooManyAtOnce.reason})


@dataclass(frozen=True, slots=True)
class HoldPeriod:
    """One node, held for one sort of reason. `until` is None if it is still held at the end."""

    node: str
    sort: HoldKind
    since: float
    until: float | None

    def lasted(self, end: float) -> float:
        return (end if self.until is None else self.until) - self.since


class HoldPeriods:
    def __init__(self) -> None:
        self._now: dict[str, tuple[HoldKind, float]] = {}
        self._over: list[HoldPeriod] = []
        self._reasons: dict[HoldKind, HoldReason] = {}

    def hold(self, names: Iterable[str], reason: HoldReason, now: float) -> list[str]:
        """Hold these nodes. Returns those that were not held for the same sort before."""
        sort = hold_kind_of(reason)
        self._reasons[sort] = _graver(self._reasons.get(sort), reason)
        news = [name for name in names if self._now.get(name, (None, 0.0))[0] != sort]
        for name in news:
            self.free(name, now)
            self._now[name] = sort, now
        return news

    def free(self, name: str, now: float) -> None:
        found = self._now.pop(name, None)
        # A hold without any duration does not count.
        if found is not None and found[1] < now:
            self._over.append(HoldPeriod(name, *found, now))

    def all(self) -> Iterator[HoldPeriod]:
        yield from self._over
        for name, (sort, since) in self._now.items():
            yield HoldPeriod(name, sort, since, None)

    def reason(self, sort: HoldKind) -> HoldReason:
        """Return the reason of this sort with the most severe numbers that occurred."""
        return self._reasons[sort]


def hold_kind_of(reason: HoldReason) -> HoldKind:
    reason_name = reason.reason
    if reason_name in TURN_REASONS:
        return TURN
    return reason_name, getattr(reason, "scope", "") or getattr(reason, "check", "")


def _graver(known: HoldReason | None, reason: HoldReason) -> HoldReason:
    match known, reason:
        case None, _:
            return reason
        case TooManyUnhealthy(unhealthy=before), TooManyUnhealthy(unhealthy=now) if now > before:
            return reason
        case StartInterval(), TooManyAtOnce():
            return reason
        case _:
            return known


class StepKind(StrEnum):
    FAIL = "Fail"
    HEAL = "Heal"
    STORM = "Storm"
    COOLING_DOWN = "CoolingDown"
    NO_STORM = "NoStorm"
    UNHEALTHY = "Unhealthy"
    HOLD = "Hold"
    BEGIN = "Begin"
    BACK = "Back"
    STILL_UNHEALTHY = "StillUnhealthy"
    GIVE_UP = "GiveUp"
    CLOSE = "Close"
    """Deleted after the remediation healed the node."""
    WITHDRAW = "Withdraw"
    """Deleted because the node recovered without the remediation."""


@dataclass(slots=True)
class LogStep:
    """A change of some nodes at one time.

    `reason` of a hold is the same string as in conditions, events and metrics, `scope` the place of a storm.
    """

    at: float
    what: StepKind
    nodes: list[str]
    reason: str = ""
    scope: str = ""
    why: str = ""


class RemediationOutcome(StrEnum):
    UNDER_WAY = "UnderWay"
    HEALED = "Healed"
    GIVEN_UP = "GivenUp"
    WITHDRAWN = "Withdrawn"


@dataclass(slots=True)
class RemediationAttempt:
    """One remediation that started, in the order of starts. `over_at` is None if it is open at the end."""

    node: str
    check: str
    remedy: str
    number: int
    """Number of the remedy in its check, counted from 1."""
    unhealthy_at: float
    waited: float
    """Seconds for which the guard held it, not including earlier remedies."""
    begins_at: float
    over_at: float | None = None
    ending: RemediationOutcome = RemediationOutcome.UNDER_WAY


@dataclass(slots=True)
class RunLog:
    """The log of a run. `watched` is the number of nodes under a check."""

    watched: int = 0
    steps: list[LogStep] = field(default_factory=list)
    attempts: list[RemediationAttempt] = field(default_factory=list)
    hold_periods: HoldPeriods = field(default_factory=HoldPeriods)
    most_at_once: int = 0

    def tell(
        self,
        at: float,
        what: StepKind,
        *nodes: str,
        why: str = "",
        reason: str = "",
        scope: str = "",
    ) -> None:
        """Add a step. Changes of several nodes at one time with one cause become one step."""
        for step in reversed(self.steps):
            if step.at != at:
                break
            if (step.what, step.why) == (what, why):
                step.nodes.extend(nodes)
                return
        self.steps.append(LogStep(at, what, list(nodes), reason, scope, why))


_STORM_STEPS: Final = {
    condition_reasons.STORM_ACTIVE: (
        StepKind.STORM,
        "the guard closes in scopes with too many unhealthy nodes",
    ),
    condition_reasons.COOLING_DOWN: (StepKind.COOLING_DOWN, "the storm is over"),
    "": (StepKind.NO_STORM, "the cooldown is over"),
}


class LogWriter:
    """Tracks since when nodes are unhealthy, and the open remediations."""

    def __init__(self, story: RunLog) -> None:
        self._story = story
        self._unhealthy_since: dict[str, float] = {}
        self._attempts: dict[str, RemediationAttempt] = {}
        self._storm_state = ""

    def storm_state(self, storm_state: str, health_counts: HealthCounts, now: float) -> bool:
        """Record the storm state. Returns True if it changed."""
        if storm_state == self._storm_state:
            return False
        what, said = _STORM_STEPS[storm_state]
        self._story.tell(
            now, what, why=f"{said}; {health_counts.unhealthy} of {health_counts.total} are not healthy"
        )
        self._storm_state = storm_state
        return True

    def judged(self, case: SimulatedEvaluation, now: float) -> None:
        name = case.target.node.name
        if not isinstance(case.health, Unhealthy):
            self._unhealthy_since.pop(name, None)
        elif name not in self._unhealthy_since:
            self._unhealthy_since[name] = now
            self._story.tell(now, StepKind.UNHEALTHY, name, why=spell_met(case.health.match))

    def held(self, names: Sequence[str], reason: HoldReason, now: float) -> None:
        news = self._story.hold_periods.hold(names, reason, now)
        if news:
            why, scope = reason.explain().sentence, hold_kind_of(reason)[1]
            self._story.tell(now, StepKind.HOLD, *news, why=why, reason=reason.reason, scope=scope)

    def freed(self, name: str, now: float) -> None:
        self._story.hold_periods.free(name, now)

    def begun(
        self, case: SimulatedEvaluation, record: RemediationRecord, number: int, *, waited: float, now: float
    ) -> None:
        name = record.name
        self.freed(name, now)
        attempt = RemediationAttempt(
            node=name,
            check=case.target.check.metadata.name,
            remedy=record.resource.kind,
            number=number,
            unhealthy_at=self._unhealthy_since.get(name, now),
            waited=waited,
            begins_at=now,
        )
        self._attempts[record.uid] = attempt
        self._story.attempts.append(attempt)
        several = len(case.target.check.spec.remedies) > 1
        why = f"remedy {number}, {attempt.remedy}" if several else ""
        self._story.tell(now, StepKind.BEGIN, name, why=why)

    def withdrawn(self, record: RemediationRecord, request: DeleteRemediation | Escalate, now: float) -> None:
        what, ending = StepKind.WITHDRAW, RemediationOutcome.WITHDRAWN
        if isinstance(request, Escalate):
            what, ending = StepKind.GIVE_UP, RemediationOutcome.GIVEN_UP
        elif record.says(condition_types.SUCCEEDED) == ConditionStatus.TRUE:
            what, ending = StepKind.CLOSE, RemediationOutcome.HEALED
        self._story.tell(now, what, record.name)
        attempt = self._attempts.pop(record.uid, None)
        if attempt is not None:
            attempt.over_at, attempt.ending = now, ending
