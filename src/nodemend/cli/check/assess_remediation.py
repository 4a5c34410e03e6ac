"""Evaluate self-fencing: the nodes that would reset themselves, and those that could be released by time.

Evaluate open remediations and objects that ended remediations left behind.

Evaluate the admission policies: each required one exists, is as shipped in this version, and is bound.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus, find, parse_time
from nodemend.api.remediation_policy import ADMISSION_DOUBTED, RemediationPolicy
from nodemend.api.upstream_types import Lease
from nodemend.cli.agents import AgentInfo, AgentReadiness, is_of_self_fencing, take_marker_off
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.cli.check.view import FencingRow, Finding, fail, ok, spell_shares, unread, warn
from nodemend.cli.listing import (
    AnyRemediation,
    contradiction_of,
    is_open,
    node_of,
    spell_contradiction,
    unserved,
)
from nodemend.cli.text import first_sentence, spell_list, spell_names, spell_seconds
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.records.node import NodeRecord, NodeTaintRecord
from nodemend.remediation.locks import lock_name
from nodemend.safety.facts import Absent, Present, ReadResult, Taint, Unreadable
from nodemend.safety.holds import spell_count
from nodemend.safety.policies import ALWAYS, OF_SELF_FENCING, evaluate_policy

OPEN_FOR_LONG: Final = 900.0
"""Seconds; equal to the threshold of the alert on remediations that are held for too long."""
_LOCK: Final = lock_name("")
_OTHER_WRITER: Final = (
    "{node} has the taint {taint}, which is not ours: another writer releases its workloads, and Nodemend "
    "neither adds its own taint beside it nor takes it off"
)
_ASK_OWNER: Final = (
    "find out who set it (medik8s, Cluster API's metal3 provider, Rook, a person); let one of you heal a node"
)


def assess_remediations(facts: CheckCommandFacts) -> Iterator[Finding]:
    match facts.remediations:
        case Unreadable(why):
            yield unread("the remediations", why)
        case Absent():
            yield unread("the remediations", "their kind is not served")
        case Present(remediations):
            yield from _open(remediations, facts.now)
            yield from _taints(remediations, facts.nodes)
            yield from _locks(remediations, facts.locks)


def _open(remediations: Sequence[AnyRemediation], now: datetime) -> Iterator[Finding]:
    open_ = [found for found in remediations if is_open(found)]
    yield ok(f"{spell_count(len(open_), 'remediation is', 'remediations are')} open")
    for found in sorted(open_, key=lambda one: one.metadata.creation_timestamp):
        yield from _amiss(found, now)
        age = (now - parse_time(found.metadata.creation_timestamp)).total_seconds()
        if age > OPEN_FOR_LONG:
            waits = first_sentence(found.status.message) or f"It is {found.status.phase}."
            yield warn(
                f"{node_of(found)} has been under remediation for {spell_seconds(age)}. {waits}",
                f"kubectl mend explain {node_of(found)}",
            )


def _amiss(found: AnyRemediation, now: datetime) -> Iterator[Finding]:
    step = f"kubectl mend explain {node_of(found)}"
    if (twice := contradiction_of(found)) is not None:
        yield fail(f"{node_of(found)}: its workloads may run twice. {spell_contradiction(twice)}", step)
    if (unserved_reason := unserved(found, now)) is not None:
        yield fail(f"{node_of(found)}: {unserved_reason.explain()}", step)


def _taints(remediations: Sequence[AnyRemediation], nodes: ReadResult[list[NodeRecord]]) -> Iterator[Finding]:
    """Report Nodemend's taint without a remediation that would remove it.

    Such a taint keeps workloads away forever.
    """
    if not isinstance(nodes, Present):
        return
    cared_for = {found.status.node_uid for found in remediations if found.status.evidence is not None}
    tainted = [node for node in nodes.value if is_tainted(node)]
    left = sorted(node.name for node in tainted if node.uid not in cared_for)
    for name in left:
        yield fail(
            f"{name} has our out-of-service taint, and no remediation that would take it off",
            "make sure that it is down or rebooted, then: "
            f"kubectl taint node {name} {well_known.OUT_OF_SERVICE}-",
        )
    if not left:
        yield ok("no out-of-service taint of ours was left behind")
    for node in sorted(nodes.value, key=lambda one: one.name):
        for taint in node.taints:
            if taint.key == well_known.OUT_OF_SERVICE and taint.value != well_known.OUR_TAINT_VALUE:
                yield warn(_OTHER_WRITER.format(node=node.name, taint=_spell(taint)), _ASK_OWNER)


def _locks(remediations: Sequence[AnyRemediation], locks: ReadResult[list[Lease]]) -> Iterator[Finding]:
    if not isinstance(locks, Present):
        yield unread("the locks on nodes", locks.why if isinstance(locks, Unreadable) else "there are none")
        return
    living = {found.metadata.uid for found in remediations}
    stale = sorted(
        lock.metadata.name
        for lock in locks.value
        if lock.metadata.name.startswith(_LOCK) and lock.spec.holder_identity not in living
    )
    if stale:
        yield warn(
            f"{spell_count(len(stale), 'lock')} on nodes whose remediation is gone: {spell_names(stale)}",
            "the next remediation of such a node takes it over; nothing needs to be done",
        )
    else:
        yield ok("no lock on a node was left behind")


def _spell(taint: NodeTaintRecord) -> str:
    return str(Taint(taint.key, taint.effect, taint.value))


def is_tainted(node: NodeRecord) -> bool:
    return any(
        taint.key == well_known.OUT_OF_SERVICE and taint.value == well_known.OUR_TAINT_VALUE
        for taint in node.taints
    )


GROUP = "self-fencing"


def is_used(facts: CheckCommandFacts) -> bool:
    """Return whether self-fencing is used: a check has a self-fencing remedy, or agents have Leases."""
    checks = facts.checks.value if isinstance(facts.checks, Present) else []
    asked = any(is_of_self_fencing(remedy.template) for one in checks for remedy in one.spec.remedies)
    return asked or (isinstance(facts.agents, Present) and bool(facts.agents.value))


def assess_fencing(facts: CheckCommandFacts, rows: Sequence[FencingRow]) -> Iterator[Finding]:
    if isinstance(facts.agents, Unreadable):
        yield unread(f"the agents' Leases in {well_known.AGENT_NAMESPACE}", facts.agents.why)
        return
    if not isinstance(facts.nodes, Present):
        return
    agents = facts.agents.value if isinstance(facts.agents, Present) else []
    yield from _agents(rows)
    yield from _missing(rows)
    yield from _silent(rows)
    yield from _held_back(rows)
    yield from _certificates(rows)
    yield from _proposals(agents)
    yield from _by_time(rows)
    yield from _markers(facts, agents)


def _agents(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    having = [row for row in rows if row.agent is not AgentReadiness.NONE]
    said = f"{len(having)} of {spell_count(len(rows), 'node has', 'nodes have')} an agent"
    versions = [f"version {row.version or 'unknown'}" for row in having]
    yield ok(f"{said}: {spell_shares(versions)}" if having else said)


def _missing(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    """Report nodes without an agent, only among nodes whose check relies on self-fencing."""
    wanted = [row for row in rows if row.check]
    bare = [row for row in wanted if row.agent is AgentReadiness.NONE]
    if not bare:
        return
    checks = spell_list(sorted({f"nhc/{row.check}" for row in bare}))
    said = f"{checks} would have nodes reset themselves that have no agent: {_spell_rows(bare)}"
    hint = "install the agent there before they fail; else somebody must switch them off"
    yield fail(said, hint) if len(bare) == len(wanted) else warn(said, hint)


def _silent(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    silent = [row for row in rows if row.agent is AgentReadiness.SILENT]
    if not silent:
        return
    said = [
        f"{row.node} ({spell_seconds(row.renewed_ago)})" if row.renewed_ago is not None else row.node
        for row in sorted(silent, key=lambda row: -(row.renewed_ago or 0.0))
    ]
    count = spell_count(len(silent), "agent has", "agents have")
    yield warn(f"{count} been silent for long: {spell_names(said)}", f"kubectl mend probe {silent[0].node}")


def _held_back(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    for row in rows:
        if row.held_back:
            yield fail(
                f"the boot gate of {row.node} keeps kubelet from starting: {row.held_back}",
                f"find out why; then, on {row.node}: rm /var/lib/nodemend/resets/*",
            )


def _certificates(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    """Report old certificates of agents that renew their Leases.

    The last report of a silent agent is outdated.
    """
    old = [row for row in rows if row.certificate_fresh is False and row.agent is AgentReadiness.SPEAKS]
    if not old:
        return
    said = [
        f"{row.node} ({row.certificate})"
        for row in sorted(old, key=lambda row: row.certificate_left_seconds or 0.0)
    ]
    count = spell_count(len(old), "node has", "nodes have")
    yield warn(
        f"{count} no fresh certificate for peers: {spell_names(said)}",
        "is nodemend-signer well? kubectl get csr --field-selector spec.signerName=nodemend.io/agent",
    )


def _proposals(agents: Sequence[AgentInfo]) -> Iterator[Finding]:
    if len(agents) > 1 and not any(one.proposed for one in agents):
        yield warn(
            "no peers were proposed to any agent: nothing can be proven by time",
            "does the remediator run with --self-fencing on?",
        )


def _by_time(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    affected = [row for row in rows if row.affected]
    able = [row for row in affected if row.by_time]
    if able:
        times = spell_shares(f"{row.safe_time_seconds} s" for row in able)
        count = spell_count(len(able), "node")
        yield ok(f"{count} could be released by time (E4), after T_safe: {times}")
    only_boot = sum(row.resets and not row.by_time for row in affected)
    if only_boot:
        count = spell_count(only_boot, "node")
        yield warn(f"{count} could be released only by a new boot (E2), not by time")
    never = sum(not row.resets for row in affected)
    if never:
        yield warn(f"{spell_count(never, 'node')} would not reset at all, as far as is known")


def _markers(facts: CheckCommandFacts, agents: Sequence[AgentInfo]) -> Iterator[Finding]:
    """Report markers without a remediation. Such a marker blocks the node's next boot forever."""
    if not isinstance(facts.remediations, Present):
        return
    living = {one.metadata.uid for one in facts.remediations.value}
    marked = [one for one in agents if one.marked]
    left = [one for one in marked if one.marker is None or one.marker.remediation_uid not in living]
    nodes = facts.nodes.value if isinstance(facts.nodes, Present) else []
    tainted = {node.name for node in nodes if is_tainted(node)}
    for one in left:
        by_hand = take_marker_off(one.node, facts.system_namespace)
        usual = "a remediator with --self-fencing on takes it off in a while; or by hand"
        yield fail(
            f"{one.node} has a marker, and no remediation that would take it off: its kubelet will not start",
            f"{'see to its out-of-service taint first; then' if one.node in tainted else usual}: {by_hand}",
        )
    if not left:
        yield ok("no marker was left behind")


def _spell_rows(rows: Sequence[FencingRow]) -> str:
    return spell_names([row.node for row in rows])


T = TypeVar("T")
_INSTALL_POLICIES: Final = (
    "install or upgrade Nodemend, in the version of this command: helm upgrade --install nodemend ..."
)


def assess_policies(facts: CheckCommandFacts) -> Iterator[Finding]:
    """Report each policy that is missing, not bound or not as shipped.

    Such a policy refuses nothing, or the wrong requests.
    """
    policies, bindings = facts.cluster.policies, facts.cluster.bindings
    for what, found in (("they", policies), ("their bindings", bindings)):
        if not isinstance(found, Present):
            why = found.why if isinstance(found, Unreadable) else "the API server does not know their kind"
            yield fail(
                f"nobody knows whether the admission policies are in force: {what} were not read: {why}"
            )
            return
    names = _expected(facts)
    results = (
        evaluate_policy(one, _named(policies, one), _named(bindings, one), SHIPPED[one]) for one in names
    )
    problems = [problem for problem in results if problem is not None]
    for problem in problems:
        yield fail(f"the admission policy {problem.policy} is not in force: {problem.why}", _INSTALL_POLICIES)
    if not problems:
        yield ok(f"all {len(names)} admission policies are as shipped, and bound")
    yield from _by_the_checker(facts.policy)


def _expected(facts: CheckCommandFacts) -> Sequence[str]:
    """Return the required policies, plus every other policy of Nodemend that is installed."""
    there = facts.cluster.policies.value.keys() if isinstance(facts.cluster.policies, Present) else set()
    fencing = OF_SELF_FENCING if is_used(facts) else ()
    return sorted({*ALWAYS, *fencing, *(there & SHIPPED.keys())})


def _named(found: ReadResult[Mapping[str, T]], name: str) -> ReadResult[T]:
    if not isinstance(found, Present):
        return found
    return Present(found.value[name]) if name in found.value else Absent()


def _by_the_checker(policy: ReadResult[RemediationPolicy]) -> Iterator[Finding]:
    """Report the checker's own test of the policies.

    It also detects an API server that has the policies but does not evaluate them.
    """
    doubted = find(policy.value.status.conditions, ADMISSION_DOUBTED) if isinstance(policy, Present) else None
    if doubted is not None and doubted.status is not ConditionStatus.FALSE:
        yield fail(f"the checker holds everything: {doubted.message}")
