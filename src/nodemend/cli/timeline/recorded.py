"""Converts the current objects and the history of deleted remediations to timeline entries. Pure.

The entries are drafts. They are available longer than events. The history of deleted remediations is in the
status of the checks and of the policy.
"""

from collections.abc import Iterator
from dataclasses import replace

from nodemend.api import condition_types, well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import Condition, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck, PastRemediation
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.cli.agents import read_agent
from nodemend.cli.listing import AnyRemediation, resource_of, title
from nodemend.cli.node_report import NodeCase
from nodemend.cli.timeline import collect as states
from nodemend.cli.timeline.collect import (
    OVER,
    STORIES,
    ChangeMeaning,
    Lane,
    MomentDraft,
    evidence_meaning,
    problem_meaning,
)
from nodemend.records.live_reads import value_of
from nodemend.remediation.node_state import DEFAULT_LEASE_SECONDS
from nodemend.safety.facts import Present
from nodemend.safety.holds import spell_a
from nodemend.telemetry import event_reasons as ours


def _known(
    written: str | None, what: str, source: str, meaning: ChangeMeaning, because: str = ""
) -> Iterator[MomentDraft]:
    """Yield the entry; nothing if its time is missing or invalid."""
    at = written_moment(written)
    if at is not None:
        yield meaning.draft(at, what, source, because)


def of_node(check: NodeHealthCheck, node: str) -> Iterator[MomentDraft]:
    for past in check.status.history:
        if past.node == node:
            by = f", ordered by {past.ordered_by}" if past.ordered_by else ""
            asked = f"nhc/{check.metadata.name} created {spell_a(past.kind)}{by}."
            yield from _both_ends(past, asked, "history of the check")


def of_machine(policy: RemediationPolicy, node: str) -> Iterator[MomentDraft]:
    """Yield the remediations of every Machine that had this node."""
    for past in policy.status.machine_history:
        if past.node == node:
            asked = f"mhc/{past.check} started {spell_a(past.kind)} for Machine {past.machine}."
            yield from _both_ends(past, asked, "history of the policy")


def _both_ends(past: PastRemediation | MachineRemediation, asked: str, source: str) -> Iterator[MomentDraft]:
    started = ChangeMeaning(Lane.CHECK, ((Lane.REMEDIATION, states.REMEDIATION),), "started")
    yield from _known(past.began, asked, source, started)
    ended = ChangeMeaning(Lane.CHECK, ((Lane.REMEDIATION, OVER), (Lane.CHECK, OVER)), "ended")
    yield from _known(past.ended, f"The {past.kind} is over: {past.outcome}.", source, ended)


def remediation_drafts(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    yield from _life(remediation)
    yield from _signs_of_life(remediation)
    for condition in remediation.status.conditions:
        yield from _turn(remediation, condition)


def last_life(written: str | None, source: str) -> Iterator[MomentDraft]:
    begins = ((Lane.NODE, states.SILENT), (Lane.WORKLOADS, states.HELD))
    silent = ChangeMeaning(Lane.NODE, begins, "last-life")
    yield from _known(written, "Its kubelet's last Lease renewal.", source, silent)


def _life(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    metadata, source, lane = remediation.metadata, _source(remediation), Lane.REMEDIATION
    check = metadata.labels.get(well_known.CHECK, "")
    what = f"{title(remediation)} was created{f' for nhc/{check}' if check else ''}."
    started = ChangeMeaning(lane, ((lane, states.FENCE),), "started")
    yield from _known(metadata.creation_timestamp, what, source, started)
    deleted = ChangeMeaning(lane, ((lane, states.ENDING),), "deleted")
    yield from _known(metadata.deletion_timestamp, f"{title(remediation)} is being deleted.", source, deleted)


def _signs_of_life(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    """Yield the observations recorded in the status: the kubelet's last renewal and the host's power off."""
    status, source = remediation.status, _source(remediation)
    spoken = {status.evidence.last_renew_time} if status.evidence is not None else set()
    if isinstance(remediation, ManualRemediation):
        spoken.add(remediation.status.last_renew_time)
    elif isinstance(remediation, Metal3Remediation) and remediation.status.seen_off is not None:
        sighting, host = remediation.status.seen_off, remediation.status.host
        spoken.add(sighting.last_renew_time)
        what = f"{host or 'Its host'} was off, as its operator wrote then."
        off = ChangeMeaning(Lane.HOST, ((Lane.HOST, states.OFF),), "off")
        yield from _known(sighting.last_updated, what, f"{source}.seenOff", off)
    for text in sorted(spoken):
        yield from last_life(text, source)


def _turn(remediation: AnyRemediation, condition: Condition) -> Iterator[MomentDraft]:
    """Yield the entry of a condition that became true or failed; otherwise nothing."""
    at, source = condition.last_transition_time, f"condition {condition.type}"
    status, evidence = remediation.status, remediation.status.evidence
    because = f"{evidence.by}: {evidence.reason}." if evidence is not None else ""
    match condition.type, condition.status:
        case condition_types.FENCED, "True" if evidence is not None:
            host = ((Lane.HOST, states.OFF),) if isinstance(remediation, Metal3Remediation) else ()
            fenced = evidence_meaning(evidence.class_, *host)
            yield from _known(at, f"{evidence.class_}: {because}", source, fenced, because)
        case condition_types.WORKLOAD_RELEASED, "True":
            what = "All pods and volumes that must leave the node have left."
            class_ = evidence.class_ if evidence is not None else ""
            gone = replace(STORIES[ours.WORKLOADS_RELEASED.name], evidence=class_)
            yield from _known(at, what, source, gone, because)
        case condition_types.SUCCEEDED, "True":
            succeeded = STORIES[ours.REMEDIATION_SUCCEEDED.name]
            yield from _known(at, status.message or "It has succeeded.", source, succeeded)
        case condition_types.SUCCEEDED, "False":
            failed = STORIES[ours.REMEDIATION_FAILED.name]
            yield from _known(at, status.message or "It has failed.", source, failed)
        case _:
            pass


def _source(remediation: AnyRemediation) -> str:
    return f"status of {resource_of(remediation).kind}"


def recorded(case: NodeCase) -> Iterator[MomentDraft]:
    yield from _node(case)
    yield from _kubelet(case)
    yield from _agent(case)
    yield from _machine(case)
    yield from _host(case)
    for check in value_of(case.all_checks) or ():
        yield from of_node(check, case.name)
    if isinstance(case.policy, Present):
        yield from of_machine(case.policy.value, case.name)
    for remediation in case.remediations:
        yield from remediation_drafts(remediation)
    yield from _volumes(case)


def _node(case: NodeCase) -> Iterator[MomentDraft]:
    node = value_of(case.node)
    if node is None:
        return
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if ready is not None:
        meaning = STORIES["NodeReady" if ready.status == "True" else "NodeNotReady"]
        what = f"Ready={ready.status}" + (f": {ready.reason}." if ready.reason else ".")
        yield from _known(ready.last_transition_time, what, "condition Ready", meaning)
    for taint in node.spec.taints:
        if taint.key == well_known.OUT_OF_SERVICE:
            begins, who = ((Lane.WORKLOADS, states.LEAVING),), "Another client"
            meaning = problem_meaning(Lane.WORKLOADS, begins, "released-by-others")
            if taint.value == well_known.OUR_TAINT_VALUE:
                meaning, who = STORIES[ours.RELEASE_STARTED.name], "Nodemend"
            what = f"{who} set the out-of-service taint on {case.name}."
            yield from _known(taint.time_added, what, "taint", meaning)


def _kubelet(case: NodeCase) -> Iterator[MomentDraft]:
    """Yield the last renewal of a silent kubelet. A live kubelet's last renewal is always recent."""
    lease = value_of(case.kubelet)
    renewed = written_moment(lease.spec.renew_time) if lease is not None else None
    if lease is not None and renewed is not None:
        lasts = float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)
        if (case.now - renewed).total_seconds() > lasts:
            yield from last_life(lease.spec.renew_time, "Lease")


def _agent(case: NodeCase) -> Iterator[MomentDraft]:
    """Yield the last renewal of a silent agent."""
    lease = value_of(case.agent)
    if lease is not None and read_agent(lease, case.now).silent:
        silent = ChangeMeaning(Lane.NODE, key="agent-silent")
        what = "Its agent's last Lease renewal."
        yield from _known(lease.spec.renew_time, what, "Lease of its agent", silent)


def _machine(case: NodeCase) -> Iterator[MomentDraft]:
    behind = value_of(case.behind)
    if behind is not None:
        metadata = behind.machine.metadata
        what = f"Its Machine {metadata.namespace}/{metadata.name} is deleted."
        yield from _known(metadata.deletion_timestamp, what, "Machine", problem_meaning(Lane.NODE))


def _host(case: NodeCase) -> Iterator[MomentDraft]:
    """Yield the host's power state at the time when metal3 last wrote it, the only time in its status."""
    begun = [written_moment(one.metadata.creation_timestamp) for one in value_of(case.listed.power) or ()]
    if not isinstance(case.host, Present):
        return
    host = case.host.value
    at, on = written_moment(host.status.last_updated), host.status.powered_on
    # A power state from before the first power cycle is not part of the timeline.
    if at is not None and on is not None and any(one is not None and one <= at for one in begun):
        said, state = ("on", states.ON) if on else ("off", states.OFF)
        what = f"metal3 last reported {host.metadata.namespace}/{host.metadata.name} as {said}."
        power = ChangeMeaning(Lane.HOST, ((Lane.HOST, state),), said)
        yield from _known(host.status.last_updated, what, "BareMetalHost", power)


def _volumes(case: NodeCase) -> Iterator[MomentDraft]:
    for volume in value_of(case.volumes) or ():
        what = f"{volume.metadata.name} is being detached."
        detaching = ChangeMeaning(Lane.WORKLOADS)
        yield from _known(volume.metadata.deletion_timestamp, what, "VolumeAttachment", detaching)
