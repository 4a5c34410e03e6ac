"""Builds the tree of everything that concerns the remediation of one node, and the next step. Pure.

The state of a check is what the checker wrote in the status of the check or in the Machine's conditions.
"""

from collections.abc import Iterator
from typing import Final

from nodemend.api import condition_types, well_known
from nodemend.api.agent import HARDWARE, AgentReport
from nodemend.api.manual_remediation import ManualRemediationPhase
from nodemend.api.meta import ConditionStatus, find, find_true
from nodemend.api.metal3_remediation import Metal3Remediation, Strategy
from nodemend.api.metal3_remediation import Metal3RemediationPhase as PowerPhase
from nodemend.api.node_health_check import NodeHealthCheck, TargetReport
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.api.upstream_types import BareMetalHost, Node
from nodemend.cli.agents import AgentInfo, read_agent, spell_times, spell_watchdog
from nodemend.cli.listing import AnyRemediation, age_of, is_open, may_need_a_person, resource_of
from nodemend.cli.listing_caches import machine_index_of
from nodemend.cli.node_report import PODS, VOLUMES, NodeCase, is_ready, open_remediation
from nodemend.cli.status.machines import show_machines
from nodemend.cli.text import first_sentence, spell_names, spell_seconds, split_step
from nodemend.cli.tree.view import Branch, TreeView
from nodemend.guard.state import TargetState
from nodemend.health.machine.targets import find_target
from nodemend.protocol.peers import MOST_PEERS
from nodemend.records.live_reads import excluded_by, value_of
from nodemend.records.machine import MachineRecord
from nodemend.remediation.metal3.host_lookup import MachineRef, NoMachine, host_facts
from nodemend.remediation.node_state import DEFAULT_LEASE_SECONDS
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import spell_count
from nodemend.safety.host_power import HostPowerUncertain, power_uncertainty


def _fact(kind: str, state: str, *says: str) -> Branch:
    """Return a fact about the parent object, which has no object itself."""
    return Branch(kind=kind, state=state, says=says)


def agent_branches(case: NodeCase) -> Iterator[Branch]:
    """Yield the agent's branch; nothing for a node with neither an agent Lease nor a SelfRemediation."""
    match case.agent:
        case Present(lease):
            yield _agent(case, read_agent(lease, case.now))
        case Absent() if _is_needed(case):
            yield _fact("Agent", "none", "it has no Lease in nodemend-agents", "nothing would reset the node")
        case Unreadable() if _is_needed(case):
            yield _fact("Agent", "unknown", "its Lease cannot be read")
        case Absent() | Unreadable():
            return


def _is_needed(case: NodeCase) -> bool:
    return isinstance(case.listed.by_itself, Present) and bool(case.listed.by_itself.value)


def _agent(case: NodeCase, agent: AgentInfo) -> Branch:
    ago = agent.renewed_ago
    if agent.report is None:
        state, says = "invalid", [agent.problem]
    elif ago is None or not agent.silent:
        state, says = "reporting", [] if ago is None else [f"renewed {spell_seconds(ago)} ago"]
    else:
        state, says = "silent", [f"{spell_seconds(agent.silent_after)} count as silence"]
    if agent.report is not None and agent.report.version:
        says.append(f"version {agent.report.version}")
    return Branch(
        kind="Agent",
        state=state,
        for_seconds=ago if state == "silent" else None,
        says=tuple(says),
        children=(*_of_report(case, agent.report), *_marker(case, agent)),
    )


def _of_report(case: NodeCase, report: AgentReport | None) -> Iterator[Branch]:
    if report is None:
        return
    node = value_of(case.node)
    if node is not None and report.node_uid != node.metadata.uid:
        yield _fact("Report", "of another", f"Node {report.node_uid}")
    elif node is not None and node.status.node_info.boot_id not in ("", report.boot_id):
        named = f"the Node still names {node.status.node_info.boot_id}"
        yield _fact("Report", "of a new boot", f"boot {report.boot_id}", named)
    yield _fact("Watchdog", spell_watchdog(report.watchdog), *_watchdog(report))
    yield _gate(report)
    yield _peers(report)


def _watchdog(report: AgentReport) -> Iterator[str]:
    watchdog = report.watchdog
    yield spell_times(watchdog)
    if watchdog.effective > 0:
        yield f"fed for {report.feed_lease:g} s after a successful API check"
    if watchdog.class_ != HARDWARE and watchdog.why:
        yield watchdog.why


def _gate(report: AgentReport) -> Branch:
    if report.boot_gate:
        return _fact("BootGate", "installed", "the kubelet starts only if there is no marker")
    return _fact("BootGate", "none", "a new boot may run its pods before it is reported")


def _peers(report: AgentReport) -> Branch:
    """Return the peers in the newest list. During a change the node also uses the previous list."""
    newest = report.peers[-1] if report.peers else ()
    if not newest:
        return _fact("Peers", "none", "without peers nothing is proven by time")
    changes = ", which are being changed" if len(report.peers) > 1 else ""
    return _fact("Peers", f"{len(newest)}{changes}", spell_names(newest, MOST_PEERS))


def _marker(case: NodeCase, agent: AgentInfo) -> Iterator[Branch]:
    if agent.marker is None:
        if agent.marked:
            yield _fact("Marker", "invalid", "the boot gate stays closed")
        return
    marker, ours = agent.marker, {one.metadata.uid: one for one in case.remediations}
    holder = ours.get(marker.remediation_uid)
    whose = f"for {holder.metadata.namespace}/{holder.metadata.name}" if holder else "its remediation is gone"
    if agent.report is not None and agent.report.boot_id == marker.boot_id:
        said = f"boot {marker.boot_id} must end"
    else:
        said = f"boot {marker.boot_id} had to end; the boot gate stays closed until the marker is removed"
    yield _fact("Marker", "on", said, whose)


_WAITING: Final = (TargetState.SUSPECT, TargetState.UNHEALTHY, TargetState.HELD)
"""States in which it matters whether a remediation may start."""


def check_branches(case: NodeCase) -> Iterator[Branch]:
    yield from _order(case)
    watching = [*_by_node(case), *_by_machine(case)]
    yield from watching
    if not watching and isinstance(case.node, Present) and not isinstance(case.all_checks, Unreadable):
        yield _fact("NodeHealthCheck", "none", "no check watches it")


def _order(case: NodeCase) -> Iterator[Branch]:
    if isinstance(case.order, Present):
        order = case.order.value
        says = [f"by {order.spec.by}: {order.spec.reason}"]
        if order.spec.past_guard:
            says.append("past the guard")
        age = age_of(order.metadata.creation_timestamp, case.now)
        yield Branch(
            kind="RemediationOrder", name=case.name, state="waits", for_seconds=age, says=tuple(says)
        )


def _by_node(case: NodeCase) -> Iterator[Branch]:
    """Yield the checks that select the node.

    The first by name owns it; the others are shown as overlapping.
    """
    for number, check in enumerate(case.checks):
        if number == 0:
            yield _check(case, check)
        else:
            says = (f"nhc/{case.checks[0].metadata.name} owns it, the first by name",)
            yield Branch(kind="NodeHealthCheck", name=check.metadata.name, state="overlaps", says=says)


def _check(case: NodeCase, check: NodeHealthCheck) -> Branch:
    report = next((one for one in check.status.reports if one.name == case.name), None)
    reported = find(check.status.conditions, condition_types.REMEDIATION_ALLOWED) is not None
    silent = TargetState.HEALTHY if reported else "unknown"
    return Branch(
        kind="NodeHealthCheck",
        name=check.metadata.name,
        state=report.verdict if report is not None else silent,
        says=tuple(said.removesuffix(".") for said in _check_statements(check, report)),
        children=tuple(_recoveries(case, check)),
    )


def _check_statements(check: NodeHealthCheck, report: TargetReport | None) -> Iterator[str]:
    allowed = find(check.status.conditions, condition_types.REMEDIATION_ALLOWED)
    why = first_sentence(report.message) if report is not None else ""
    if why:
        yield why
    if report is not None and report.remedy:
        yield f"remedy {report.remedy} of {len(check.spec.remedies)}"
    if allowed is None:
        yield "the checker has not reported yet"
    elif report is not None and report.verdict in _WAITING and allowed.status is not ConditionStatus.TRUE:
        why_not = first_sentence(allowed.message)
        if why_not != why:
            yield f"nothing new may begin: {why_not}"


def _recoveries(case: NodeCase, check: NodeHealthCheck) -> Iterator[Branch]:
    for one in check.status.recoveries:
        if one.node == case.name:
            says = (one.message.removesuffix("."),)
            yield Branch(kind="Recovery", state=one.phase, for_seconds=age_of(one.since, case.now), says=says)


def _by_machine(case: NodeCase) -> Iterator[Branch]:
    """Yield MachineHealthChecks that select the node's Machine and that Nodemend serves."""
    if isinstance(case.machines, Unreadable):
        return
    machine_index, shown = machine_index_of(case.machines), show_machines(case.machines, case.now)
    for key in machine_index.naming(case.name):
        machine, target = machine_index.machine(key), find_target(machine_index, key)
        if machine is None or target is None or not _is_behind(case, machine):
            continue
        row = next((one for one in shown.machines if one.machine == machine.key), None)
        yield Branch(
            kind="MachineHealthCheck",
            name=target.check.name,
            namespace=target.check.namespace,
            state=row.state if row is not None else "Healthy",
            for_seconds=row.for_seconds if row is not None else None,
            says=(row.why.removesuffix("."),) if row is not None and row.why else (),
        )


def _is_behind(case: NodeCase, machine: MachineRecord) -> bool:
    """Return whether this is the node's Machine.

    A Machine of another cluster may name a node of the same name.
    """
    node, behind = value_of(case.node), value_of(case.behind)
    if behind is not None and behind.machine.metadata.uid == machine.uid:
        return True
    named = node.spec.provider_id if node is not None else ""
    return named != "" and machine.provider_id == named


_POWER: Final = {True: "on", False: "off", None: "power unknown"}


def machine_branches(case: NodeCase) -> Iterator[Branch]:
    """Yield the Machine with its host below it; the host alone if there is no Machine."""
    host = tuple(_hosts(case))
    if isinstance(case.behind, Present):
        yield _machine(case.behind.value, host)
    else:
        yield from host


def _machine(behind: MachineRef, host: tuple[Branch, ...]) -> Branch:
    metadata = behind.machine.metadata
    owner = next((one for one in metadata.owner_references if one.controller), None)
    says = [f"owned by {owner.kind} {owner.name}" if owner else "it has no owner"]
    if behind.metal3 is not None and behind.metal3.metadata.name != metadata.name:
        says.append(f"by Metal3Machine {behind.metal3.metadata.name}")
    return Branch(
        kind=behind.resource.kind,
        name=metadata.name,
        namespace=metadata.namespace,
        state="being deleted" if metadata.deleting else "",
        says=tuple(says),
        children=host,
    )


def _hosts(case: NodeCase) -> Iterator[Branch]:
    """Yield the node's host; nothing for a node that is not related to hosts."""
    match case.host:
        case Present(host):
            yield _host(case, host)
        case NoMachine(why) if case.listed.power != Absent() and _is_affected(case):
            yield _fact("BareMetalHost", "not found", why)
        case Absent():
            yield _fact("BareMetalHost", "gone", "the host that was held is gone")
        case Unreadable():
            yield _fact("BareMetalHost", "unknown", "it cannot be read")
        case NoMachine():
            return


def _is_affected(case: NodeCase) -> bool:
    """Return whether the node has a Metal3Remediation or its Machine has a host."""
    by_power = any(isinstance(one, Metal3Remediation) for one in case.remediations)
    return by_power or (isinstance(case.behind, Present) and case.behind.value.metal3 is not None)


def _host(case: NodeCase, host: BareMetalHost) -> Branch:
    return Branch(
        kind="BareMetalHost",
        name=host.metadata.name,
        namespace=host.metadata.namespace,
        state=_POWER[host.status.powered_on],
        says=tuple(_host_statements(case, host)),
    )


def _host_statements(case: NodeCase, host: BareMetalHost) -> Iterator[str]:
    yield from _holds(case, host)
    if not host.spec.online:
        yield "its owner wants it off (spec.online: false)"
    if any(key in host.metadata.annotations for key in well_known.HOST_UNHEALTHY):
        yield "marked unhealthy"
    against = power_uncertainty(host_facts(host, ""))
    if against is not None:
        address = f"{host.metadata.namespace}/{host.metadata.name}"
        yield HostPowerUncertain(address, against).explain().sentence.removesuffix(".")
    else:
        yield host.status.provisioning.state
    if (age := age_of(host.status.last_updated, case.now)) is not None:
        yield f"metal3 last updated it {spell_seconds(age)} ago"


def _holds(case: NodeCase, host: BareMetalHost) -> Iterator[str]:
    ours = {one.metadata.uid: one for one in case.remediations}
    for key in host.holds:
        if not key.startswith(well_known.POWER_OFF_REQUEST_PREFIX):
            yield f"power-off requested by another client: {key}"
        elif (found := ours.get(key.removeprefix(well_known.POWER_OFF_REQUEST_PREFIX))) is not None:
            yield f"power-off requested by Nodemend for {found.metadata.namespace}/{found.metadata.name}"
        else:
            yield "power-off requested by Nodemend for a remediation that is gone or of another node"


def node_branch(case: NodeCase, children: tuple[Branch, ...]) -> Branch:
    match case.node:
        case Present(node):
            ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
            return Branch(
                kind="Node",
                name=case.name,
                state=f"Ready={node.ready}" if ready is not None else "never reported",
                for_seconds=age_of(ready.last_transition_time, case.now) if ready is not None else None,
                says=tuple(_node_statements(case, node)),
                children=(*_taints(case, node), _kubelet(case), *children),
            )
        case Absent():
            says = ("there is no such Node any more",)
            spoke = (_kubelet(case),) if isinstance(case.kubelet, Present) else ()
            return Branch(kind="Node", name=case.name, state="gone", says=says, children=(*spoke, *children))
        case Unreadable():
            return Branch(kind="Node", name=case.name, state="unknown", children=(_kubelet(case), *children))


def _node_statements(case: NodeCase, node: Node) -> Iterator[str]:
    if node.metadata.deleting:
        yield "being deleted"
    fenced = [one for one in case.remediations if find_true(one.status.conditions, condition_types.FENCED)]
    if fenced and fenced[0].status.evidence is not None:
        yield f"fenced on {fenced[0].status.evidence.class_}"
    elif open_remediation(case) is not None:
        yield "not fenced"
    if alone := excluded_by(node.metadata.labels, node.metadata.annotations):
        yield f"excluded by {alone}"
    if well_known.RELEASE_REVOKED in node.metadata.annotations:
        yield "a release was revoked here"


def _taints(case: NodeCase, node: Node) -> Iterator[Branch]:
    for taint in node.spec.taints:
        if taint.key == well_known.OUT_OF_SERVICE:
            ours = taint.value == well_known.OUR_TAINT_VALUE
            yield Branch(
                kind="Taint",
                name=taint.key,
                state="set by Nodemend" if ours else "set by another",
                for_seconds=age_of(taint.time_added, case.now),
                says=("its pods and volumes are released by force",)
                if ours
                else ("another writer has its workloads released by force",),
            )


def _kubelet(case: NodeCase) -> Branch:
    match case.kubelet:
        case Present(lease):
            lasts = float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)
            age = age_of(lease.spec.renew_time, case.now)
            if age is None:
                return _fact("Kubelet", "unknown", "its Lease has no renewal time")
            if age > lasts:
                says = (f"{spell_seconds(lasts)} count as silence",)
                return Branch(kind="Kubelet", state="silent", for_seconds=age, says=says)
            return _fact("Kubelet", "active", f"renewed {spell_seconds(age)} ago")
        case Absent():
            return _fact("Kubelet", "unknown", "it has no Lease")
        case Unreadable():
            return _fact("Kubelet", "unknown", "its Lease cannot be read")


SHOWN: Final = 8
"""Number of pods or volumes that are named; the others are only counted."""


def remediation_branches(case: NodeCase) -> Iterator[Branch]:
    for one in case.remediations:
        yield _remediation(case, one)
    if _nothing_is_done(case):
        waiting = tuple(_named(case))
        if waiting and not is_ready(case):
            says = (_counted(case), "nothing releases them")
            yield Branch(kind="Workloads", state="on it", says=says, children=waiting)


def _nothing_is_done(case: NodeCase) -> bool:
    """Return whether no remediation is open. False if one kind could not be read."""
    unseen = any(isinstance(kind, Unreadable) for kind in case.listed.by_kind.values())
    return not unseen and not any(map(is_open, case.remediations))


def _remediation(case: NodeCase, remediation: AnyRemediation) -> Branch:
    metadata, status = remediation.metadata, remediation.status
    return Branch(
        kind=resource_of(remediation).kind,
        name=metadata.name,
        namespace=metadata.namespace,
        state="Ending" if metadata.deleting else status.phase,
        says=tuple(said.removesuffix(".") for said in _remediation_statements(case, remediation)),
        children=tuple(_below(case, remediation)),
    )


def _remediation_statements(case: NodeCase, remediation: AnyRemediation) -> Iterator[str]:
    metadata, status = remediation.metadata, remediation.status
    if metadata.deleting:
        yield f"was {status.phase}"
    if (age := age_of(metadata.creation_timestamp, case.now)) is not None:
        yield f"begun {spell_seconds(age)} ago"
    if isinstance(remediation, Metal3Remediation):
        yield from _attempts(remediation)
    if check := metadata.labels.get(well_known.CHECK, ""):
        yield f"requested by nhc/{check}"
    if by := metadata.annotations.get(well_known.ORDERED_BY, ""):
        yield f"ordered by {by}"
    if status.message:
        yield status.message


def _attempts(remediation: Metal3Remediation) -> Iterator[str]:
    spec, status = remediation.spec, remediation.status
    over = status.phase in (PowerPhase.SUCCEEDED, PowerPhase.FAILED, PowerPhase.DELETING_MACHINE)
    if over:
        yield spell_count(status.retry_count, "attempt") + " failed" if status.retry_count else "at once"
    elif spec.strategy is Strategy.ESCALATE:
        yield f"attempt {status.retry_count + 1} of {1 + spec.delete_after_retries}"
    else:
        yield f"attempt {status.retry_count + 1}"


def _below(case: NodeCase, remediation: AnyRemediation) -> Iterator[Branch]:
    if isinstance(remediation, SelfRemediation):
        yield from _proof(remediation.status)
    yield _evidence(case, remediation)
    if not is_open(remediation):
        return
    yield _lock(case, remediation)
    if remediation.status.released:
        yield _fact("Workloads", "gone from it", "they may run elsewhere")
        return
    waits = "leaving" if remediation.status.evidence is not None else "held back until there is evidence"
    yield Branch(
        kind="Workloads", state=waits, says=(_counted(case, remediation),), children=tuple(_named(case))
    )


def _proof(status: SelfRemediationStatus) -> Iterator[Branch]:
    """Yield the progress of the proof by time; nothing once there is evidence."""
    if status.contradicted:
        said = f"boot {status.boot_id} was active after it was proven to have ended"
        yield _fact("Proof", "contradicted", said)
    elif status.evidence is None and status.safe_time_seconds:
        counted = [f"{one.name} {one.milliseconds // 1000} s" for one in status.proven]
        said = f"covered by its peers: {', '.join(counted)}" if counted else "no peer is covered"
        yield _fact("Proof", f"{status.proven_seconds} s of {status.safe_time_seconds} s", said)


def _evidence(case: NodeCase, remediation: AnyRemediation) -> Branch:
    evidence = remediation.status.evidence
    if evidence is None:
        return _fact("Evidence", "none", "nothing may be released")
    fenced = find_true(remediation.status.conditions, condition_types.FENCED)
    said = [f"{evidence.by}: {evidence.reason}"]
    if (silent := age_of(evidence.last_renew_time, case.now)) is not None:
        said.append(f"the kubelet last renewed its Lease {spell_seconds(silent)} ago")
    if fenced is None:
        said.append("no longer current: the node may run again")
    age = age_of(fenced.last_transition_time, case.now) if fenced is not None else None
    return Branch(kind="Evidence", state=evidence.class_, for_seconds=age, says=tuple(said))


def _lock(case: NodeCase, remediation: AnyRemediation) -> Branch:
    match case.lock:
        case Present(lock) if lock.spec.holder_identity == remediation.metadata.uid:
            return _fact("Lock", "held")
        case Present(lock):
            holder = lock.metadata.annotations.get(well_known.HOLDER) or lock.spec.holder_identity
            return _fact("Lock", "waiting", f"held by {holder or 'an unknown holder'}")
        case Absent():
            return _fact("Lock", "not held")
        case Unreadable():
            return _fact("Lock", "unknown")


def _counted(case: NodeCase, remediation: AnyRemediation | None = None) -> str:
    """Return the counts of pods and volumes on the node.

    If the caller may not list them, the counts are from the remediation's last report.
    """
    pods, volumes = case.pods, case.volumes
    if isinstance(pods, Present) and isinstance(volumes, Present):
        return _spell(len(pods.value), len(volumes.value))
    if remediation is None or remediation.status.evidence is None:
        return "their number is unknown"
    status = remediation.status
    return f"{_spell(status.pods_left, status.attachments_left)}, as the remediation reports"


def _spell(pods: int, volumes: int) -> str:
    return f"{spell_count(pods, 'pod')} and {spell_count(volumes, 'volume')}"


def _named(case: NodeCase) -> Iterator[Branch]:
    by_pod = [
        Branch(
            kind="Pod",
            name=one.metadata.name,
            namespace=one.metadata.namespace,
            state="Terminating" if one.metadata.deleting else one.status.phase,
        )
        for one in value_of(case.pods) or ()
    ]
    by_volume = [
        Branch(
            kind="VolumeAttachment",
            name=one.metadata.name,
            state="detaching" if one.metadata.deleting else "attached",
        )
        for one in value_of(case.volumes) or ()
    ]
    yield from _few(by_pod, "pod")
    yield from _few(by_volume, "volume attachment")


def _few(branches: list[Branch], what: str) -> Iterator[Branch]:
    shown = branches if len(branches) <= SHOWN else branches[: SHOWN - 1]
    yield from shown
    if len(branches) > len(shown):
        yield _fact("More", spell_count(len(branches) - len(shown), f"more {what}"))


def tree_view(case: NodeCase) -> TreeView:
    children = (
        *agent_branches(case),
        *machine_branches(case),
        *check_branches(case),
        *remediation_branches(case),
    )
    step = split_step(_next_step(case))
    return TreeView(
        node=case.name,
        root=node_branch(case, children),
        unread=case.spell_unread(*(() if _is_waited_for(case) else (PODS, VOLUMES))),
        incomplete=bool(case.spell_unread(PODS, *(() if _is_waited_for(case) else (VOLUMES,)))),
        advice=step.advice,
        next_step=step.command,
    )


def _is_waited_for(case: NodeCase) -> bool:
    """Return whether the workloads on the node matter: it has an open remediation or is not Ready."""
    return open_remediation(case) is not None or not is_ready(case)


def _has_marker(case: NodeCase) -> bool:
    return isinstance(case.agent, Present) and read_agent(case.agent.value, case.now).marked


def _next_step(case: NodeCase) -> str:
    under_way = open_remediation(case)
    if under_way is not None and may_need_a_person(under_way):
        return f"kubectl mend explain {case.name}"
    if under_way is None and _has_marker(case):
        return "kubectl mend check; its marker has no remediation any more"
    match under_way.status.phase if under_way is not None else None:
        case ManualRemediationPhase.WAITING_FOR_CONFIRMATION:
            return f'once it is down: kubectl mend confirm {case.name} --reason "..."'
        case PowerPhase.FAILED:
            return f"repair the machine; to have it tried again after that: kubectl mend stop {case.name}"
        case None if is_ready(case):
            return "nothing"
        case None:
            return f"kubectl mend explain {case.name}"
        case _:
            return f"kubectl mend timeline {case.name}"
