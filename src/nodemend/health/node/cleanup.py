"""Deletes remediations that a check created and no check owns any longer, and orders that are over.

The check was deleted, no longer selects the node, or names other remedies, or the Node was deleted with the
Orphan policy. Remediations of a kind that no check names any longer are visible only to replicas that watched
that kind before (health/remediation_index).

A RemediationOrder is consumed when it is followed, and deleted when it has expired or was used.
"""

from dataclasses import dataclass
from typing import Final

from nodemend.api import well_known
from nodemend.api.node_health_check import HowEnded, NodeHealthCheck
from nodemend.api.resources import NODE_HEALTH_CHECK
from nodemend.guard.state import RECHECK_INTERVAL
from nodemend.health.creation import Writer, delete_remediation, read_remediation
from nodemend.health.node import preflight, targets
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.health.node.preflight import ApprovedOrder, OrderEvaluation, Orders
from nodemend.health.node.report import History
from nodemend.health.node.targets import NodeTarget, NodeView
from nodemend.health.remediation_index import RemedyKind, may_withdraw
from nodemend.kube.controller import Done, Outcome, RequeueAfter, Retry
from nodemend.kube.request import Request
from nodemend.records.live_reads import LiveReader, value_of
from nodemend.records.node import NodeRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import GOOD_FOR, OrderExpired, OrderInvalid
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.holds import Hold

A_MOMENT: Final = 1.0


@dataclass(frozen=True, slots=True)
class OrderLifecycle:
    view: NodeView
    orders: Orders
    writer: Writer
    recorder: NodeHealthCheckRecorder

    async def take_up(self, target: NodeTarget, approved_order: ApprovedOrder | None) -> Hold | None:
        """Consume the order by deleting it, so it runs at most once.

        Returns None if creation may proceed. A crash afterwards loses the order.
        """
        if approved_order is None:
            return None
        found, by = self.view.orders.get(target.node.name), approved_order.order.by
        if found is None or found.metadata.uid != approved_order.order.uid:
            return Hold(OrderInvalid(by, "it was deleted"))
        match await self.writer.write(preflight.end_order(found)):
            case Done():
                return None
            case RequeueAfter():
                return Hold(OrderInvalid(by, "it was deleted"))
            case Retry(why):
                return Hold(OrderInvalid(by, f"it could not be consumed: {why}"))

    def note(self, target: NodeTarget, approved_order: ApprovedOrder | None, outcome: Outcome) -> None:
        """Report a consumed order that started no remediation, so that the user who gave it learns of it."""
        if approved_order is None or outcome == Done():
            return
        why = outcome.why if isinstance(outcome, Retry) else "another remediation was there first"
        self.recorder.order_expired(target, approved_order.order, f"it was consumed, but {why}")

    async def end(self, target: NodeTarget, evaluation: OrderEvaluation) -> Outcome | None:
        """Delete an order that is no longer valid.

        Returns None if there is no such order, or if it is deleted.
        """
        found, order = self.view.orders.get(target.node.name), evaluation.order
        if found is None or order is None or evaluation.stands:
            return None
        outcome = await self.writer.write(preflight.end_order(found))
        if outcome != Done():
            return outcome
        if isinstance(evaluation.verdict, OrderExpired):
            self.recorder.order_expired(target, order, evaluation.verdict.why)
        return None

    async def end_stray(self, node: str, now: float) -> Outcome:
        """Delete the order of a node that no check selects, once it is `GOOD_FOR` seconds old.

        Until then the Node or its check may only be late in the caches.
        """
        found, order = self.view.orders.get(node), self.orders.of(node, now)
        if found is None or order is None:
            return Done()
        if order.age <= GOOD_FOR:
            return RequeueAfter(GOOD_FOR - order.age + A_MOMENT)
        return await self.writer.write(preflight.end_order(found))


@dataclass(frozen=True, slots=True)
class Orphans:
    """Serves one leader term."""

    view: NodeView
    reader: LiveReader
    writer: Writer
    recorder: NodeHealthCheckRecorder
    history: History

    async def withdraw(self, name: str, target: NodeTarget | None) -> Outcome | None:
        """Delete the node's orphaned remediation. Returns None if it has none that may be deleted now.

        The watch reports when the object is gone.
        """
        node = self.view.nodes.get(name)
        orphan = find_unowned(self.view, name) if node is None else find_orphan(self.view, node, target)
        if orphan is None or not may_withdraw(orphan):
            return None
        gone = node is not None or isinstance(await self.reader.node(name), Absent)
        write = await self._recheck(orphan) if gone else None
        if write is None:
            return RequeueAfter(RECHECK_INTERVAL)
        self.history.expect(orphan, HowEnded.GONE if node is None else HowEnded.WITHDRAWN)
        outcome = await self.writer.write(write)
        if outcome == Done():
            self.recorder.withdrew_orphan(orphan, node.uid if node is not None else "")
        return outcome

    async def _recheck(self, orphan: RemediationRecord) -> Request | None:
        """Return the delete request; None unless live reads confirm the decision.

        The check that created it must be as cached, or gone, and the remediation must still be deletable.
        """
        asked_by = orphan.labels.get(well_known.CHECK, "")
        check = await self.reader.read(NODE_HEALTH_CHECK, asked_by, NodeHealthCheck)
        if isinstance(check, Unreadable) or _version(value_of(check)) != _version(
            self.view.checks.get(asked_by)
        ):
            return None
        match await read_remediation(self.reader, orphan):
            case Present(fresh) if fresh.uid == orphan.uid and may_withdraw(fresh):
                return delete_remediation(fresh)
            case _:
                return None


def find_orphan(view: NodeView, node: NodeRecord, target: NodeTarget | None) -> RemediationRecord | None:
    """Return an orphaned remediation that a NodeHealthCheck created.

    Remediations of other controllers and of users are left alone.
    """
    for record in view.remedies.named(node.name):
        of_a_check = well_known.CHECK_UID in record.annotations and node.uid in record.owners
        if of_a_check and (target is None or not _answers_for(target, record, view)):
            return record
    return None


def find_unowned(view: NodeView, name: str) -> RemediationRecord | None:
    """Return a remediation of a deleted Node that has no owner references any longer.

    Kubernetes collects objects whose owner is gone. If the Node was deleted with the Orphan policy, Nodemend
    must do it.
    """
    checks = {check.metadata.uid for check in view.checks.all()}
    for record in view.remedies.named(name):
        if record.annotations.get(well_known.CHECK_UID) in checks and not record.owners:
            return record
    return None


def _answers_for(target: NodeTarget, record: RemediationRecord, view: NodeView) -> bool:
    """Return whether the target's check still names the remediation's template.

    A recovery matches only the recovery's own template, and a remediation only those of the remedies.
    """
    spec = target.check.spec
    templates = (
        spec.templates[len(spec.remedies) :] if record.recovers else spec.templates[: len(spec.remedies)]
    )
    kinds = ((view.remedies.kind_of(template), template.namespace) for template in templates)
    named = any(
        isinstance(kind, RemedyKind) and (kind.remediation, namespace) == (record.resource, record.namespace)
        for kind, namespace in kinds
    )
    return named and targets.is_asked_for_by(target.check, record, view)


def _version(check: NodeHealthCheck | None) -> tuple[str, int] | None:
    return None if check is None else (check.metadata.uid, check.metadata.generation)
