"""What objects themselves still tell of the past, as drafts: it outlives the events. Pure."""

from collections.abc import Iterator

from nodemend.api import keys
from nodemend.api.timestamps import written_moment
from nodemend.cli.agents import read_agent
from nodemend.cli.node_case import NodeCase
from nodemend.cli.timeline import drafts as states
from nodemend.cli.timeline.drafts import OVER, Draft
from nodemend.cli.timeline.recorded_history import of_machine, of_node
from nodemend.cli.timeline.recorded_remediations import last_life, remediation_drafts
from nodemend.cli.timeline.view import Lane, Mark
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.remediating.surroundings import DEFAULT_LEASE_SECONDS
from nodemend.decide.facts import Present


def recorded(case: NodeCase) -> Iterator[Draft]:
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


def _node(case: NodeCase) -> Iterator[Draft]:
    node = value_of(case.node)
    if node is None:
        return
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    at = written_moment(ready.last_transition_time) if ready is not None else None
    if ready is not None and at is not None:
        up = ready.status == "True"
        yield Draft(
            at=at,
            lane=Lane.NODE,
            what=f"Ready={ready.status}" + (f": {ready.reason}." if ready.reason else "."),
            source="condition Ready",
            key="ready" if up else "not-ready",
            begins=((Lane.NODE, states.READY), (Lane.WORKLOADS, OVER))
            if up
            else ((Lane.NODE, states.NOT_READY), (Lane.WORKLOADS, states.HELD)),
        )
    for taint in node.spec.taints:
        added = written_moment(taint.time_added)
        if taint.key == keys.OUT_OF_SERVICE and added is not None:
            ours = taint.value == keys.OUR_TAINT_VALUE
            yield Draft(
                at=added,
                lane=Lane.WORKLOADS,
                what=f"{case.name} is marked out of service{'' if ours else ', and not by us'}.",
                source="taint",
                key="release" if ours else "released-by-others",
                mark=Mark.RELEASE if ours else Mark.TROUBLE,
                begins=((Lane.WORKLOADS, states.LEAVING),),
            )


def _kubelet(case: NodeCase) -> Iterator[Draft]:
    """Only of a silent one: else its last renewal is always just now."""
    lease = value_of(case.kubelet)
    renewed = written_moment(lease.spec.renew_time) if lease is not None else None
    if lease is not None and renewed is not None:
        lasts = float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)
        if (case.now - renewed).total_seconds() > lasts:
            yield last_life(renewed, "Lease")


def _agent(case: NodeCase) -> Iterator[Draft]:
    """Likewise."""
    lease = value_of(case.agent)
    renewed = written_moment(lease.spec.renew_time) if lease is not None else None
    if lease is not None and renewed is not None and read_agent(lease, case.now).silent:
        what = "Its agent's last sign of life."
        yield Draft(at=renewed, lane=Lane.NODE, what=what, source="Lease of its agent", key="agent-silent")


def _machine(case: NodeCase) -> Iterator[Draft]:
    behind = value_of(case.behind)
    deleted = written_moment(behind.machine.metadata.deletion_timestamp) if behind is not None else None
    if behind is not None and deleted is not None:
        metadata = behind.machine.metadata
        yield Draft(
            at=deleted,
            lane=Lane.NODE,
            what=f"Its Machine {metadata.namespace}/{metadata.name} is deleted.",
            source="Machine",
            mark=Mark.TROUBLE,
        )


def _host(case: NodeCase) -> Iterator[Draft]:
    """What it says of its power, as of when its operator last wrote: the only date that it has."""
    begun = [written_moment(one.metadata.creation_timestamp) for one in value_of(case.power) or ()]
    if not isinstance(case.host, Present):
        return
    host = case.host.value
    at, on = written_moment(host.status.last_updated), host.status.powered_on
    # What it wrote before anybody asked for its power is no part of the story.
    if at is not None and on is not None and any(one is not None and one <= at for one in begun):
        said = "on" if on else "off"
        yield Draft(
            at=at,
            lane=Lane.HOST,
            what=f"The operator of {host.metadata.namespace}/{host.metadata.name} last wrote: {said}.",
            source="BareMetalHost",
            key=said,
            begins=((Lane.HOST, states.ON if on else states.OFF),),
        )


def _volumes(case: NodeCase) -> Iterator[Draft]:
    for volume in value_of(case.volumes) or ():
        at = written_moment(volume.metadata.deletion_timestamp)
        if at is not None:
            what = f"{volume.metadata.name} is to be detached."
            yield Draft(at=at, lane=Lane.WORKLOADS, what=what, source="VolumeAttachment")
