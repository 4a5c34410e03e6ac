"""Judges self-fencing: which nodes would end themselves, and which could be released by time."""

from collections.abc import Iterator, Sequence

from nodemend.api import keys
from nodemend.cli.agents import AgentSeen, AgentState, take_marker_off
from nodemend.cli.check.assess_remediations import is_tainted
from nodemend.cli.check.facts import CheckFacts
from nodemend.cli.check.fencing_view import FencingRow, spell_shares
from nodemend.cli.check.view import Finding, fail, ok, unread, warn
from nodemend.cli.self_fencing import is_of_self_fencing
from nodemend.cli.words import spell_list, spell_names, spell_seconds
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Present, Unreadable

GROUP = "self-fencing"


def is_used(facts: CheckFacts) -> bool:
    """Whether anybody has anything to do with it."""
    checks = facts.checks.value if isinstance(facts.checks, Present) else []
    asked = any(is_of_self_fencing(remedy.template) for one in checks for remedy in one.spec.remedies)
    return asked or (isinstance(facts.agents, Present) and bool(facts.agents.value))


def assess_fencing(facts: CheckFacts, rows: Sequence[FencingRow]) -> Iterator[Finding]:
    if isinstance(facts.agents, Unreadable):
        yield unread(f"the agents' Leases in {keys.AGENT_NAMESPACE}", facts.agents.why)
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
    having = [row for row in rows if row.agent is not AgentState.NONE]
    said = f"{len(having)} of {spell_count(len(rows), 'node has', 'nodes have')} an agent"
    versions = [f"version {row.version or 'unknown'}" for row in having]
    yield ok(f"{said}: {spell_shares(versions)}" if having else said)


def _missing(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    """Only where somebody relies on it."""
    wanted = [row for row in rows if row.check]
    bare = [row for row in wanted if row.agent is AgentState.NONE]
    if not bare:
        return
    checks = spell_list(sorted({f"nhc/{row.check}" for row in bare}))
    said = f"{checks} would have nodes reset themselves that have no agent: {_names(bare)}"
    hint = "install the agent there before they fail; else somebody must switch them off"
    yield fail(said, hint) if len(bare) == len(wanted) else warn(said, hint)


def _silent(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    silent = [row for row in rows if row.agent is AgentState.SILENT]
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
    """Of those that speak: what the others last said is old."""
    old = [row for row in rows if row.certificate_fresh is False and row.agent is AgentState.SPEAKS]
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


def _proposals(agents: Sequence[AgentSeen]) -> Iterator[Finding]:
    if len(agents) > 1 and not any(one.proposed for one in agents):
        yield warn(
            "no peers were proposed to any agent: nothing can be proven by time",
            "does the remediator run with --self-fencing on?",
        )


def _by_time(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    concerned = [row for row in rows if row.concerned]
    able = [row for row in concerned if row.by_time]
    if able:
        times = spell_shares(f"{row.safe_time_seconds} s" for row in able)
        count = spell_count(len(able), "node")
        yield ok(f"{count} could be released by time (E4), after T_safe: {times}")
    only_boot = sum(row.resets and not row.by_time for row in concerned)
    if only_boot:
        count = spell_count(only_boot, "node")
        yield warn(f"{count} could be released only by a new boot (E2), not by time")
    never = sum(not row.resets for row in concerned)
    if never:
        yield warn(f"{spell_count(never, 'node')} would not reset at all, as far as is known")


def _markers(facts: CheckFacts, agents: Sequence[AgentSeen]) -> Iterator[Finding]:
    """A marker that nobody wants keeps the node's next boot waiting for ever."""
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


def _names(rows: Sequence[FencingRow]) -> str:
    return spell_names([row.node for row in rows])
