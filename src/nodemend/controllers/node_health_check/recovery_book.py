"""What is to be written of recoveries in the status of their check, and what is to be done about each.

Nothing here is remembered that a new leader would miss: what is owed stands in the status.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from nodemend.api.node_health_check import MOST_RECOVERIES, NodeHealthCheck, RecoveryPhase, RecoveryReport
from nodemend.api.quantities import parse_duration
from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.guarding import Moment
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.decide.node_health import NodeHealth
from nodemend.decide.recovery import (
    Begin,
    End,
    Over,
    Owe,
    Recovering,
    RecoveryFacts,
    Step,
    decide_recovery,
    progress,
    spell_phase,
    still_missing,
)
from nodemend.decide.remediation_request import Request
from nodemend.kube.remediation_record import RemediationRecord


class RecoveryBook:
    """One leadership's. `first_seen` is when each object was, by UID."""

    def __init__(
        self, view: View, first_seen: dict[str, float], ask_for_report: Callable[[str], None]
    ) -> None:
        self._view = view
        self._first_seen = first_seen
        self._ask_for_report = ask_for_report
        self._owing: dict[str, str] = {}
        """The UIDs of nodes for which something waits until it is written that a recovery is owed."""
        self._ending: set[str] = set()
        """The nodes whose recovery we end. Until that is seen, it must not seem to have begun."""
        self._held: dict[str, str] = {}
        """Why the recovery of a node does not begin."""

    def decide(
        self, target: Target, health: NodeHealth, found: Found | None, wanted: Request, now: float
    ) -> Request | Step:
        """`found` is the remediation that is there; `wanted` what the check asks for apart from this."""
        facts = self._facts(target, health, found, now)
        if facts is None:
            return wanted
        step, node = decide_recovery(wanted, facts), target.node
        if isinstance(step, Owe):
            self._owing[node.name] = node.uid
        else:
            self._owing.pop(node.name, None)
        if not isinstance(step, Begin):
            self._held.pop(node.name, None)
        if isinstance(step, End):
            self._ending.add(node.name)
        else:
            self._ending.discard(node.name)
        there = self._as_intended(facts.there, node.name)
        due = progress(facts.written, there, facts.timeout, owing=isinstance(step, Owe))
        if due != (facts.written or Over()):
            self._ask_for_report(target.check.metadata.name)
        return step

    def hold(self, target: Target, why: str) -> None:
        """Why it does not begin, or nothing when it has."""
        name = target.node.name
        if why != self._held.pop(name, ""):
            self._ask_for_report(target.check.metadata.name)
        if why:
            self._held[name] = why

    def forget(self, node: str) -> None:
        self._owing.pop(node, None)
        self._held.pop(node, None)
        self._ending.discard(node)

    def reports(self, check: NodeHealthCheck, moment: Moment) -> tuple[RecoveryReport, ...]:
        """By node. Those that are written come first, when there are too many."""
        reports: list[RecoveryReport] = []
        for node, uid in self._candidates(check):
            report = self._report(check, node, uid, moment)
            if report is not None and len(reports) < MOST_RECOVERIES:
                reports.append(report)
        return tuple(sorted(reports, key=lambda one: one.node))

    def _facts(
        self, target: Target, health: NodeHealth, found: Found | None, now: float
    ) -> RecoveryFacts | None:
        recovery, node = target.check.spec.recovery, target.node
        if recovery is None:
            return None
        return RecoveryFacts(
            written=gather.recovery_written(target.check, node.uid),
            there=self._there(target.check, node.name, node.uid, now),
            timeout=parse_duration(recovery.timeout).total_seconds(),
            missing=still_missing(health, gather.wishes_of(target).healthy_delay),
            remediating=found is not None,
        )

    def _there(self, check: NodeHealthCheck, node: str, uid: str, now: float) -> Recovering | None:
        record = gather.find_recovery(self._view, check, node, uid)
        if record is None:
            return None
        return gather.as_recovering(record, now - self._first_seen.get(record.uid, now))

    def _as_intended(self, there: Recovering | None, node: str) -> Recovering | None:
        """As it will be once what we do about it is seen."""
        return replace(there, ending=True) if there is not None and node in self._ending else there

    def _candidates(self, check: NodeHealthCheck) -> Iterator[tuple[str, str]]:
        """Name and UID of each node that may have one: written, waited for, or there and not written."""
        known = {one.node: one.node_uid for one in check.status.recoveries}
        for node, uid in (*self._owing.items(), *self._unwritten(check)):
            known.setdefault(node, uid)
        for node, uid in known.items():
            target = gather.find_target(self._view, node)
            mine = target is not None and target.check.metadata.uid == check.metadata.uid
            if target is not None and mine and target.node.uid == uid:
                yield node, uid

    def _unwritten(self, check: NodeHealthCheck) -> Iterator[tuple[str, str]]:
        """A status can be lost, as in a backup without statuses; what is at work is not."""
        for record in self._all(check) or ():
            if record.recovers and (node := self._view.nodes.get(record.name)) is not None:
                yield node.name, node.uid

    def _all(self, check: NodeHealthCheck) -> Iterable[RemediationRecord] | None:
        """Every object of the recovery's kind; None while we do not see that kind."""
        remedies, recovery = self._view.remedies, check.spec.recovery
        kind = remedies.kind_of(recovery.template) if recovery is not None else None
        cache = remedies.caches.get(kind.remediation) if isinstance(kind, RemedyKind) else None
        return None if cache is None or cache.synced_at is None else cache.all()

    def _phase(
        self, check: NodeHealthCheck, node: str, uid: str, timeout: float, now: float
    ) -> RecoveryPhase | Over:
        written, owing = gather.recovery_written(check, uid), self._owing.get(node) == uid
        if self._all(check) is None and not owing:
            # Not to see it does not say that it is gone.
            return written or Over()
        there = self._as_intended(self._there(check, node, uid, now), node)
        return progress(written, there, timeout, owing=owing)

    def _report(self, check: NodeHealthCheck, node: str, uid: str, moment: Moment) -> RecoveryReport | None:
        recovery = check.spec.recovery
        if recovery is None:
            return None
        timeout = parse_duration(recovery.timeout).total_seconds()
        phase = self._phase(check, node, uid, timeout, moment.now)
        if isinstance(phase, Over):
            return None
        written = next((one for one in check.status.recoveries if one.node_uid == uid), None)
        same = written is not None and written.phase is phase
        template = recovery.template
        what = f"{template.kind.removesuffix('Template')} {template.namespace}/{node}"
        return RecoveryReport(
            node=node,
            node_uid=uid,
            phase=phase,
            since=written.since if written is not None and same else print_time(moment.wall),
            message=spell_phase(phase, what, self._held.get(node, "")),
        )
