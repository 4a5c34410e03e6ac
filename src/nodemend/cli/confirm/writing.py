"""Writes a word, and takes it back: each a compare-and-swap on the very object that was shown."""

from typing import Final

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.api.manual_remediation import Confirmation, ManualRemediation
from nodemend.cli.cluster import MANAGER, Cluster
from nodemend.cli.confirm.facts import gather
from nodemend.cli.confirm.judgement import Refusal, weigh_word
from nodemend.cli.confirm.view import ConfirmView, WithdrawnView, confirm_view
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.remediations import find_manual
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import Precondition, Request, merge_patch

_MOST_TRIES: Final = 5
"""The remediator writes the status now and then, and each time ours meets a conflict."""


async def prepare(cluster: Cluster, node: str, namespace: str, reason: str) -> ConfirmView:
    """What to show. Raises CommandFailure when the word would not be believed."""
    facts = await gather(cluster, node, namespace)
    return confirm_view(facts, _believable(weigh_word(facts, reason)))


async def confirm(cluster: Cluster, shown: ConfirmView, *, dry_run: bool) -> None:
    """Write the word for exactly what was shown; anything that has changed since ends it."""
    for _ in range(_MOST_TRIES):
        facts = await gather(cluster, shown.node, shown.namespace)
        word = _believable(weigh_word(facts, shown.reason))
        _refuse_change(shown, word)
        outcome = await cluster.write(_patch(facts.remediation, word), Acknowledged, dry_run=dry_run)
        if not _must_retry(outcome):
            return
    raise _too_busy(shown.node)


async def withdraw(cluster: Cluster, node: str, namespace: str, *, dry_run: bool) -> WithdrawnView:
    """Take the word back. The API server refuses that once the release has begun, and says so."""
    for _ in range(_MOST_TRIES):
        remediation = await find_manual(cluster, node, namespace)
        word = remediation.spec.confirmation
        if word is None:
            raise CommandFailure(
                ExitCode.WRONG,
                f"nobody has vouched for {node}: there is no word to take back.",
                f"kubectl mend explain {node}",
            )
        outcome = await cluster.write(_patch(remediation, None), Acknowledged, dry_run=dry_run)
        if not _must_retry(outcome):
            where = remediation.metadata.namespace
            return WithdrawnView(node=node, namespace=where, by=word.by, reason=word.reason, dry_run=dry_run)
    raise _too_busy(node)


def _believable(weighed: Confirmation | Refusal) -> Confirmation:
    if isinstance(weighed, Refusal):
        raise CommandFailure(ExitCode.WRONG, f"{weighed.why} Nothing was written.", weighed.next_step)
    return weighed


def _refuse_change(shown: ConfirmView, word: Confirmation) -> None:
    """A person vouches for what they saw. A boot or a sign of life that came later they have not seen."""
    saw = (shown.node_uid, shown.boot_id, shown.last_renew_time)
    if saw != (word.node_uid, word.boot_id, word.last_renew_time):
        raise CommandFailure(
            ExitCode.WRONG,
            f"{shown.node} has given a sign of life since you looked. Nothing was written.",
            "look at the machine again, then start over.",
        )


def _patch(remediation: ManualRemediation, word: Confirmation | None) -> Request:
    metadata = remediation.metadata
    return merge_patch(
        MANUAL_REMEDIATION,
        metadata.name,
        metadata.namespace,
        change={"spec": {"confirmation": word}},
        only_if=Precondition(metadata.uid, metadata.resource_version),
        manager=MANAGER,
    )


def _must_retry(outcome: Acknowledged | Refused | None) -> bool:
    """Whether somebody wrote first. Raises CommandFailure for any other refusal."""
    match outcome:
        case Refused(reason=Reason.CONFLICT):
            return True
        case Refused(message=why):
            raise CommandFailure(ExitCode.WRONG, f"the API server refused: {why}. Nothing was written.")
        case _:
            return False


def _too_busy(node: str) -> CommandFailure:
    return CommandFailure(
        ExitCode.WRONG,
        f"the remediation of {node} kept changing under our hands. Nothing was written.",
        "try again.",
    )
