"""Sets and removes the pause of the cluster or of one check, for `kubectl mend pause` and `resume`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from nodemend.api import well_known
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.meta import ObjectMeta, Pause, written_moment
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.resources import NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.cluster import MANAGER, MOST_TRIES, Cluster, may_have, must_have, not_installed, too_busy
from nodemend.cli.exit_codes import CommandFailure
from nodemend.cli.listing import AnyRemediation, node_of
from nodemend.cli.text import align, quoted
from nodemend.kube.request import Precondition, Request, create, merge_patch, object_of
from nodemend.records.live_reads import active_pause
from nodemend.safety.holds import spell_count

_LONGEST_REASON: Final = 1024
"""Maximum length in the API."""
_BEFORE: Final = "before that"


@dataclass(frozen=True, slots=True)
class PauseChange:
    """The pause before and after a write. An expired pause counts as no pause.

    `created` is True if there was no RemediationPolicy. The new one has the mode DryRun.
    """

    before: Pause | None
    after: Pause | None = None
    created: bool = False


@dataclass(frozen=True, slots=True)
class _Holder:
    """The object that a pause is set on: the RemediationPolicy or one check."""

    resource: Resource
    metadata: ObjectMeta
    pause: Pause | None


async def set_pause(
    cluster: Cluster,
    pause: Pause,
    *,
    check: str = "",
    keep: bool = False,
    replace: bool = False,
    dry_run: bool,
) -> PauseChange:
    """Pause the cluster or one check.

    A pause that is already set is merged with the new one: the later end applies and both reasons are kept.
    With `replace`, the new one replaces it. With `keep`, an existing pause without an end is left unchanged.
    """
    for _ in range(MOST_TRIES):
        holder = await _holder(cluster, check)
        before = active_pause(holder.pause, cluster.now) if holder is not None else None
        if keep and before is not None and before.until is None:
            return PauseChange(before, before)
        after = pause if before is None or replace else merged_pause(pause, before)
        request = _create(after) if holder is None else _patch(holder, after)
        if await _took(cluster, request, dry_run=dry_run):
            return PauseChange(before, after, created=holder is None)
    raise _too_busy(check)


def merged_pause(pause: Pause, before: Pause) -> Pause:
    """Merge two pauses into one, since an object has only one.

    A user who resumes must see both reasons, and neither pause may end early.
    """
    reason, earlier = pause.reason, before.reason
    if earlier == reason or earlier.startswith(f"{reason}; {_BEFORE} "):
        reason = earlier
    elif earlier:
        reason = f"{reason}; {_BEFORE} {before.by or 'an unknown user'}: {earlier}"
    # An invalid end does not count as one: such a pause does not end by itself.
    ends = [(moment, one.until) for one in (pause, before) if (moment := written_moment(one.until))]
    until = max(ends)[1] if len(ends) == 2 else None
    return pause.but(reason=reason[:_LONGEST_REASON], until=until)


async def clear_pause(cluster: Cluster, *, check: str = "", dry_run: bool) -> PauseChange:
    """Remove the pause. Writes nothing if the object is not paused."""
    for _ in range(MOST_TRIES):
        holder = await _holder(cluster, check)
        if holder is None or holder.pause is None:
            return PauseChange(None, None)
        if await _took(cluster, _patch(holder, None), dry_run=dry_run):
            return PauseChange(holder.pause, None)
    raise _too_busy(check)


async def _holder(cluster: Cluster, check: str) -> _Holder | None:
    """Return the object to pause; None if there is no RemediationPolicy. A check must exist."""
    if check:
        found = must_have(
            await cluster.find(NODE_HEALTH_CHECK, check, NodeHealthCheck), f"NodeHealthCheck {check}"
        )
        return _Holder(NODE_HEALTH_CHECK, found.metadata, found.spec.pause)
    policy = may_have(await cluster.policy(), "the RemediationPolicy")
    if policy is None:
        return None
    return _Holder(REMEDIATION_POLICY, policy.metadata, policy.spec.pause)


async def _took(cluster: Cluster, request: Request, *, dry_run: bool) -> bool:
    return await cluster.change(request, "Nothing was changed.", dry_run=dry_run, missing=not_installed())


def _create(pause: Pause) -> Request:
    fields = {"metadata": {"name": well_known.POLICY_NAME}, "spec": {"pause": pause}}
    return create(REMEDIATION_POLICY, object_of(REMEDIATION_POLICY, fields), manager=MANAGER)


def _patch(holder: _Holder, pause: Pause | None) -> Request:
    # Set every field: a merge patch without `until` would keep the end of the previous pause.
    fields = {"reason": pause.reason, "by": pause.by, "until": pause.until} if pause is not None else None
    metadata = holder.metadata
    return merge_patch(
        holder.resource,
        metadata.name,
        change={"spec": {"pause": fields}},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=MANAGER,
    )


def _too_busy(check: str) -> CommandFailure:
    what = f"nhc/{check}" if check else "the RemediationPolicy"
    return too_busy(what, "The pause was not changed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDuringPause:
    """A remediation that is open during the pause, and its behaviour until the pause ends."""

    node: str
    phase: str
    meanwhile: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedView:
    kind: ClassVar[str] = "Paused"
    check: str
    """The paused check; empty for the whole cluster."""
    by: str
    reason: str
    until: str
    """Time at which the pause ends by itself; empty if a user must end it."""
    before_by: str
    before_reason: str
    before_until: str
    """The pause that was set before.

    The three are empty if there was no pause; the last one if it had no end.
    """
    created_policy: bool
    going_on: tuple[OpenDuringPause, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedView:
    """The result of resume. `was_paused` is False if there was no pause to end."""

    kind: ClassVar[str] = "Resumed"
    check: str
    was_paused: bool
    by: str
    reason: str
    dry_run: bool


def paused_view(
    pause: Pause,
    change: PauseChange,
    remediations: Iterable[AnyRemediation],
    *,
    check: str = "",
    dry_run: bool,
) -> PausedView:
    before = change.before or Pause(reason="")
    return PausedView(
        check=check,
        by=pause.by,
        reason=pause.reason,
        until=pause.until or "",
        before_by=before.by,
        before_reason=before.reason,
        before_until=before.until or "",
        created_policy=change.created,
        going_on=tuple(
            OpenDuringPause(
                node=node_of(found),
                phase=found.status.phase,
                meanwhile="goes on" if check else _meanwhile(found),
            )
            for found in remediations
        ),
        dry_run=dry_run,
    )


def resumed_view(change: PauseChange, *, check: str = "", dry_run: bool) -> ResumedView:
    before, was_paused = change.before or Pause(reason=""), change.before is not None
    return ResumedView(
        check=check, was_paused=was_paused, by=before.by, reason=before.reason, dry_run=dry_run
    )


def _meanwhile(remediation: AnyRemediation) -> str:
    """Describe what an open remediation does during the pause, by the rules of its kind.

    A pause prevents the start of a release, but never interrupts one that has started.
    """
    status = remediation.status
    if remediation.metadata.deleting:
        return "goes on ending"
    if status.released:
        return "goes on waiting for the node to come back"
    if status.evidence is not None:
        return "finishes a release that has begun, and begins none"
    if isinstance(remediation, ManualRemediation):
        return "waits; nothing is released on a confirmation"
    if isinstance(remediation, SelfRemediation):
        return "requests no reset and releases nothing; a reset that was already requested may happen"
    return "switches no host off and releases nothing; a host that is already held off stays off"


def render_paused(view: PausedView) -> Iterator[str]:
    until = f" until {view.until}" if view.until else ""
    what = f" nhc/{view.check}" if view.check else ""
    yield f"{'dry run: ' if view.dry_run else ''}paused{what}{until} by {view.by}: {view.reason}"
    if view.before_reason:
        ended = f"until {view.before_until}" if view.before_until else "without an end"
        before_by = view.before_by or "an unknown user"
        yield f"It was paused already, {ended}, by {before_by}: {view.before_reason}"
        if view.before_reason in view.reason:
            yield "They are now one pause: it ends at the later end, and one resume ends it."
        else:
            yield "That pause is replaced."
    if view.created_policy:
        yield "There was no RemediationPolicy; this one is in mode DryRun, as without one."
    if view.check:
        yield "Nothing new begins for the nodes of this check. Their health is still evaluated."
    else:
        yield "No new action begins anywhere in the cluster. The health of nodes is still evaluated."
    if view.going_on:
        yield f"{spell_count(len(view.going_on), 'remediation is', 'remediations are')} open:"
        yield from (f"  {line}" for line in align([(r.node, r.phase, r.meanwhile) for r in view.going_on]))
        yield f"  end them too:  kubectl mend stop {'NODE' if view.check else '--all'}"
    yield from _nothing_changed(dry_run=view.dry_run)
    yield f"  undo:  kubectl mend resume{_flag(view.check)}"
    yield "Next: kubectl mend status"


def render_resumed(view: ResumedView) -> Iterator[str]:
    if not view.was_paused:
        yield f"{f'nhc/{view.check}' if view.check else 'It'} is not paused. Nothing was changed."
        yield "Next: kubectl mend status"
        return
    what = f" nhc/{view.check}" if view.check else ""
    paused = f"was paused by {view.by or 'an unknown user'}: {view.reason}"
    yield f"{'dry run: ' if view.dry_run else ''}resumed{what}; it {paused}"
    yield "Remediations begin and go on again, as far as the mode allows."
    yield from _nothing_changed(dry_run=view.dry_run)
    yield f"  undo:  kubectl mend pause{_flag(view.check)} --reason {quoted(view.reason)}"
    yield "Next: kubectl mend status"


def _flag(check: str) -> str:
    return f" --check {check}" if check else ""


def _nothing_changed(*, dry_run: bool) -> Iterator[str]:
    if dry_run:
        yield "This is what would happen. Nothing was changed."
