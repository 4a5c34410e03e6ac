"""Deletes remediations for `kubectl mend stop`, and describes how each of them ends.

The finalizer keeps each remediation until the remediator has ended it safely.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from nodemend.api import self_remediation, well_known
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationPhase
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import MOST_TRIES, Cluster
from nodemend.cli.listing import AnyRemediation, node_of, resource_of
from nodemend.cli.text import align, spell_list
from nodemend.kube.outcome import Acknowledged, Reason, Refused
from nodemend.kube.request import Precondition, delete
from nodemend.safety.facts import Absent, Unreadable
from nodemend.safety.holds import spell_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """One remediation that is being deleted, or would be in a dry run: its state before, and how it ends."""

    node: str
    namespace: str
    check: str
    phase: str
    ends: str


@dataclass(frozen=True, slots=True)
class NotStopped:
    """One remediation that continues, and the reason."""

    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopView:
    """The result of stop. `paused` is True if the cluster was paused as well."""

    kind: ClassVar[str] = "Stop"
    stopped: tuple[Stopped, ...]
    failed: tuple[NotStopped, ...]
    paused: bool
    pause_reason: str
    dry_run: bool


def stopped_view(remediation: AnyRemediation) -> Stopped:
    metadata = remediation.metadata
    return Stopped(
        node=node_of(remediation),
        namespace=metadata.namespace,
        check=metadata.labels.get(well_known.CHECK, ""),
        phase="Ending" if metadata.deleting else remediation.status.phase,
        ends=_ends(remediation),
    )


def _ends(remediation: AnyRemediation) -> str:
    status = remediation.status
    if remediation.metadata.deleting:
        return "was ending already"
    if isinstance(remediation, Metal3Remediation):
        return _ends_with_power(remediation)
    if isinstance(remediation, SelfRemediation):
        return _ends_with_marker(remediation)
    if status.released:
        return "ends; its workloads run elsewhere, and nothing waits for the node any longer"
    if status.evidence is not None:
        return "ends once its taint is off the node; what was released by then runs elsewhere"
    return "ends at once; nothing was released"


def _ends_with_power(remediation: Metal3Remediation) -> str:
    """Describe the end of a power cycle, as in remediation/metal3/decide.

    A release that has started is completed first.
    """
    match remediation.status.phase:
        case Metal3RemediationPhase.RELEASE:
            return "ends once its workloads have left the node and its host is on again"
        case Metal3RemediationPhase.CONTRADICTED:
            return "ends once its host is on again; its workloads may run twice"
        case Metal3RemediationPhase.POWER_ON | Metal3RemediationPhase.DELETING_MACHINE:
            return "ends once its host is on again; its workloads run elsewhere"
        case Metal3RemediationPhase.POWER_OFF:
            return "ends once its host is on again; nothing was released"
        case _:
            return "ends at once; its host is left alone"


def _ends_with_marker(remediation: SelfRemediation) -> str:
    """Describe the end of self-fencing, as in remediation/self_fencing/decide.

    The taint is removed before the marker. A requested reset cannot be cancelled.
    """
    status = remediation.status
    if status.released:
        return (
            "ends once its marker is off; its workloads run elsewhere, and nothing waits for the node any"
            " longer"
        )
    if status.evidence is not None:
        return "ends once its taint and its marker are off; what was released by then runs elsewhere"
    if status.phase is self_remediation.SelfRemediationPhase.PENDING:
        return "ends at once; no reset was requested"
    return "ends once its marker is off; nothing was released, and the node may have reset itself"


_ANEW = "nodes that are still unhealthy are remediated again"


def render(view: StopView) -> Iterator[str]:
    dry = "dry run: " if view.dry_run else ""
    if view.paused:
        yield f"{dry}paused: {view.pause_reason}"
    if view.stopped:
        yield f"{dry}stopped {spell_count(len(view.stopped), 'remediation')}:"
        yield from (f"  {line}" for line in align([(s.node, s.phase, s.ends) for s in view.stopped]))
    elif not view.failed:
        yield "No remediation is open."
    yield from (f"NOT stopped: {failed.node}: {failed.why}" for failed in view.failed)
    if view.dry_run:
        yield "This is what would happen. Nothing was changed."
    checks = sorted({f"nhc/{stopped.check}" for stopped in view.stopped if stopped.check})
    if checks and not view.paused:
        yield f"{spell_list(checks)} will request remediations of nodes that stay unhealthy. To prevent that:"
        yield "  kubectl mend pause --reason ..."
    yield f"  undo:  {'kubectl mend resume; then' if view.paused else 'none;'} {_ANEW}"
    yield f"Next: kubectl mend {'check' if view.failed else 'status'}"


async def stop(
    cluster: Cluster, remediation: AnyRemediation, *, dry_run: bool
) -> Stopped | NotStopped | None:
    """Delete one remediation. Returns None if it had already ended.

    Only the object with the UID that was shown is deleted, in any later version.
    """
    uid, name = remediation.metadata.uid, remediation.metadata.name
    resource, node = resource_of(remediation), node_of(remediation)
    for _ in range(MOST_TRIES):
        metadata = remediation.metadata
        if metadata.deleting:
            return stopped_view(remediation)
        only_if = Precondition(uid, metadata.resource_version)
        request = delete(resource, name, metadata.namespace, only_if=only_if)
        match await cluster.write(request, Acknowledged, dry_run=dry_run):
            case Refused(reason=Reason.CONFLICT):
                pass
            case Refused(reason=Reason.NOT_FOUND):
                return None
            case Refused(message=why):
                return NotStopped(node, why)
            case _:
                return stopped_view(remediation)
        found = await cluster.find(resource, name, type(remediation), metadata.namespace)
        if isinstance(found, Unreadable):
            return NotStopped(node, f"it changed, and cannot be read: {found.why}")
        if isinstance(found, Absent) or found.value.metadata.uid != uid:
            return None
        remediation = found.value
    return NotStopped(node, "it changed at every attempt; try again")


def stop_view(
    ended: Iterable[Stopped | NotStopped | None],
    *,
    paused: bool,
    pause_reason: str,
    dry_run: bool,
) -> StopView:
    found = tuple(ended)
    return StopView(
        stopped=tuple(one for one in found if isinstance(one, Stopped)),
        failed=tuple(one for one in found if isinstance(one, NotStopped)),
        paused=paused,
        pause_reason=pause_reason,
        dry_run=dry_run,
    )
