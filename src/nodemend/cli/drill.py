"""Resets one node for `kubectl mend drill`, waits until it is back, and times the reset.

The facts that an operator should know before resetting a node are read live. The decision whether the node
may be reset for a drill now is pure.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import ClassVar, Final

from nodemend.api.agent import AgentReport, LastReset
from nodemend.api.meta import ConditionStatus
from nodemend.api.resources import LEASE, NODE, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase, SelfRemediationSpec
from nodemend.api.upstream_types import Lease, Node, Pod
from nodemend.api.well_known import AGENT_NAMESPACE, DRILL
from nodemend.cli.agents import (
    AgentInfo,
    AgentReadiness,
    NoRelease,
    evaluate_prospect,
    read_agent,
    spell_watchdog,
)
from nodemend.cli.cluster import MANAGER, Cluster, Refusal, accepted, must_have
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.listing import AnyRemediation, node_of, open_remediations
from nodemend.cli.node_report import NodeCase, gather_case
from nodemend.cli.stop import stop
from nodemend.cli.text import fold, spell_names, spell_seconds
from nodemend.kube.outcome import Refused
from nodemend.kube.request import Request, create, object_of
from nodemend.records.live_reads import project, value_of
from nodemend.safety.facts import Absent, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import in_flight_guard
from nodemend.safety.holds import Hold, spell_count
from nodemend.safety.time_proof import NoTimeProof, needed_for


@dataclass(frozen=True, slots=True)
class DrillFacts:
    case: NodeCase
    node: Node
    agent: ReadResult[AgentInfo]
    policy: ReadResult[PolicyFacts]
    in_progress: tuple[AnyRemediation, ...]
    """Open remediations in the whole cluster."""
    caller: str
    may: bool
    """True if the caller may create, drill and delete a SelfRemediation."""


async def gather(cluster: Cluster, name: str) -> DrillFacts:
    """Read the facts. Writes nothing. Raises CommandFailure if the node does not exist or may not be read."""
    case = await gather_case(cluster, name)
    where = cluster.system_namespace
    rights = [
        await cluster.may(verb, SELF_REMEDIATION, where, name) for verb in ("create", "drill", "delete")
    ]
    return DrillFacts(
        case=case,
        node=must_have(case.node, f"node {name}"),
        agent=project(case.agent, lambda lease: read_agent(lease, case.now)),
        policy=await cluster.reader.policy(),
        in_progress=tuple(await open_remediations(cluster)),
        caller=await cluster.caller(),
        may=all(rights),
    )


MOMENT: Final = 0.5
"""Seconds that a machine may run after its last record.

The record is written ten times per second, but to a disk.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrillView:
    """One node in one boot, before the reset."""

    kind: ClassVar[str] = "Drill"
    node: str
    node_uid: str
    boot_id: str
    by: str
    watchdog: str
    """Class and driver."""
    driver: str
    written_seconds: float
    effective_seconds: float
    """W in seconds, as the remediator assumes it."""
    feed_lease_seconds: float
    """G: the seconds after the marker for which the node may still feed its watchdog."""
    safe_time_seconds: int | None
    """T_safe; None if the node cannot be released by time."""
    why_not_by_time: str
    pods: tuple[str, ...]
    """Pods that the reset ends."""


class Outcome(StrEnum):
    WITHIN = "within"
    LATE = "late"
    """The watchdog took longer than the remediator assumes, so no release by time is safe on this node."""
    NOT_BY_WATCHDOG = "notByWatchdog"
    """The feeder requested a reboot and the kernel did it, so the watchdog was not timed."""
    NO_RECORD = "noRecord"
    """There is no record on disk: the agent or feeder is too old, or the boot ended in another way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrilledView:
    kind: ClassVar[str] = "Drilled"
    drill: DrillView
    outcome: Outcome
    reset_after_seconds: float | None
    """Seconds from the last watchdog ping to the last record on disk."""
    back_after_seconds: float
    """Seconds from the marker to the new boot's report."""
    new_boot_id: str

    @property
    def over_after(self) -> float:
        """Measured seconds after the marker by which the boot had ended."""
        return self.drill.feed_lease_seconds + (self.reset_after_seconds or 0.0) + MOMENT

    @property
    def setting(self) -> str:
        """Value of NODEMEND_DRILL for the node's host.env."""
        milliseconds = ceil(((self.reset_after_seconds or 0.0) + MOMENT) * 1000)
        return f"{self.drill.driver},{self.drill.written_seconds:.0f},{milliseconds}"


def drilled_view(drill: DrillView, reset: LastReset | None, back_after: float, boot_id: str) -> DrilledView:
    """Build the result. `reset` is the new boot's report on the last boot whose watchdog was not fed."""
    reported = reset if reset is not None and reset.boot_id == drill.boot_id else None
    return DrilledView(
        drill=drill,
        outcome=_evaluate(drill, reported),
        reset_after_seconds=reported.lived_on
        if reported is not None and not reported.fence_requested
        else None,
        back_after_seconds=back_after,
        new_boot_id=boot_id,
    )


def _evaluate(drill: DrillView, reset: LastReset | None) -> Outcome:
    if reset is None:
        return Outcome.NO_RECORD
    if reset.fence_requested:
        return Outcome.NOT_BY_WATCHDOG
    return Outcome.WITHIN if reset.lived_on <= drill.effective_seconds else Outcome.LATE


_STAY: Final = ("DaemonSet", "Node")
"""Owner kinds of pods that belong to the node itself. A drain does not evict them either."""


def check_drill(facts: DrillFacts, *, with_workloads: bool) -> DrillView | Refusal:
    """Return the first reason against the drill, or the view of the drill."""
    report = _report(facts)
    if isinstance(report, Refusal):
        return report
    refusal = next(_refusals(facts), None)
    if refusal is None and not with_workloads:
        refusal = _refuse_workloads(facts)
    return refusal or _view(facts, report)


def _report(facts: DrillFacts) -> AgentReport | Refusal:
    """Return the agent's current report. Refuses a node whose agent does not report now."""
    name = facts.case.name
    probe = f"kubectl mend probe {name}"
    if isinstance(facts.agent, Unreadable):
        return Refusal(f"its agent's Lease cannot be read: {facts.agent.why}.", probe)
    agent = value_of(facts.agent)
    uid, boot_id = facts.node.metadata.uid, facts.node.status.node_info.boot_id
    prospect = evaluate_prospect(uid, boot_id, agent, SelfRemediationSpec(), frozenset())
    if isinstance(prospect, NoRelease):
        return Refusal(f"{name} would not reset itself: {prospect.why}.", probe)
    if (
        agent is None
        or agent.report is None
        or agent.state is not AgentReadiness.REPORTING
        or not agent.has_begun
    ):
        return Refusal(f"the agent of {name} does not report now.", probe)
    return agent.report


def _refusals(facts: DrillFacts) -> Iterator[Refusal]:
    name = facts.case.name
    if not facts.may:
        yield Refusal(
            f"{facts.caller} may not have nodes reset themselves.",
            "ask for the ClusterRole nodemend-driller, which has the verb drill on selfremediations.",
        )
    if facts.in_progress:
        nodes = spell_names(sorted(node_of(one) for one in facts.in_progress))
        yield Refusal(
            f"{spell_count(len(facts.in_progress), 'remediation is', 'remediations are')}"
            f" under way: {nodes}.",
            "wait until nothing is: kubectl mend status",
        )
    go = in_flight_guard(facts.policy)
    if isinstance(go, Hold):
        said = go.reason.explain()
        yield Refusal(f"the guard would hold it. {said.sentence}", said.next_step)
    if facts.node.ready is not ConditionStatus.TRUE:
        yield Refusal(f"{name} is not Ready: a drill needs a Ready node.", f"kubectl mend explain {name}")


def _refuse_workloads(facts: DrillFacts) -> Refusal | None:
    name = facts.case.name
    drain = f"kubectl drain {name} --ignore-daemonsets; or add --with-workloads"
    if not facts.node.spec.unschedulable:
        return Refusal(f"{name} is not cordoned: pods could start there meanwhile.", drain)
    if not isinstance(facts.case.pods, Present):
        return Refusal(f"the pods on {name} cannot be read.", drain)
    if pods := _pods(facts):
        return Refusal(
            f"{spell_count(len(pods), 'pod is', 'pods are')} still on {name}: {spell_names(pods)}.", drain
        )
    return None


def _pods(facts: DrillFacts) -> tuple[str, ...]:
    found = value_of(facts.case.pods) or []
    return tuple(sorted(f"{one.metadata.namespace}/{one.metadata.name}" for one in found if _must_go(one)))


def _must_go(pod: Pod) -> bool:
    return not any(owner.kind in _STAY for owner in pod.metadata.owner_references)


def _view(facts: DrillFacts, report: AgentReport) -> DrillView:
    needed = needed_for(report, SelfRemediationSpec())
    watchdog = report.watchdog
    return DrillView(
        node=facts.case.name,
        node_uid=report.node_uid,
        boot_id=report.boot_id,
        by=facts.caller,
        watchdog=spell_watchdog(watchdog),
        driver=watchdog.driver,
        written_seconds=watchdog.written,
        effective_seconds=watchdog.effective,
        feed_lease_seconds=report.feed_lease,
        safe_time_seconds=needed if isinstance(needed, int) else None,
        why_not_by_time=needed.why if isinstance(needed, NoTimeProof) else "",
        pods=_pods(facts),
    )


POLL_INTERVAL: Final = 1.0
BEGUN_WITHIN: Final = 60.0
"""Seconds within which the remediator starts the remediation, unless it is held."""


async def prepare(cluster: Cluster, node: str, *, with_workloads: bool) -> DrillView:
    """Return the view to show. Raises CommandFailure if the node must not be reset now."""
    facts = await gather(cluster, node)
    return accepted(check_drill(facts, with_workloads=with_workloads), "Nothing was reset.")


@dataclass(slots=True)
class _Observed:
    """Times of first observations, in seconds of the local monotonic clock."""

    asked_at: float
    marked_at: float | None = None
    back_at: float | None = None


class DrillRun:
    """One drill. The callback receives a line for each step."""

    def __init__(self, cluster: Cluster, shown: DrillView, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._shown = shown
        self._tell = tell
        self._drilled: DrilledView | None = None

    async def run(self, wait: float, *, with_workloads: bool) -> DrilledView:
        """Reset the node and return the timing once the node is back in service. Raises CommandFailure."""
        now = await prepare(self._cluster, self._shown.node, with_workloads=with_workloads)
        if (now.node_uid, now.boot_id) != (self._shown.node_uid, self._shown.boot_id):
            raise CommandFailure(
                ExitCode.WRONG, f"{now.node} has booted since it was shown. Nothing was reset.", "start over."
            )
        made = await self._ask()
        clock = self._cluster.runtime
        seen = _Observed(clock.monotonic())
        while clock.monotonic() < seen.asked_at + wait:
            try:
                drilled = await self._turn(made, seen)
            except CommandFailure as failure:
                if not failure.may_pass:
                    raise
            else:
                if drilled is not None:
                    return drilled
            await clock.sleep(POLL_INTERVAL)
        raise self._lost(seen)

    async def _ask(self) -> SelfRemediation:
        made = await self._cluster.write(_request(self._shown, self._cluster), SelfRemediation)
        if isinstance(made, SelfRemediation):
            return made
        why = made.message if isinstance(made, Refused) else "its answer could not be read"
        raise CommandFailure(
            ExitCode.WRONG, f"the API server refused: {why}.", f"kubectl mend tree {self._shown.node}"
        )

    async def _turn(self, made: SelfRemediation, seen: _Observed) -> DrilledView | None:
        """Read the state once; return the result if the drill is finished, otherwise None."""
        cluster, metadata = self._cluster, made.metadata
        found = await cluster.find(SELF_REMEDIATION, metadata.name, SelfRemediation, metadata.namespace)
        remediation = value_of(found)
        if isinstance(found, Absent) or (remediation and remediation.metadata.uid != metadata.uid):
            raise CommandFailure(
                ExitCode.WRONG, "the SelfRemediation of the drill was deleted.", "kubectl mend status"
            )
        lease = await cluster.find(LEASE, self._shown.node, Lease, AGENT_NAMESPACE)
        agent = value_of(project(lease, lambda one: read_agent(one, cluster.now)))
        if agent is not None:
            self._note(agent, metadata.uid, seen)
        if remediation is not None:
            await self._end_if_held(remediation, seen)
            if self._drilled is not None and remediation.status.phase is SelfRemediationPhase.SUCCEEDED:
                await stop(cluster, remediation, dry_run=False)
                return self._drilled
        return None

    def _note(self, agent: AgentInfo, uid: str, seen: _Observed) -> None:
        now, shown = self._cluster.runtime.monotonic(), self._shown
        marked = agent.marker is not None and agent.marker.remediation_uid == uid
        if marked and seen.marked_at is None:
            seen.marked_at = now
            self._tell(
                f"{shown.node} is marked: it may feed its watchdog for {shown.feed_lease_seconds:g} s more"
            )
        report = agent.report
        if report is not None and report.boot_id != shown.boot_id and seen.back_at is None:
            seen.back_at = now
            took = now - (seen.marked_at if seen.marked_at is not None else seen.asked_at)
            self._drilled = drilled_view(shown, report.last_reset, took, report.boot_id)
            self._tell(f"{shown.node} reports a new boot after {took:.0f} s; waiting until it is Ready")

    async def _end_if_held(self, remediation: SelfRemediation, seen: _Observed) -> None:
        """Delete a remediation that is still Pending after BEGUN_WITHIN, and raise CommandFailure.

        Nothing has been done to the node yet, so the deletion has no side effects.
        """
        waited = self._cluster.runtime.monotonic() - seen.asked_at
        if remediation.status.phase is not SelfRemediationPhase.PENDING or waited < BEGUN_WITHIN:
            return
        await stop(self._cluster, remediation, dry_run=False)
        why = remediation.status.message or "no remediator has started it."
        raise CommandFailure(
            ExitCode.WRONG, f"it did not begin: {why} Nothing was reset.", "kubectl mend status"
        )

    def _lost(self, seen: _Observed) -> CommandFailure:
        node = self._shown.node
        where = "has not reported a new boot" if seen.back_at is None else "is not in service again"
        return CommandFailure(
            ExitCode.TIMED_OUT,
            f"{node} {where}. Its SelfRemediation goes on, and releases it on evidence.",
            f"kubectl mend tree {node}; kubectl mend stop {node} when it is back",
        )


def _request(shown: DrillView, cluster: Cluster) -> Request:
    """Build the SelfRemediation. Its name and owner are those that a check would use."""
    owner = object_of(NODE, {"name": shown.node, "uid": shown.node_uid})
    fields = {
        "metadata": {
            "name": shown.node,
            "namespace": cluster.system_namespace,
            "annotations": {DRILL: shown.by},
            "ownerReferences": [owner],
        },
        "spec": {},
    }
    body = object_of(SELF_REMEDIATION, fields)
    return create(SELF_REMEDIATION, body, cluster.system_namespace, manager=MANAGER)


def render_preview(view: DrillView, width: int) -> Iterator[str]:
    """Render all facts that an operator should know before typing the node's name."""
    yield f"This resets {view.node}, now, by its watchdog: {view.watchdog}."
    yield from fold(
        f"It is marked, may feed its watchdog for {view.feed_lease_seconds:g} s more, and should be reset "
        f"within {view.effective_seconds:g} s of its last ping (W; {view.written_seconds:g} s are written to "
        "the driver).",
        width,
    )
    if view.safe_time_seconds is not None:
        safe = view.safe_time_seconds
        yield f"The remediator relies on that: {safe} s after a marker it releases the workloads (T_safe)."
    else:
        yield from fold(f"Nothing is released by time there: {view.why_not_by_time}.", width)
    if view.pods:
        count = spell_count(len(view.pods), "pod ends", "pods end")
        yield from fold(f"{count} with it: {spell_names(view.pods)}.", width)


def render_drilled(view: DrilledView, width: int) -> Iterator[str]:
    for line in _said(view):
        yield from fold(line, width)


def _said(view: DrilledView) -> Iterator[str]:
    drill, back = view.drill, spell_seconds(view.back_after_seconds)
    after, safe = view.reset_after_seconds or 0.0, drill.safe_time_seconds
    timed = f"{drill.node}: its watchdog reset it {after:.1f} s after the last ping"
    match view.outcome:
        case Outcome.WITHIN:
            yield f"{timed}, within W ({drill.effective_seconds:g} s)."
            if safe is not None:
                over = f"{view.over_after:.1f} s after the marker"
                yield f"Its boot was over at most {over}; T_safe is {safe} s."
        case Outcome.LATE:
            yield f"{timed}, LATER than W ({drill.effective_seconds:g} s)."
            yield "Nothing may be released there by time until W in its settings is corrected."
        case Outcome.NOT_BY_WATCHDOG:
            said = "was rebooted by its feeder, not by its watchdog, so the watchdog was not timed."
            yield f"{drill.node} {said}"
        case Outcome.NO_RECORD:
            yield f"{drill.node} booted again, without a record on its disk: its watchdog was not timed."
    yield f"It reported its new boot {back} after the marker, and is back in service."
    yield from _next(view)


def _next(view: DrilledView) -> Iterator[str]:
    node = view.drill.node
    match view.outcome:
        case Outcome.WITHIN | Outcome.LATE:
            setting = f"NODEMEND_DRILL={view.setting}"
            yield f"To keep this result, set on {node} in /etc/nodemend/host.env: {setting}"
        case Outcome.NOT_BY_WATCHDOG:
            yield "Read the logs of its agent and its feeder, and drill it again."
        case Outcome.NO_RECORD:
            where = "/var/lib/nodemend is on a disk"
            yield f"Check that its feeder and agent have the same version, and that {where}."
    yield "To let pods start there again:"
    yield f"Next: kubectl uncordon {node}"
