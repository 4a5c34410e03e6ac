"""Writes and removes the one pause of the cluster."""

from dataclasses import dataclass
from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import REMEDIATION_POLICY
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import MANAGER, Cluster
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import Precondition, Request, create, merge_patch

_MOST_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Change:
    """What stood there before. `created` when there was no policy, so that it is now one with DryRun."""

    before: Pause | None
    created: bool = False


async def set_pause(cluster: Cluster, pause: Pause, *, keep: bool = False, dry_run: bool) -> Change:
    """Pause. An existing pause is replaced; with `keep` it is left alone, unless it would end by itself."""
    for _ in range(_MOST_TRIES):
        policy = await _policy(cluster)
        before = policy.spec.pause if policy is not None else None
        if keep and before is not None and before.until is None:
            return Change(before)
        request = _create(pause) if policy is None else _patch(policy, pause)
        if await _took(cluster, request, dry_run=dry_run):
            return Change(before, created=policy is None)
    raise _too_busy()


async def clear_pause(cluster: Cluster, *, dry_run: bool) -> Change:
    """Resume. Without a pause nothing is written."""
    for _ in range(_MOST_TRIES):
        policy = await _policy(cluster)
        if policy is None or policy.spec.pause is None:
            return Change(None)
        if await _took(cluster, _patch(policy, None), dry_run=dry_run):
            return Change(policy.spec.pause)
    raise _too_busy()


async def _policy(cluster: Cluster) -> RemediationPolicy | None:
    match await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy):
        case Present(policy):
            return policy
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
            raise CommandFailure(
                ExitCode.WRONG,
                "this cluster has no RemediationPolicies; is Nodemend installed?",
                "kubectl mend check",
            )
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


def _patch(policy: RemediationPolicy, pause: Pause | None) -> Request:
    # Every field is named: a merge would keep the end of the pause that was there before.
    fields = {"reason": pause.reason, "by": pause.by, "until": pause.until} if pause is not None else None
    return merge_patch(
        REMEDIATION_POLICY,
        policy.metadata.name,
        change={"spec": {"pause": fields}},
        only_if=Precondition(policy.metadata.uid, policy.metadata.resource_version),
        manager=MANAGER,
    )


def _too_busy() -> CommandFailure:
    return CommandFailure(
        ExitCode.WRONG,
        "the RemediationPolicy kept changing under our hands. Nothing was changed.",
        "try again.",
    )
