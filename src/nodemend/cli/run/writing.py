"""Writes an order, and takes it back."""

from typing import Final

from nodemend.api.group_versions import NODE, REMEDIATION_ORDER
from nodemend.api.remediation_order import RemediationOrder
from nodemend.cli.cluster import MANAGER, Cluster, not_installed
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.explain.facts import gather
from nodemend.cli.run.judgement import OrderFacts, Refusal, weigh_order
from nodemend.cli.run.view import OrderView, TakenBackView, order_view
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.kube.api_outcome import Acknowledged, Reason, Refused
from nodemend.kube.api_request import Method, Precondition, Request, create, delete

_MOST_TRIES: Final = 5


async def prepare(cluster: Cluster, node: str, reason: str, *, past_guard: bool) -> OrderView:
    """What to show. Raises CommandFailure when the order makes no sense, or may not be given."""
    facts = OrderFacts(
        node=await gather(cluster, node),
        caller=await cluster.caller(),
        may_run=await cluster.may("create", REMEDIATION_ORDER, name=node),
        may_override=await cluster.may("override", REMEDIATION_ORDER, name=node),
    )
    weighed = weigh_order(facts, past_guard=past_guard)
    if isinstance(weighed, Refusal):
        raise CommandFailure(ExitCode.WRONG, f"{weighed.why} Nothing was ordered.", weighed.next_step)
    return order_view(facts, weighed, reason, past_guard=past_guard)


async def order(cluster: Cluster, shown: OrderView, *, dry_run: bool) -> None:
    """Write the order for the very Node that was shown. One that stands there already is replaced."""
    for _ in range(_MOST_TRIES):
        before = await _find(cluster, shown.node)
        if before is not None and not await _took(cluster, _delete(before), dry_run=dry_run):
            continue
        if before is not None and dry_run:
            # The place is still taken, so the rest cannot be tried.
            return
        if await _took(cluster, _create(shown), dry_run=dry_run):
            return
    raise _too_busy(shown.node)


async def take_back(cluster: Cluster, node: str, *, dry_run: bool) -> TakenBackView:
    for _ in range(_MOST_TRIES):
        before = await _find(cluster, node)
        if before is None:
            raise CommandFailure(
                ExitCode.WRONG,
                f"no order to withdraw: nobody ordered the remediation of {node}, or it has begun.",
                f"kubectl mend explain {node}",
            )
        if await _took(cluster, _delete(before), dry_run=dry_run):
            spec = before.spec
            return TakenBackView(
                node=node, by=spec.by, reason=spec.reason, past_guard=spec.past_guard, dry_run=dry_run
            )
    raise _too_busy(node)


async def _find(cluster: Cluster, node: str) -> RemediationOrder | None:
    match await cluster.find(REMEDIATION_ORDER, node, RemediationOrder):
        case Present(found):
            return found
        case Absent():
            return None
        case Unreadable(why):
            raise CommandFailure(ExitCode.WRONG, f"the order for {node} cannot be read: {why}.")


async def _took(cluster: Cluster, request: Request, *, dry_run: bool) -> bool:
    """False when somebody wrote first, and it must be looked at again."""
    match await cluster.write(request, Acknowledged, dry_run=dry_run):
        case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return False
        case Refused(reason=Reason.NOT_FOUND) if request.method is Method.DELETE:
            return False
        case Refused(reason=Reason.NOT_FOUND):
            raise not_installed()
        case Refused(message=why):
            raise CommandFailure(ExitCode.WRONG, f"the API server refused: {why}. Nothing was ordered.")
        case _:
            return True


def _create(shown: OrderView) -> Request:
    # Owned by the Node: when that goes, so does the order.
    owner = {"apiVersion": NODE.api_version, "kind": NODE.kind, "name": shown.node, "uid": shown.node_uid}
    spec = {"by": shown.by, "reason": shown.reason, "nodeUID": shown.node_uid}
    body = {
        "apiVersion": REMEDIATION_ORDER.api_version,
        "kind": REMEDIATION_ORDER.kind,
        "metadata": {"name": shown.node, "ownerReferences": [owner]},
        "spec": {**spec, "pastGuard": True} if shown.past_guard else spec,
    }
    return create(REMEDIATION_ORDER, body, manager=MANAGER)


def _delete(found: RemediationOrder) -> Request:
    metadata = found.metadata
    only_if = Precondition(metadata.uid, metadata.resource_version)
    return delete(REMEDIATION_ORDER, metadata.name, only_if=only_if)


def _too_busy(node: str) -> CommandFailure:
    return CommandFailure(
        ExitCode.WRONG, f"the order for {node} kept changing under our hands.", "kubectl mend status"
    )
