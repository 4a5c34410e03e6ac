"""The node's agent: when it last spoke, what would reset the node, its peers, and the marker. Pure."""

from collections.abc import Iterator

from nodemend.api.agent_lease import HARDWARE, AgentReport
from nodemend.cli.agents import AgentSeen, read_agent, spell_times, spell_watchdog
from nodemend.cli.node_case import NodeCase
from nodemend.cli.tree.view import Branch
from nodemend.cli.words import spell_names, spell_seconds
from nodemend.controllers.fresh_reads import value_of
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.peer_sampling import MOST_PEERS


def agent_branches(case: NodeCase) -> Iterator[Branch]:
    """None of a node that has nothing to do with agents."""
    match case.agent:
        case Present(lease):
            yield _agent(case, read_agent(lease, case.now))
        case Absent() if _is_needed(case):
            says = ("it has no Lease in nodemend-agents", "nothing would reset the node")
            yield Branch(kind="Agent", state="none", says=says)
        case Unreadable() if _is_needed(case):
            yield Branch(kind="Agent", state="unknown", says=("its Lease cannot be read",))
        case Absent() | Unreadable():
            return


def _is_needed(case: NodeCase) -> bool:
    return isinstance(case.by_itself, Present) and bool(case.by_itself.value)


def _agent(case: NodeCase, agent: AgentSeen) -> Branch:
    ago = agent.renewed_ago
    if agent.report is None:
        state, says = "unread", [agent.doubt]
    elif ago is None or not agent.silent:
        state, says = "speaks", [] if ago is None else [f"renewed {spell_seconds(ago)} ago"]
    else:
        state, says = "silent", [f"{spell_seconds(agent.silent_after)} count as silence"]
    return Branch(
        kind="Agent",
        state=state,
        for_seconds=ago if state == "silent" else None,
        says=(*says, *_version(agent.report)),
        children=(*_of_report(case, agent.report), *_marker(case, agent)),
    )


def _version(report: AgentReport | None) -> Iterator[str]:
    if report is not None and report.version:
        yield f"version {report.version}"


def _of_report(case: NodeCase, report: AgentReport | None) -> Iterator[Branch]:
    if report is None:
        return
    node = value_of(case.node)
    if node is not None and report.node_uid != node.metadata.uid:
        yield Branch(kind="Report", state="of another", says=(f"Node {report.node_uid}",))
    elif node is not None and node.status.node_info.boot_id not in ("", report.boot_id):
        says = (f"boot {report.boot_id}", f"the Node still names {node.status.node_info.boot_id}")
        yield Branch(kind="Report", state="of a new boot", says=says)
    yield Branch(
        kind="Watchdog",
        state=spell_watchdog(report.watchdog),
        says=tuple(_watchdog(report)),
    )
    yield Branch(kind="BootGate", state="installed" if report.boot_gate else "none", says=_gate(report))
    yield Branch(kind="Peers", state=_peers(report), says=_names(report))


def _watchdog(report: AgentReport) -> Iterator[str]:
    watchdog = report.watchdog
    yield spell_times(watchdog)
    if watchdog.effective > 0:
        yield f"fed for {report.feed_lease:g} s after a clean look"
    if watchdog.class_ != HARDWARE and watchdog.why:
        yield watchdog.why


def _gate(report: AgentReport) -> tuple[str, ...]:
    if report.boot_gate:
        return ("kubelet starts only where no marker is",)
    return ("a new boot may run its pods before anybody knows of it",)


def _peers(report: AgentReport) -> str:
    """By the newest list; while the node changes it, also by the one before."""
    if not report.peers or not report.peers[-1]:
        return "none"
    changes = ", which are being changed" if len(report.peers) > 1 else ""
    return f"{len(report.peers[-1])}{changes}"


def _names(report: AgentReport) -> tuple[str, ...]:
    if not report.peers or not report.peers[-1]:
        return ("without peers nothing is proven by time",)
    return (spell_names(report.peers[-1], MOST_PEERS),)


def _marker(case: NodeCase, agent: AgentSeen) -> Iterator[Branch]:
    if agent.marker is None:
        if agent.marked:
            yield Branch(kind="Marker", state="unread", says=("the boot gate stays closed",))
        return
    marker, ours = agent.marker, {one.metadata.uid: one for one in case.remediations}
    holder = ours.get(marker.remediation_uid)
    whose = f"for {holder.metadata.namespace}/{holder.metadata.name}" if holder else "its remediation is gone"
    if agent.report is not None and agent.report.boot_id == marker.boot_id:
        said = f"boot {marker.boot_id} is to end"
    else:
        said = f"boot {marker.boot_id} was to end, and the boot gate stays closed until it is off"
    yield Branch(kind="Marker", state="on", says=(said, whose))
