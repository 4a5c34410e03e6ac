"""Converts the current objects and the history of deleted remediations to timeline entries. Pure.

The entries are drafts. They are available longer than events. The history of deleted remediations is in the
status of the checks and of the policy.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from nodemend.api import condition_types, well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import Condition, written_moment
from nodemend.api.metal3_remediation import Metal3Remediation
from nodemend.api.node_health_check import NodeHealthCheck, PastRemediation
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy
from nodemend.cli.agents import read_agent
from nodemend.cli.listing import AnyRemediation, resource_of
from nodemend.cli.node_report import NodeCase
from nodemend.cli.timeline import collect as states
from nodemend.cli.timeline.collect import OVER, Emphasis, Lane, LaneStart, MomentDraft
from nodemend.records.live_reads import value_of
from nodemend.remediation.node_state import DEFAULT_LEASE_SECONDS
from nodemend.safety.facts import Present
from nodemend.safety.holds import spell_a


def _known(
    written: str | None,
    lane: Lane,
    what: str,
    source: str,
    key: str = "",
    begins: tuple[LaneStart, ...] = (),
) -> Iterator[MomentDraft]:
    """Yield the entry; nothing if its time is missing or invalid."""
    at = written_moment(written)
    if at is not None:
        yield MomentDraft(at=at, lane=lane, what=what, sources=(source,), key=key, begins=begins)


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
    begins = ((Lane.REMEDIATION, states.REMEDIATION),)
    yield from _known(past.began, Lane.CHECK, asked, source, "started", begins)
    what, ends = f"The {past.kind} is over: {past.outcome}.", ((Lane.REMEDIATION, OVER), (Lane.CHECK, OVER))
    yield from _known(past.ended, Lane.CHECK, what, source, "ended", ends)


def remediation_drafts(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    yield from _life(remediation)
    yield from _signs_of_life(remediation)
    for condition in remediation.status.conditions:
        at = written_moment(condition.last_transition_time)
        draft = _turn(remediation, condition, at) if at is not None else None
        if draft is not None:
            yield draft


def last_life(written: str | None, source: str) -> Iterator[MomentDraft]:
    what = "Its kubelet's last Lease renewal."
    begins = ((Lane.NODE, states.SILENT), (Lane.WORKLOADS, states.HELD))
    yield from _known(written, Lane.NODE, what, source, "last-life", begins)


def _life(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    metadata, source, lane = remediation.metadata, _source(remediation), Lane.REMEDIATION
    address = f"{resource_of(remediation).kind} {metadata.namespace}/{metadata.name}"
    check = metadata.labels.get(well_known.CHECK, "")
    what = f"{address} was created{f' for nhc/{check}' if check else ''}."
    yield from _known(metadata.creation_timestamp, lane, what, source, "started", ((lane, states.FENCE),))
    what = f"{address} is being deleted."
    yield from _known(metadata.deletion_timestamp, lane, what, source, "deleted", ((lane, states.ENDING),))


def _signs_of_life(remediation: AnyRemediation) -> Iterator[MomentDraft]:
    """Yield the observations recorded in the status: the kubelet's last renewal and the host's power off."""
    status, source = remediation.status, _source(remediation)
    spoken = {status.evidence.last_renew_time} if status.evidence is not None else set()
    if isinstance(remediation, ManualRemediation):
        spoken.add(remediation.status.last_renew_time)
    elif isinstance(remediation, Metal3Remediation) and remediation.status.seen_off is not None:
        sighting, host = remediation.status.seen_off, remediation.status.host
        spoken.add(sighting.last_renew_time)
        what, begins = (
            f"{host or 'Its host'} was off, as its operator wrote then.",
            ((Lane.HOST, states.OFF),),
        )
        yield from _known(sighting.last_updated, Lane.HOST, what, f"{source}.seenOff", "off", begins)
    for text in sorted(spoken):
        yield from last_life(text, source)


def _turn(remediation: AnyRemediation, condition: Condition, at: datetime) -> MomentDraft | None:
    """Return the draft of a condition that became true or failed, otherwise None."""
    status, turn = remediation.status, partial(MomentDraft, at=at, sources=(f"condition {condition.type}",))
    evidence, lane = status.evidence, Lane.REMEDIATION
    because = f"{evidence.by}: {evidence.reason}." if evidence is not None else ""
    match condition.type, condition.status:
        case condition_types.FENCED, "True" if evidence is not None:
            return turn(
                lane=lane,
                what=f"{evidence.class_}: {because}",
                key="evidence",
                mark=Emphasis.EVIDENCE,
                evidence=evidence.class_,
                because=because,
                begins=_after_evidence(remediation),
            )
        case condition_types.WORKLOAD_RELEASED, "True":
            return turn(
                lane=Lane.WORKLOADS,
                what="All pods and volumes that must leave the node have left.",
                key="gone",
                evidence=evidence.class_ if evidence is not None else "",
                because=because,
                begins=((Lane.WORKLOADS, states.ELSEWHERE), (lane, states.RECOVER)),
            )
        case condition_types.SUCCEEDED, "True":
            return turn(
                lane=lane,
                what=status.message or "It has succeeded.",
                key="succeeded",
                begins=((lane, OVER), (Lane.HOST, OVER)),
            )
        case condition_types.SUCCEEDED, "False":
            return turn(
                lane=lane,
                what=status.message or "It has failed.",
                key="failed",
                mark=Emphasis.PROBLEM,
                begins=((lane, states.FAILED),),
            )
        case _:
            return None


def _after_evidence(remediation: AnyRemediation) -> tuple[LaneStart, ...]:
    release = (Lane.REMEDIATION, states.RELEASE)
    by_power = isinstance(remediation, Metal3Remediation)
    return (release, (Lane.HOST, states.OFF)) if by_power else (release,)


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
        key, begins = "not-ready", ((Lane.NODE, states.NOT_READY), (Lane.WORKLOADS, states.HELD))
        if ready.status == "True":
            key, begins = "ready", ((Lane.NODE, states.READY), (Lane.WORKLOADS, OVER))
        what = f"Ready={ready.status}" + (f": {ready.reason}." if ready.reason else ".")
        yield from _known(ready.last_transition_time, Lane.NODE, what, "condition Ready", key, begins)
    for taint in node.spec.taints:
        added = written_moment(taint.time_added)
        if taint.key == well_known.OUT_OF_SERVICE and added is not None:
            ours = taint.value == well_known.OUR_TAINT_VALUE
            yield MomentDraft(
                at=added,
                lane=Lane.WORKLOADS,
                what=f"{'Nodemend' if ours else 'Another client'} set the out-of-service taint on "
                f"{case.name}.",
                sources=("taint",),
                key="release" if ours else "released-by-others",
                mark=Emphasis.RELEASE if ours else Emphasis.PROBLEM,
                begins=((Lane.WORKLOADS, states.LEAVING),),
            )


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
        what, source = "Its agent's last Lease renewal.", "Lease of its agent"
        yield from _known(lease.spec.renew_time, Lane.NODE, what, source, "agent-silent")


def _machine(case: NodeCase) -> Iterator[MomentDraft]:
    behind = value_of(case.behind)
    deleted = written_moment(behind.machine.metadata.deletion_timestamp) if behind is not None else None
    if behind is not None and deleted is not None:
        metadata = behind.machine.metadata
        yield MomentDraft(
            at=deleted,
            lane=Lane.NODE,
            what=f"Its Machine {metadata.namespace}/{metadata.name} is deleted.",
            sources=("Machine",),
            mark=Emphasis.PROBLEM,
        )


def _host(case: NodeCase) -> Iterator[MomentDraft]:
    """Yield the host's power state at the time when metal3 last wrote it, the only time in its status."""
    begun = [written_moment(one.metadata.creation_timestamp) for one in value_of(case.power) or ()]
    if not isinstance(case.host, Present):
        return
    host = case.host.value
    at, on = written_moment(host.status.last_updated), host.status.powered_on
    # A power state from before the first power cycle is not part of the timeline.
    if at is not None and on is not None and any(one is not None and one <= at for one in begun):
        said = "on" if on else "off"
        yield MomentDraft(
            at=at,
            lane=Lane.HOST,
            what=f"metal3 last reported {host.metadata.namespace}/{host.metadata.name} as {said}.",
            sources=("BareMetalHost",),
            key=said,
            begins=((Lane.HOST, states.ON if on else states.OFF),),
        )


def _volumes(case: NodeCase) -> Iterator[MomentDraft]:
    for volume in value_of(case.volumes) or ():
        what = f"{volume.metadata.name} is being detached."
        yield from _known(volume.metadata.deletion_timestamp, Lane.WORKLOADS, what, "VolumeAttachment")
