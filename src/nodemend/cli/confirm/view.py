"""What `kubectl mend confirm` shows before it asks, and says afterwards."""

from dataclasses import dataclass
from datetime import datetime

from nodemend.api import keys
from nodemend.api.lease import Lease
from nodemend.api.manual_remediation import Confirmation
from nodemend.api.timestamps import parse_time
from nodemend.cli.confirm.facts import ConfirmFacts
from nodemend.cli.confirm.judgement import lasts, silence
from nodemend.controllers.remediating.surroundings import must_leave
from nodemend.decide.facts import Present
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.decide.human_word import GOOD_FOR
from nodemend.decide.storm_guard import brake


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmView:
    """`pods` and `volumes` are None where the caller may not see them."""

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
    """What became of it."""

    word: ConfirmView
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawnView:
    node: str
    namespace: str
    by: str
    reason: str
    dry_run: bool


def confirm_view(facts: ConfirmFacts, word: Confirmation) -> ConfirmView:
    metadata = facts.remediation.metadata
    lease = facts.lease.value if isinstance(facts.lease, Present) else Lease()
    renewed = lease.spec.renew_time
    return ConfirmView(
        node=metadata.name,
        namespace=metadata.namespace,
        check=metadata.labels.get(keys.CHECK, ""),
        by=word.by,
        reason=word.reason,
        node_uid=word.node_uid,
        boot_id=word.boot_id,
        ready=facts.node.value.ready if isinstance(facts.node, Present) else "",
        last_renew_time=word.last_renew_time,
        last_heartbeat=parse_time(renewed) if renewed else None,
        silent_for=silence(facts, lease),
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
    return tuple(sorted(spec.source.persistent_volume_name for spec in specs if spec.node_name == node))


def _cautions(facts: ConfirmFacts) -> tuple[str, ...]:
    """A word given while the guard is closed is good for nothing unless it opens in time."""
    guarded = brake(facts.policy)
    if not isinstance(guarded, Hold):
        return ()
    return (f"Nothing would be released as things are. {explain(guarded.reason)}",)
