"""Remediations that a check asked for and that no check answers for any more: they are withdrawn.

A check is deleted, no longer selects the node, or names other remedies. Those of a kind that no check names
any more are seen only by replicas that watched it before (checking/remedy_watch).
"""

from dataclasses import dataclass
from typing import Protocol

from nodemend.api import keys
from nodemend.api.group_versions import NODE_HEALTH_CHECK
from nodemend.api.node_health_check import HowEnded, NodeHealthCheck
from nodemend.controllers.checking.remedies import RemedyKind
from nodemend.controllers.checking.withdrawal import withdraw_remediation
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import Reader, seen, value_of
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.controllers.node_health_check.history import History
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.remediation_request import Withdraw, decide_orphan
from nodemend.kube.api_request import Request
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record

LOOK_AGAIN = 10.0


class Named(Protocol):
    """A Node, or one that was."""

    @property
    def name(self) -> str: ...

    @property
    def uid(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Former:
    name: str
    uid: str = ""


class OrphanRecorder(Protocol):
    def withdrew_orphan(self, node: Named, record: RemediationRecord) -> None: ...


class Orphans:
    """Serves one leadership."""

    def __init__(
        self, view: View, reader: Reader, writer: Writer, recorder: OrphanRecorder, history: History
    ) -> None:
        self._view = view
        self._reader = reader
        self._writer = writer
        self._recorder = recorder
        self._history = history

    async def withdraw(self, name: str, target: Target | None) -> Outcome | None:
        """The node's orphan, if it has one that may go; the watch tells when it is gone."""
        node = self._view.nodes.get(name)
        orphan = find_unowned(self._view, name) if node is None else find_orphan(self._view, node, target)
        if orphan is None or decide_orphan(gather.as_orphan(orphan)) != Withdraw():
            return None
        gone = node is not None or isinstance(await self._reader.node(name), Absent)
        write = await self._look_again(orphan) if gone else None
        if write is None:
            return RequeueAfter(LOOK_AGAIN)
        self._history.expect(orphan, HowEnded.GONE if node is None else HowEnded.WITHDRAWN)
        outcome = await self._writer.write(write)
        if outcome == Done():
            self._recorder.withdrew_orphan(node or _Former(name), orphan)
        return outcome

    async def _look_again(self, orphan: RemediationRecord) -> Request | None:
        """None unless the check that asked for it is as we see it, or gone, and it may still go."""
        asked_by = orphan.labels.get(keys.CHECK, "")
        check = seen(await self._reader.get(NODE_HEALTH_CHECK, asked_by, NodeHealthCheck))
        if isinstance(check, Unreadable) or _version(value_of(check)) != _version(
            self._view.checks.get(asked_by)
        ):
            return None
        outcome = await self._reader.get(orphan.resource, orphan.name, RemediationWire, orphan.namespace)
        match seen(outcome):
            case Present(wire) if wire.metadata.uid == orphan.uid:
                fresh = as_record(orphan.resource, wire)
                may_go = decide_orphan(gather.as_orphan(fresh)) == Withdraw()
                return withdraw_remediation(fresh) if may_go else None
            case _:
                return None


def find_orphan(view: View, node: NodeRecord, target: Target | None) -> RemediationRecord | None:
    """Only what a check of nodes asked for: others' remediations, and a person's own, are theirs."""
    for record in view.remedies.named(node.name):
        of_a_check = keys.CHECK_UID in record.annotations and node.uid in record.owners
        if of_a_check and (target is None or not _answers_for(target, record, view)):
            return record
    return None


def find_unowned(view: View, name: str) -> RemediationRecord | None:
    """What a Node owned that is gone, Kubernetes collects. Where it was told not to, nobody else does."""
    checks = {check.metadata.uid for check in view.checks.all()}
    for record in view.remedies.named(name):
        if record.annotations.get(keys.CHECK_UID) in checks and not record.owners:
            return record
    return None


def _answers_for(target: Target, record: RemediationRecord, view: View) -> bool:
    """A recovery is answered for by its own template alone: that a remedy is of its kind says nothing."""
    spec = target.check.spec
    templates = (
        spec.templates[len(spec.remedies) :] if record.recovers else spec.templates[: len(spec.remedies)]
    )
    kinds = ((view.remedies.kind_of(template), template.namespace) for template in templates)
    named = any(
        isinstance(kind, RemedyKind) and (kind.remediation, namespace) == (record.resource, record.namespace)
        for kind, namespace in kinds
    )
    return named and gather.is_asked_for_by(target.check, record, view)


def _version(check: NodeHealthCheck | None) -> tuple[str, int] | None:
    return None if check is None else (check.metadata.uid, check.metadata.generation)
