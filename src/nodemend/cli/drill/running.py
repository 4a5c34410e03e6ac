"""Asks for one node's reset, waits until it is back, and times it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nodemend.api.group_versions import LEASE, NODE, SELF_REMEDIATION
from nodemend.api.keys import AGENT_NAMESPACE, DRILL
from nodemend.api.lease import Lease
from nodemend.api.self_remediation import Phase, SelfRemediation
from nodemend.cli.agents import AgentSeen, read_agent
from nodemend.cli.cluster import MANAGER, Cluster
from nodemend.cli.drill.facts import gather
from nodemend.cli.drill.judgement import Refusal, weigh_drill
from nodemend.cli.drill.view import DrilledView, DrillView, drilled_view
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.stop.writing import stop
from nodemend.controllers.fresh_reads import project, value_of
from nodemend.decide.facts import Absent
from nodemend.kube.api_outcome import Refused
from nodemend.kube.api_request import Request, create

LOOK_EVERY: Final = 1.0
BEGUN_WITHIN: Final = 60.0
"""Seconds in which the remediator begins, or something holds it."""
_PASSES: Final = frozenset({ExitCode.NO_ANSWER, ExitCode.TIMED_OUT})


async def prepare(cluster: Cluster, node: str, *, with_workloads: bool) -> DrillView:
    """What to show. Raises CommandFailure where the node must not be reset now."""
    weighed = weigh_drill(await gather(cluster, node), with_workloads=with_workloads)
    if isinstance(weighed, Refusal):
        raise CommandFailure(ExitCode.WRONG, f"{weighed.why} Nothing was reset.", weighed.next_step)
    return weighed


@dataclass(slots=True)
class _Seen:
    """When what was first seen, by our own clock."""

    asked_at: float
    marked_at: float | None = None
    back_at: float | None = None


class Drill:
    """One run. `tell` takes a line for each thing that happens."""

    def __init__(self, cluster: Cluster, shown: DrillView, tell: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._shown = shown
        self._tell = tell
        self._drilled: DrilledView | None = None

    async def run(self, wait: float, *, with_workloads: bool) -> DrilledView:
        """What was timed, once the node is back in service. Raises CommandFailure."""
        now = await prepare(self._cluster, self._shown.node, with_workloads=with_workloads)
        if (now.node_uid, now.boot_id) != (self._shown.node_uid, self._shown.boot_id):
            raise CommandFailure(
                ExitCode.WRONG, f"{now.node} has booted since you looked. Nothing was reset.", "start over."
            )
        made = await self._ask()
        clock = self._cluster.runtime
        seen = _Seen(clock.monotonic())
        while clock.monotonic() < seen.asked_at + wait:
            try:
                drilled = await self._turn(made, seen)
            except CommandFailure as failure:
                if failure.code not in _PASSES:
                    raise
            else:
                if drilled is not None:
                    return drilled
            await clock.sleep(LOOK_EVERY)
        raise self._lost(seen)

    async def _ask(self) -> SelfRemediation:
        made = await self._cluster.write(_request(self._shown, self._cluster), SelfRemediation)
        if isinstance(made, SelfRemediation):
            return made
        why = made.message if isinstance(made, Refused) else "its answer could not be read"
        raise CommandFailure(
            ExitCode.WRONG, f"the API server refused: {why}.", f"kubectl mend tree {self._shown.node}"
        )

    async def _turn(self, made: SelfRemediation, seen: _Seen) -> DrilledView | None:
        """One look; the result once all is over."""
        cluster, metadata = self._cluster, made.metadata
        found = await cluster.find(SELF_REMEDIATION, metadata.name, SelfRemediation, metadata.namespace)
        remediation = value_of(found)
        if isinstance(found, Absent) or (remediation and remediation.metadata.uid != metadata.uid):
            raise CommandFailure(ExitCode.WRONG, "somebody has stopped the drill.", "kubectl mend status")
        lease = await cluster.find(LEASE, self._shown.node, Lease, AGENT_NAMESPACE)
        agent = value_of(project(lease, lambda one: read_agent(one, cluster.now)))
        if agent is not None:
            self._note(agent, metadata.uid, seen)
        if remediation is not None:
            await self._end_if_held(remediation, seen)
            if self._drilled is not None and remediation.status.phase is Phase.SUCCEEDED:
                await stop(cluster, remediation, dry_run=False)
                return self._drilled
        return None

    def _note(self, agent: AgentSeen, uid: str, seen: _Seen) -> None:
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

    async def _end_if_held(self, remediation: SelfRemediation, seen: _Seen) -> None:
        """What has not begun can be taken back as if it had never been asked for."""
        waited = self._cluster.runtime.monotonic() - seen.asked_at
        if remediation.status.phase is not Phase.PENDING or waited < BEGUN_WITHIN:
            return
        await stop(self._cluster, remediation, dry_run=False)
        why = remediation.status.message or "no remediator has taken it up."
        raise CommandFailure(
            ExitCode.WRONG, f"it did not begin: {why} Nothing was reset.", "kubectl mend status"
        )

    def _lost(self, seen: _Seen) -> CommandFailure:
        node = self._shown.node
        where = "has not reported a new boot" if seen.back_at is None else "is not in service again"
        return CommandFailure(
            ExitCode.TIMED_OUT,
            f"{node} {where}. Its SelfRemediation goes on, and releases it on evidence.",
            f"kubectl mend tree {node}; kubectl mend stop {node} when it is back",
        )


def _request(shown: DrillView, cluster: Cluster) -> Request:
    """Named like the node and owned by it, as a check's would be."""
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": shown.node, "uid": shown.node_uid}
    body = {
        "apiVersion": SELF_REMEDIATION.api_version,
        "kind": SELF_REMEDIATION.kind,
        "metadata": {
            "name": shown.node,
            "namespace": cluster.system_namespace,
            "annotations": {DRILL: shown.by},
            "ownerReferences": [owner],
        },
        "spec": {},
    }
    return create(SELF_REMEDIATION, body, cluster.system_namespace, manager=MANAGER)
