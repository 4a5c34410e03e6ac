"""Whether a node may be reset for a drill now. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nodemend.api.agent_lease import AgentReport
from nodemend.api.conditions import ConditionStatus
from nodemend.api.self_remediation import SelfRemediationSpec
from nodemend.api.workloads import Pod
from nodemend.cli.agents import AgentState, spell_watchdog
from nodemend.cli.drill.facts import DrillFacts
from nodemend.cli.drill.view import DrillView
from nodemend.cli.remediations import node_of
from nodemend.cli.self_fencing import NodeNamed, Nothing, judge_prospect
from nodemend.cli.words import spell_names
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Present, Unreadable
from nodemend.decide.fencing_holds import NoTimeProof
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import brake
from nodemend.decide.time_proof import needed_for

_STAY: Final = ("DaemonSet", "Node")
"""Whose pods belong to the node itself: a drain leaves them as well."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, and what to do instead."""

    why: str
    next_step: str


def weigh_drill(facts: DrillFacts, *, with_workloads: bool) -> DrillView | Refusal:
    """The first thing that stands in the way, else what would be done."""
    report = _report(facts)
    if isinstance(report, Refusal):
        return report
    refusal = next(_refusals(facts), None)
    if refusal is None and not with_workloads:
        refusal = _refuse_workloads(facts)
    return refusal or _view(facts, report)


def _report(facts: DrillFacts) -> AgentReport | Refusal:
    """What its agent promises now; a node that says nothing now is not asked for its end."""
    node, name = facts.node, facts.case.name
    probe = f"kubectl mend probe {name}"
    if isinstance(facts.agent, Unreadable):
        return Refusal(f"its agent's Lease cannot be read: {facts.agent.why}.", probe)
    agent = facts.agent.value if isinstance(facts.agent, Present) else None
    about = NodeNamed(name, node.metadata.uid, node.status.node_info.boot_id, node.metadata.labels)
    prospect = judge_prospect(about, agent, SelfRemediationSpec(), frozenset())
    if isinstance(prospect, Nothing):
        return Refusal(f"{name} would not reset itself: {prospect.why}.", probe)
    if agent is None or agent.report is None or agent.state is not AgentState.SPEAKS or not agent.has_begun:
        return Refusal(f"the agent of {name} does not speak now.", probe)
    return agent.report


def _refusals(facts: DrillFacts) -> Iterator[Refusal]:
    name = facts.case.name
    if not facts.may:
        yield Refusal(
            f"{facts.caller} may not have nodes reset themselves.",
            "ask for the ClusterRole nodemend-driller, which has the verb drill on selfremediations.",
        )
    if facts.at_work:
        nodes = spell_names(sorted(node_of(one) for one in facts.at_work))
        yield Refusal(
            f"{spell_count(len(facts.at_work), 'remediation is', 'remediations are')} under way: {nodes}.",
            "wait until nothing is: kubectl mend status",
        )
    go = brake(facts.policy)
    if isinstance(go, Hold):
        said = explain(go.reason)
        yield Refusal(f"the guard would hold it. {said.sentence}", said.next_step)
    if facts.node.ready is not ConditionStatus.TRUE:
        yield Refusal(
            f"{name} is not Ready: a drill is for a node that is well.", f"kubectl mend explain {name}"
        )


def _refuse_workloads(facts: DrillFacts) -> Refusal | None:
    name = facts.case.name
    drain = f"kubectl drain {name} --ignore-daemonsets; or say --with-workloads"
    if not facts.node.spec.unschedulable:
        return Refusal(f"{name} is not cordoned: pods could start there meanwhile.", drain)
    if not isinstance(facts.case.pods, Present):
        return Refusal(f"it cannot be seen whether pods are on {name}.", drain)
    if pods := _pods(facts):
        return Refusal(
            f"{spell_count(len(pods), 'pod is', 'pods are')} still on {name}: {spell_names(pods)}.", drain
        )
    return None


def _pods(facts: DrillFacts) -> tuple[str, ...]:
    found = facts.case.pods.value if isinstance(facts.case.pods, Present) else []
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
