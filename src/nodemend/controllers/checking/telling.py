"""How verdicts on targets of whatever kind are told: a log line, a metric, an event on the target."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nodemend.api.event import ObjectReference
from nodemend.controllers.checking.guard_metrics import GuardMetrics
from nodemend.controllers.checking.rooms import Room
from nodemend.controllers.checking.standings import Entry, Standing, Tally
from nodemend.decide.guard_holds import Unserved
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import Go
from nodemend.kube.event_book import Happening
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

_UNWELL: Final = frozenset({Standing.UNHEALTHY, Standing.HELD, Standing.REMEDIATING})


@dataclass(frozen=True, slots=True)
class Words:
    """The events of one kind of target. `suspect` is None where that alone is not told."""

    healthy: EventReason
    unhealthy: EventReason
    suspect: EventReason | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom something is told of, and how they are named in events and in the log."""

    name: str
    check: str
    regarding: ObjectReference
    logged: Mapping[str, object]


class Telling:
    """What the recorders of all checks do alike. `record` takes an event, and never waits or fails."""

    def __init__(
        self,
        controller: str,
        words: Words,
        log: Log,
        metrics: Metrics,
        record: Callable[[Happening], None],
    ) -> None:
        self._controller = controller
        self._words = words
        self._log = log
        self._metrics = metrics
        self._record = record
        self._guard = GuardMetrics(metrics, controller)

    def count(self, verdict: str) -> None:
        self._metrics.decisions.labels(self._controller, verdict).inc()

    def log(self, event: str, **fields: object) -> None:
        self._log.info(event, **fields)

    def tell(
        self,
        regarding: ObjectReference,
        reason: EventReason,
        note: str,
        related: ObjectReference | None = None,
    ) -> None:
        happening = Happening(
            regarding=regarding,
            related=related,
            type=reason.type,
            reason=reason.word,
            action=reason.action,
            note=printable(note),
        )
        self._record(happening)

    def judged(self, subject: Subject, before: Entry | None, now: Entry) -> None:
        """That is news, at least for the log."""
        was = before.standing if before else "-"
        self.log("judged", standing=now.standing, was=was, note=now.message, **subject.logged)
        for reason, note in _news(subject, self._words, before, now):
            self.tell(subject.regarding, reason, note)

    def started(self, check: str, kind: str, waited: float | None) -> None:
        self._guard.begin(check, kind, waited)

    def guarded(self, check: str, guarded: Go | Hold, room: Room | None) -> None:
        self._guard.show_check(check, guarded, room)

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        self._guard.show_cluster(cluster, rooms)

    def counted(self, check: str, tally: Tally | None) -> None:
        """None when the check is gone."""
        if tally is None:
            self._guard.forget_check(check)
            self._metrics.unserved.remove(check)
        else:
            unserved = sum(entry.cause == Unserved.__name__ for entry in tally.unwell.values())
            self._metrics.unserved.labels(check).set(unserved)
        for standing in Standing:
            state = standing.value.lower()
            if tally is not None:
                self._metrics.nodes.labels(check, state).set(tally.count(standing))
            else:
                self._metrics.nodes.remove(check, state)


def _news(
    subject: Subject, words: Words, before: Entry | None, now: Entry
) -> Iterator[tuple[EventReason, str]]:
    """What people should hear. Who stands as before is not told again, unless another hold holds."""
    name, check = subject.name, subject.check
    was_unwell = before is not None and before.standing in _UNWELL
    # A new leader finds remediations open: that alone does not say that the target is unhealthy now.
    found_open = before is None and now.standing is Standing.REMEDIATING
    if now.ordered_by and (before is None or before.ordered_by != now.ordered_by):
        yield event_reasons.REMEDIATION_ORDERED, f"{now.ordered_by} ordered the remediation of {name}."
    elif now.standing in _UNWELL and not was_unwell and not found_open:
        yield words.unhealthy, f"{name} is unhealthy by {check}."
    match now.standing:
        case Standing.SUSPECT:
            if words.suspect is not None:
                yield words.suspect, f"{check}: {now.message}."
        case Standing.HELD:
            yield event_reasons.REMEDIATION_HELD, now.message
        case Standing.HEALTHY:
            yield words.healthy, f"{name} is healthy by {check}."
        case Standing.UNHEALTHY | Standing.REMEDIATING | Standing.UNJUDGED | Standing.VANISHED:
            pass
