"""Writes and removes the pause of the cluster, or of one check."""

from dataclasses import dataclass
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.timestamps import written_moment
from nodemend.cli.cluster import MANAGER, Cluster, must_have, not_installed
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.controllers.pauses import in_force
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import Precondition, Request, create, merge_patch

_MOST_TRIES: Final = 5
_LONGEST_REASON: Final = 1024
"""As the API has it."""
_BEFORE: Final = "before that"


@dataclass(frozen=True, slots=True)
class Change:
    """What stood there before, and what stands there now. A pause that was over is none.

    `created` when there was no policy, so that it is now one with DryRun.
    """

    before: Pause | None
    after: Pause | None = None
    created: bool = False


@dataclass(frozen=True, slots=True)
class _Holder:
    """What a pause stands on: the policy for the whole cluster, or one check."""

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
) -> Change:
    """Pause the cluster, or one check. With a pause that stands it becomes one: the later end holds, and both
    reasons are kept. With `replace` the new one stands alone; with `keep` one without an end is left as it
    is."""
    for _ in range(_MOST_TRIES):
        holder = await _holder(cluster, check)
        before = in_force(holder.pause, cluster.now) if holder is not None else None
        if keep and before is not None and before.until is None:
            return Change(before, before)
        after = pause if before is None or replace else merged_pause(pause, before)
        request = _create(after) if holder is None else _patch(holder, after)
        if await _took(cluster, request, dry_run=dry_run):
            return Change(before, after, created=holder is None)
    raise _too_busy(check)


def merged_pause(pause: Pause, before: Pause) -> Pause:
    """There is room for one pause: whoever resumes must see whose they end, and none ends early."""
    reason, earlier = pause.reason, before.reason
    if earlier == reason or earlier.startswith(f"{reason}; {_BEFORE} "):
        reason = earlier
    elif earlier:
        reason = f"{reason}; {_BEFORE} {before.by or 'somebody'}: {earlier}"
    # An end that cannot be read is none: such a pause goes on.
    ends = [(moment, one.until) for one in (pause, before) if (moment := written_moment(one.until))]
    until = max(ends)[1] if len(ends) == 2 else None
    return pause.but(reason=reason[:_LONGEST_REASON], until=until)


async def clear_pause(cluster: Cluster, *, check: str = "", dry_run: bool) -> Change:
    """Resume. Without a pause nothing is written."""
    for _ in range(_MOST_TRIES):
        holder = await _holder(cluster, check)
        if holder is None or holder.pause is None:
            return Change(None, None)
        if await _took(cluster, _patch(holder, None), dry_run=dry_run):
            return Change(holder.pause, None)
    raise _too_busy(check)


async def _holder(cluster: Cluster, check: str) -> _Holder | None:
    """None where there is no policy. A check must be there."""
    if check:
        found = must_have(
            await cluster.find(NODE_HEALTH_CHECK, check, NodeHealthCheck), f"NodeHealthCheck {check}"
        )
        return _Holder(NODE_HEALTH_CHECK, found.metadata, found.spec.pause)
    match await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy):
        case Present(policy):
            return _Holder(REMEDIATION_POLICY, policy.metadata, policy.spec.pause)
        case Absent():
            return None
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the RemediationPolicy cannot be read: {why}.")


async def _took(cluster: Cluster, request: Request, *, dry_run: bool) -> bool:
    """False when somebody wrote first, and it must be looked at again."""
    match await cluster.write(request, Acknowledged, dry_run=dry_run):
        case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return False
        case Refused(reason=Reason.NOT_FOUND):
            raise not_installed()
        case Refused(message=why):
            raise CommandFailure(ExitCode.WRONG, f"the API server refused: {why}. Nothing was changed.")
        case _:
            return True


def _create(pause: Pause) -> Request:
    body = {
        "apiVersion": REMEDIATION_POLICY.api_version,
        "kind": REMEDIATION_POLICY.kind,
        "metadata": {"name": keys.POLICY_NAME},
        "spec": {"pause": pause},
    }
    return create(REMEDIATION_POLICY, body, manager=MANAGER)


def _patch(holder: _Holder, pause: Pause | None) -> Request:
    # Every field is named: a merge would keep the end of the pause that was there before.
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
    return CommandFailure(
        ExitCode.WRONG,
        f"{what} kept changing under our hands. Nothing was changed.",
        "try again.",
    )
