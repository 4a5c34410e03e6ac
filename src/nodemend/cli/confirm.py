"""Checks, shows, writes and withdraws the operator confirmation of `kubectl mend confirm`.

The decision whether the remediator would accept a confirmation is pure, and uses the remediator's code. The
facts that an operator should see before confirming that a node is down are read live. Each write is a
compare-and-swap on the remediation as just read. A confirmation is written only if the Node, its boot and the
last renewal of its Lease are still those that were shown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import inf
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.manual_remediation import Confirmation, ManualRemediation
from nodemend.api.meta import parse_time
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE, POD, VOLUME_ATTACHMENT
from nodemend.api.upstream_types import Lease, Node, Pod, VolumeAttachment
from nodemend.cli.cluster import MANAGER, MOST_TRIES, Cluster, Refusal, accepted, too_busy
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.listing import find_manual, written_age
from nodemend.cli.text import quoted, spell_moment, spell_seconds
from nodemend.kube.request import Precondition, Request, Selection, merge_patch
from nodemend.records.live_reads import node_facts
from nodemend.remediation.node_state import DEFAULT_LEASE_SECONDS, must_leave
from nodemend.safety.confirmation import GOOD_FOR, Confirmed, evaluate_confirmation
from nodemend.safety.facts import Absent, LeaseFacts, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import in_flight_guard
from nodemend.safety.holds import (
    ConfirmationForOther,
    ConfirmationOutdated,
    Hold,
    HoldReason,
    KubeletActive,
    NoKubeletLease,
    spell_count,
)


@dataclass(frozen=True, slots=True)
class ConfirmFacts:
    remediation: ManualRemediation
    node: ReadResult[Node]
    lease: ReadResult[Lease]
    policy: ReadResult[PolicyFacts]
    pods: ReadResult[list[Pod]]
    attachments: ReadResult[list[VolumeAttachment]]
    caller: str
    may_confirm: bool
    now: datetime


async def gather(cluster: Cluster, node: str, namespace: str) -> ConfirmFacts:
    remediation = await find_manual(cluster, node, namespace)
    where = remediation.metadata.namespace
    on_node = Selection(fields=f"spec.nodeName={node}")
    return ConfirmFacts(
        remediation=remediation,
        node=await cluster.find(NODE, node, Node),
        lease=await cluster.find(LEASE, node, Lease, well_known.KUBELET_LEASE_NAMESPACE),
        policy=await cluster.reader.policy(),
        pods=await cluster.all(POD, Pod, on_node),
        attachments=await cluster.all(VOLUME_ATTACHMENT, VolumeAttachment),
        caller=await cluster.caller(),
        may_confirm=await cluster.may("confirm", MANUAL_REMEDIATION, where, node),
        now=cluster.now,
    )


_SOON: Final = "wait a moment and try again."


def check_confirmation(facts: ConfirmFacts, reason: str) -> Confirmation | Refusal:
    """Return the confirmation to write, or the reason why the remediator would reject it."""
    remediation = facts.remediation
    node, status = remediation.metadata.name, remediation.status
    hint = f"kubectl mend explain {node}"
    if (refusal := _refuse_state(remediation)) is not None:
        return refusal
    if not facts.may_confirm:
        return Refusal(
            f"{facts.caller} may not confirm.",
            "ask for the ClusterRole nodemend-confirmer, which has the verb confirm on manualremediations.",
        )
    match facts.node, facts.lease:
        case Absent(), _:
            return Refusal(f"There is no Node {node} any more: the remediation closes by itself.", hint)
        case (Unreadable(why), _) | (_, Unreadable(why)):
            return Refusal(f"The node's state cannot be read: {why}.", hint)
        case _, Absent():
            return Refusal(NoKubeletLease(node).explain().sentence, hint)
        case Present(seen), Present(lease):
            confirmation = Confirmation(
                by=facts.caller,
                reason=reason,
                node_uid=status.node_uid,
                boot_id=status.boot_id,
                last_renew_time=status.last_renew_time,
            )
            if not confirmation.last_renew_time:
                return _refuse_early(facts, lease)
            confirmed = evaluate_confirmation(
                confirmation, 0.0, node_facts(seen), _lease_facts(facts, lease), inf
            )
            if isinstance(confirmed, Confirmed):
                return confirmation
            return Refusal(_say(confirmed), f"check the machine again; {hint} shows more.")


def lasts(lease: Lease) -> float:
    return float(lease.spec.lease_duration_seconds or DEFAULT_LEASE_SECONDS)


def _refuse_state(remediation: ManualRemediation) -> Refusal | None:
    node, confirmation = remediation.metadata.name, remediation.spec.confirmation
    if remediation.metadata.deleting:
        return Refusal(f"The remediation of {node} is ending.", f"kubectl mend explain {node}")
    if confirmation is not None:
        return Refusal(
            f"{confirmation.by} has already confirmed that {node} is down: {confirmation.reason}.",
            f"kubectl mend explain {node}, or withdraw the confirmation: "
            f"kubectl mend confirm {node} --withdraw",
        )
    if not remediation.status.node_uid:
        return Refusal("The remediator has not recorded the state of the node yet.", _SOON)
    return None


def _refuse_early(facts: ConfirmFacts, lease: Lease) -> Refusal:
    """Refuse a confirmation before the remediator has recorded the last renewal.

    The remediator records it only after it has itself observed enough silence.
    """
    silent_for, needed = written_age(lease.spec.renew_time, facts.now), lasts(lease)
    if silent_for < needed:
        return Refusal(
            KubeletActive(silent_for, needed).explain().sentence, "make sure that it is the right node."
        )
    return Refusal(
        f"The remediator has not yet observed {needed:.0f} s without a renewal by the kubelet.",
        _SOON,
    )


def _lease_facts(facts: ConfirmFacts, lease: Lease) -> LeaseFacts:
    # `evaluate_confirmation` compares renew times. If the Lease still has the time that the remediator
    # recorded, the silence that it measured is still valid, so assume at least the required duration.
    return LeaseFacts(
        renew_time=lease.spec.renew_time or "",
        lasts=lasts(lease),
        unchanged_for=max(written_age(lease.spec.renew_time, facts.now), lasts(lease)),
    )


def _say(reason: HoldReason) -> str:
    """Return why a confirmation would be rejected.

    Two reasons are rephrased here, because their usual text assumes that the confirmation already exists.
    """
    match reason:
        case ConfirmationOutdated(actual=renewed):
            return f"The kubelet renewed its Lease at {renewed}, after it was reported silent: it is alive."
        case ConfirmationForOther(what, said, actual):
            return f"This is now {what} {actual}, and the remediation still names {said}."
        case _:
            return reason.explain().sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmView:
    """The confirmation to write. `pods` and `volumes` are None if the caller may not read them."""

    kind: ClassVar[str] = "Confirm"
    node: str
    namespace: str
    check: str
    by: str
    reason: str
    node_uid: str
    boot_id: str
    ready: str
    last_renew_time: str
    last_heartbeat: datetime | None
    silent_for: float
    silence_needed: float
    instructions: str
    pods: tuple[str, ...] | None
    volumes: tuple[str, ...] | None
    cautions: tuple[str, ...]
    good_for: float = GOOD_FOR


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedView:
    kind: ClassVar[str] = "Confirmed"
    confirmation: ConfirmView
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationWithdrawnView:
    kind: ClassVar[str] = "ConfirmationWithdrawn"
    node: str
    namespace: str
    by: str
    reason: str
    dry_run: bool


def confirm_view(facts: ConfirmFacts, confirmation: Confirmation) -> ConfirmView:
    metadata = facts.remediation.metadata
    lease = facts.lease.value if isinstance(facts.lease, Present) else Lease()
    renewed = lease.spec.renew_time
    return ConfirmView(
        node=metadata.name,
        namespace=metadata.namespace,
        check=metadata.labels.get(well_known.CHECK, ""),
        by=confirmation.by,
        reason=confirmation.reason,
        node_uid=confirmation.node_uid,
        boot_id=confirmation.boot_id,
        ready=facts.node.value.ready if isinstance(facts.node, Present) else "",
        last_renew_time=confirmation.last_renew_time,
        last_heartbeat=parse_time(renewed) if renewed else None,
        silent_for=written_age(renewed, facts.now),
        silence_needed=lasts(lease),
        instructions=facts.remediation.spec.instructions,
        pods=_pods(facts),
        volumes=_volumes(facts),
        cautions=_cautions(facts),
    )


def _pods(facts: ConfirmFacts) -> tuple[str, ...] | None:
    if not isinstance(facts.pods, Present):
        return None
    leaving = (pod.metadata for pod in facts.pods.value if must_leave(pod))
    return tuple(sorted(f"{metadata.namespace}/{metadata.name}" for metadata in leaving))


def _volumes(facts: ConfirmFacts) -> tuple[str, ...] | None:
    if not isinstance(facts.attachments, Present):
        return None
    node = facts.remediation.metadata.name
    specs = (attachment.spec for attachment in facts.attachments.value)
    return tuple(sorted(spec.source.persistent_volume_name or "" for spec in specs if spec.node_name == node))


def _cautions(facts: ConfirmFacts) -> tuple[str, ...]:
    """Warn if the guard is closed. A confirmation has no effect unless the guard opens before it expires."""
    guarded = in_flight_guard(facts.policy)
    if not isinstance(guarded, Hold):
        return ()
    return (f"Nothing would be released now. {guarded.reason.explain()}",)


_MOST_NAMES = 40


def render_preview(view: ConfirmView, zone: tzinfo | None) -> Iterator[str]:
    """Render all facts that an operator should know before confirming."""
    asked = f", requested by nhc/{view.check}," if view.check else ""
    yield f"The remediation {view.namespace}/{view.node}{asked} waits for an operator's confirmation."
    yield ""
    yield f"  node             {view.node}, Ready={view.ready or 'Unknown'}"
    yield f"  boot             {view.boot_id}"
    yield f"  last heartbeat   {_heartbeat(view, zone)}"
    if view.instructions:
        yield f"  instructions     {view.instructions}"
    yield ""
    yield from _names(view.pods, "pod", "released")
    yield from _names(view.volumes, "volume", "detached")
    yield ""
    yield f"You confirm, as {view.by}, that this boot of {view.node} can no longer run anything:"
    yield "it has no power, or it was reset. Do not confirm because you cannot reach it."
    yield "If it still runs, its workloads will run twice and may destroy their data."
    good_for = spell_seconds(view.good_for)
    yield f"The confirmation is valid for {good_for}. You can withdraw it until the release begins."
    for caution in view.cautions:
        yield f"Warning: {caution}"


def render_confirmed(view: ConfirmedView) -> Iterator[str]:
    confirmation = view.confirmation
    if view.dry_run:
        yield (
            f"dry run: the API server would accept the confirmation of {confirmation.by} that "
            f"{confirmation.node} is down."
        )
        yield "Nothing was changed."
        yield f"Next: kubectl mend confirm {confirmation.node} --reason {quoted(confirmation.reason)}"
        return
    yield f"recorded: {confirmation.by} confirms that {confirmation.node} is down: {confirmation.reason}"
    yield "The remediator compares it with the node's current state, and then releases the workloads."
    yield f"  undo, until the release begins:  kubectl mend confirm {confirmation.node} --withdraw"
    yield f"Next: kubectl mend explain {confirmation.node}"


def render_withdrawn(view: ConfirmationWithdrawnView) -> Iterator[str]:
    if view.dry_run:
        yield f"dry run: the API server would remove the confirmation of {view.by} that {view.node} is down."
        yield "Nothing was changed."
        yield f"Next: kubectl mend confirm {view.node} --withdraw"
        return
    yield f"withdrawn: the confirmation of {view.by} that {view.node} is down. It released nothing."
    yield f"  undo:  kubectl mend confirm {view.node} --reason ..."
    yield f"Next: kubectl mend explain {view.node}"


def _heartbeat(view: ConfirmView, zone: tzinfo | None) -> str:
    if view.last_heartbeat is None:
        return "none is known"
    moment, ago = spell_moment(view.last_heartbeat, zone), spell_seconds(view.silent_for)
    return f"{moment}, {ago} ago by the API server's clock"


def _names(names: tuple[str, ...] | None, thing: str, becomes: str) -> Iterator[str]:
    if names is None:
        yield f"  You may not see which {thing}s will be {becomes}."
    elif not names:
        yield f"  No {thing} will be {becomes}."
    else:
        yield f"  {spell_count(len(names), thing)} will be {becomes}:"
        yield from (f"    {name}" for name in names[:_MOST_NAMES])
        if len(names) > _MOST_NAMES:
            yield f"    and {len(names) - _MOST_NAMES} more"


_UNWRITTEN: Final = "Nothing was written."


async def prepare(cluster: Cluster, node: str, namespace: str, reason: str) -> ConfirmView:
    """Return the view to show. Raises CommandFailure if the remediator would reject the confirmation."""
    facts = await gather(cluster, node, namespace)
    return confirm_view(facts, accepted(check_confirmation(facts, reason), _UNWRITTEN))


async def confirm(cluster: Cluster, shown: ConfirmView, *, dry_run: bool) -> None:
    """Write the confirmation for exactly the state that was shown.

    Raises CommandFailure if it has changed since.
    """
    for _ in range(MOST_TRIES):
        facts = await gather(cluster, shown.node, shown.namespace)
        confirmation = accepted(check_confirmation(facts, shown.reason), _UNWRITTEN)
        _refuse_change(shown, confirmation)
        request = _patch(facts.remediation, confirmation)
        if await cluster.change(request, _UNWRITTEN, dry_run=dry_run):
            return
    raise too_busy(f"the remediation of {shown.node}", _UNWRITTEN)


async def withdraw(
    cluster: Cluster, node: str, namespace: str, *, dry_run: bool
) -> ConfirmationWithdrawnView:
    """Remove the confirmation.

    Raises CommandFailure with the API server's message if the release has begun: the API server refuses the
    removal then.
    """
    for _ in range(MOST_TRIES):
        remediation = await find_manual(cluster, node, namespace)
        confirmation = remediation.spec.confirmation
        if confirmation is None:
            raise CommandFailure(
                ExitCode.WRONG,
                f"there is no confirmation to withdraw for {node}.",
                f"kubectl mend explain {node}",
            )
        if await cluster.change(_patch(remediation, None), _UNWRITTEN, dry_run=dry_run):
            where = remediation.metadata.namespace
            return ConfirmationWithdrawnView(
                node=node, namespace=where, by=confirmation.by, reason=confirmation.reason, dry_run=dry_run
            )
    raise too_busy(f"the remediation of {node}", _UNWRITTEN)


def _refuse_change(shown: ConfirmView, confirmation: Confirmation) -> None:
    """Raise CommandFailure if the node has booted or renewed since.

    An operator confirms only the state that was shown.
    """
    saw = (shown.node_uid, shown.boot_id, shown.last_renew_time)
    if saw != (confirmation.node_uid, confirmation.boot_id, confirmation.last_renew_time):
        raise CommandFailure(
            ExitCode.WRONG,
            f"{shown.node} has booted, or renewed its Lease, since it was shown. Nothing was written.",
            "check the machine again, then start over.",
        )


def _patch(remediation: ManualRemediation, confirmation: Confirmation | None) -> Request:
    metadata = remediation.metadata
    return merge_patch(
        MANUAL_REMEDIATION,
        metadata.name,
        metadata.namespace,
        change={"spec": {"confirmation": confirmation}},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=MANAGER,
    )
