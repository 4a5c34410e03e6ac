"""Flows of NodeHealthCheck."""

from collections.abc import Iterator
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.meta import print_micro_time
from nodemend.api.resources import (
    LEASE,
    NAMESPACE,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
)
from simulation.cluster.direct import Object
from tests.simulation.checks.world import FIX, FIX_TEMPLATE, SPACE, SWITCH_ON, ChecksWorld
from tests.simulation.crashes.flow import Flow, Wanted, condition, fixes, say_of, switched_on

SICK: Final = "bare-1"
CHECK: Final = "bare"
LEASES: Final = "medik8s-leases"
SECOND: Final = f"{well_known.SYSTEM_NAMESPACE}/{SICK}"
"""The remediation that the second remedy creates."""


def _change(world: ChecksWorld, **spec: Any) -> None:
    world.api.patch(NODE_HEALTH_CHECK, CHECK, {"spec": spec})


def verdict(world: ChecksWorld, node: str = SICK) -> str:
    """Return the check's verdict on a node; empty if the node is healthy."""
    status = (world.api.get(NODE_HEALTH_CHECK, CHECK) or {}).get("status", {})
    return next((row["verdict"] for row in status.get("reports", ()) if row["name"] == node), "")


def _storm_state(world: ChecksWorld) -> str:
    return condition(world.api.get(REMEDIATION_POLICY, well_known.POLICY_NAME), "Storm")[1]


def _begin(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(SICK, "Unknown")
    yield lambda: fixes(world) == [SICK] and verdict(world) == "Remediating"


def _recover(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(SICK, "True")
    yield lambda: not fixes(world) and switched_on(world) == [SICK]
    say_of(SWITCH_ON, world, SICK, Succeeded="True")
    yield lambda: not switched_on(world) and not _pending(world) and not verdict(world)


def _pending(world: ChecksWorld) -> list[Object]:
    """Return the recoveries in the check's status."""
    status: Object = (world.api.get(NODE_HEALTH_CHECK, CHECK) or {}).get("status", {})
    return list(status.get("recoveries", ()))


def _two_remedies(world: ChecksWorld) -> None:
    template = {"metadata": {"name": "fix"}, "spec": {"template": {"spec": {}}}}
    world.api.create(FIX_TEMPLATE, template, well_known.SYSTEM_NAMESPACE)
    named = {"apiVersion": FIX_TEMPLATE.api_version, "kind": FIX_TEMPLATE.kind, "name": "fix"}
    first = {"template": {**named, "namespace": SPACE}, "timeout": "2m"}
    _change(world, remedies=[first, {"template": {**named, "namespace": well_known.SYSTEM_NAMESPACE}}])


def _fail_and_escalate(world: ChecksWorld) -> Iterator[Wanted]:
    say_of(FIX, world, SICK, Succeeded="False")
    yield lambda: fixes(world) == [SECOND]


def _escalate_when_time_is_over(world: ChecksWorld) -> Iterator[Wanted]:
    yield lambda: fixes(world) == [SECOND]


def _patiently(world: ChecksWorld) -> None:
    """Set long thresholds: a node that is not Ready stays Suspect, and only an order starts a remediation."""
    statuses = ("Unknown", "False")
    _change(world, thresholds=[{"type": "Ready", "status": one, "period": "1h"} for one in statuses])


def _suspect(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(SICK, "Unknown")
    yield lambda: verdict(world) == "Suspect"


def _order(world: ChecksWorld, *, past_guard: bool = False) -> None:
    node = world.api.get(NODE, SICK) or {}
    uid = node["metadata"]["uid"]
    spec = {"by": "anna", "reason": "it looks sick", "nodeUID": uid, "pastGuard": past_guard}
    world.api.create(REMEDIATION_ORDER, {"metadata": {"name": SICK}, "spec": spec})


def _orders(world: ChecksWorld) -> int:
    return len(world.api.list(REMEDIATION_ORDER))


def _run(world: ChecksWorld, *, past_guard: bool = False) -> Iterator[Wanted]:
    """Create an order, and once more if it is gone without effect: a crash after its deletion loses it."""
    _order(world, past_guard=past_guard)
    yield lambda: not _orders(world)
    if not fixes(world):
        _order(world, past_guard=past_guard)
    yield lambda: fixes(world) == [SICK] and not _orders(world)


def _override(world: ChecksWorld) -> Iterator[Wanted]:
    yield from _run(world, past_guard=True)


def _order_for_a_healthy_node(world: ChecksWorld) -> Iterator[Wanted]:
    _order(world)
    yield lambda: not _orders(world)


def _deselect(world: ChecksWorld) -> Iterator[Wanted]:
    world.api.patch(NODE, SICK, {"metadata": {"labels": {"bare": None}}})
    yield lambda: not fixes(world)


def _storm(world: ChecksWorld) -> Iterator[Wanted]:
    for node in (SICK, "bare-2"):
        world.report(node, "Unknown")
    yield lambda: _storm_state(world) == "StormActive" and verdict(world) == "Held"
    for node in (SICK, "bare-2"):
        world.report(node, "True")
    yield lambda: _storm_state(world) == "NoStorm" and not verdict(world)


def _pause(world: ChecksWorld) -> Iterator[Wanted]:
    _set_pause(world, {"reason": "a look at the switch", "by": "admin"})
    yield lambda: _paused(world) == {"True"}
    _set_pause(world, None)
    yield lambda: _paused(world) == {"False"}


def _set_pause(world: ChecksWorld, pause: Object | None) -> None:
    world.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"pause": pause}})


def _paused(world: ChecksWorld) -> set[str]:
    """Return the status of Paused on the check and on the policy."""
    reported = (NODE_HEALTH_CHECK, CHECK), (REMEDIATION_POLICY, well_known.POLICY_NAME)
    return {condition(world.api.get(*one), "Paused")[0] for one in reported}


def _external_lease_held(world: ChecksWorld) -> None:
    world.api.create(NAMESPACE, {"metadata": {"name": LEASES}})
    now = print_micro_time(world.scheduler.wall())
    spec = {"holderIdentity": "node-maintenance", "acquireTime": now, "renewTime": now}
    lease = {"metadata": {"name": f"node-{SICK}"}, "spec": {**spec, "leaseDurationSeconds": 3600}}
    world.api.create(LEASE, lease, LEASES)


def _wait_for_the_external_lease(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(SICK, "Unknown")
    yield lambda: verdict(world) == "Held"
    world.api.delete(LEASE, f"node-{SICK}", LEASES)
    yield lambda: fixes(world) == [SICK] and verdict(world) == "Remediating"


NODE_FLOWS: Final = (
    Flow("a node's remediation begins", _begin),
    Flow("a node's remediation is withdrawn when it is well, and it is recovered", _recover, _begin),
    Flow("the next remedy after one that failed", _fail_and_escalate, _begin, _two_remedies),
    Flow("the next remedy after one whose time is over", _escalate_when_time_is_over, _begin, _two_remedies),
    Flow("an order is followed and used up", _run, _suspect, _patiently),
    Flow("an override is followed and used up", _override, _suspect, _patiently, {"maxUnhealthy": 0}),
    Flow("an order for a healthy node ends", _order_for_a_healthy_node),
    Flow("a remediation that no check asks for any more is withdrawn", _deselect, _begin),
    Flow("a storm is reported and settles", _storm, policy={"maxUnhealthy": 1, "settleTime": "30s"}),
    Flow("a pause is reported and ends", _pause),
    Flow(
        "a node is left to a neighbour until it is given back",
        _wait_for_the_external_lease,
        prepare=_external_lease_held,
        medik8s_leases=LEASES,
    ),
)
