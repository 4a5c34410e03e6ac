"""Flows of MachineHealthCheck."""

from collections.abc import Iterator
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.records.machine import CLAIM, OPENSHIFT
from simulation.cluster.foreign_kinds import a_definition
from tests.simulation.checks.world import CHECK, MACHINE, SECONDS, SPACE, ChecksWorld
from tests.simulation.crashes.flow import Flow, Wanted, fixes, marks_of

OWNED, FIXED, CONTROL = "owned-1", "fixed-1", "control-1"
ASKED: Final = {"HealthCheckSucceeded": "UnhealthyNode", "OwnerRemediated": "WaitingForRemediation"}
WAITING: Final = {"HealthCheckSucceeded": "UnhealthyNode", "ExternallyRemediated": "WaitingForRemediation"}
PASSED: Final = {"HealthCheckSucceeded": "HealthCheckSucceeded"}
SHIFT_MACHINE: Final = Resource(OPENSHIFT, "v1beta1", "Machine", "machines")
SHIFT_CHECK: Final = Resource(OPENSHIFT, "v1beta1", "MachineHealthCheck", "machinehealthchecks")
SHIFT_SET: Final = Resource(OPENSHIFT, "v1beta1", "MachineSet", "machinesets")
SHIFT: Final = (SHIFT_MACHINE, SHIFT_CHECK, SHIFT_SET)
SHIFT_NODES: Final = ("bare-1", "bare-2", "bare-3")


def _first_reports(world: ChecksWorld) -> Iterator[Wanted]:
    yield lambda: all(marks_of(world, name) == PASSED for name in world.machines)


def _ask(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(OWNED, "Unknown")
    yield lambda: marks_of(world, OWNED) == ASKED


def _spare(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(OWNED, "True")
    yield lambda: marks_of(world, OWNED) == PASSED


def _spare_in_a_storm(world: ChecksWorld) -> Iterator[Wanted]:
    """Make two more nodes silent. The unserved request is withdrawn, and repeated after the storm."""
    for name in ("fixed-1", "fixed-2"):
        world.report(name, "Unknown")
    yield lambda: "OwnerRemediated" not in marks_of(world, OWNED)
    for name in ("fixed-1", "fixed-2"):
        world.report(name, "True")
    yield lambda: marks_of(world, OWNED) == ASKED


def _replaced(world: ChecksWorld) -> Iterator[Wanted]:
    world.api.delete(MACHINE, OWNED, SPACE)
    world.add_machine(OWNED)
    world.report(OWNED, "True")
    yield lambda: marks_of(world, OWNED) == PASSED


def _begin(world: ChecksWorld, name: str = FIXED) -> Iterator[Wanted]:
    world.report(name, "Unknown")
    yield lambda: fixes(world) == [name] and marks_of(world, name) == WAITING


def _begin_in_control_plane(world: ChecksWorld) -> Iterator[Wanted]:
    """Make two nodes unhealthy one after the other: the second waits for the first."""
    yield from _begin(world, CONTROL)
    world.report(CONTROL, "True")
    world.report("control-2", "Unknown")
    yield lambda: fixes(world) == ["control-2"] and marks_of(world, "control-2") == WAITING


def _recover(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(FIXED, "True")
    yield lambda: not fixes(world) and marks_of(world, FIXED) == PASSED


def _claim(world: ChecksWorld, *, ours: bool) -> None:
    label, value = CLAIM
    change = {"metadata": {"labels": {label: value if ours else None}}}
    world.api.patch(CHECK, "fixed", change, at=(SPACE, ""))


def _give_away(world: ChecksWorld) -> Iterator[Wanted]:
    _claim(world, ours=False)
    yield lambda: not fixes(world)


def _take_over(world: ChecksWorld) -> Iterator[Wanted]:
    _claim(world, ours=True)
    yield lambda: fixes(world) == [FIXED] and marks_of(world, FIXED) == WAITING


def _given_away(world: ChecksWorld) -> Iterator[Wanted]:
    yield from _begin(world)
    yield from _give_away(world)


def _openshift(world: ChecksWorld) -> None:
    """Give the bare nodes Machines of OpenShift, whose owner replaces deleted ones."""
    for kind in SHIFT:
        world.server.define(a_definition(kind))
    world.api.delete(NODE_HEALTH_CHECK, "bare")
    made = world.api.create(SHIFT_SET, {"metadata": {"name": "set"}, "spec": {}}, SPACE)
    for name in SHIFT_NODES:
        _add_shift_machine(world, name, made["metadata"]["uid"])
    conditions = [{"type": "Ready", "status": "Unknown", "timeout": f"{SECONDS}s"}]
    selector = {"matchLabels": {"pool": "shift"}}
    metadata = {"name": "shift", "labels": dict((CLAIM,))}
    spec = {"selector": selector, "unhealthyConditions": conditions, "maxUnhealthy": "100%"}
    world.api.create(SHIFT_CHECK, {"metadata": metadata, "spec": spec}, SPACE)
    world.api.patch(
        REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"machines": {"deleteMachines": True}}}
    )


def _add_shift_machine(world: ChecksWorld, name: str, owner_uid: str) -> None:
    owner = {"apiVersion": SHIFT_SET.api_version, "kind": SHIFT_SET.kind, "name": "set", "uid": owner_uid}
    metadata = {
        "name": name,
        "labels": {"pool": "shift"},
        "ownerReferences": [{**owner, "controller": True}],
        # Its deletion takes as long as the drain of the node.
        "finalizers": ["machine.example.com/drain"],
    }
    body = {"metadata": metadata, "spec": {"providerID": f"metal://{name}"}}
    world.api.create(SHIFT_MACHINE, body, SPACE)
    at = (SPACE, "status")
    world.api.patch(SHIFT_MACHINE, name, {"status": {"nodeRef": {"name": name}}}, at=at)


def _delete(world: ChecksWorld) -> Iterator[Wanted]:
    def is_deleted() -> bool:
        found = world.api.get(SHIFT_MACHINE, SHIFT_NODES[0], SPACE) or {}
        return "deletionTimestamp" in found["metadata"]

    world.report(SHIFT_NODES[0], "Unknown")
    yield is_deleted
    world.api.patch(SHIFT_MACHINE, SHIFT_NODES[0], {"metadata": {"finalizers": None}}, at=(SPACE, ""))
    world.api.delete(NODE, SHIFT_NODES[0])
    yield lambda: _shift_counts(world) == (2, 2)


def _shift_counts(world: ChecksWorld) -> tuple[int, int]:
    status = (world.api.get(SHIFT_CHECK, "shift", SPACE) or {})["status"]
    return status["expectedMachines"], status["currentHealthy"]


MACHINE_FLOWS: Final = (
    Flow("all that is there is reported", _first_reports, from_the_start=True),
    Flow("an owner is asked", _ask),
    Flow("an owner is asked no longer on recovery", _spare, _ask),
    Flow(
        "an owner is asked no longer in a storm, and again after it",
        _spare_in_a_storm,
        _ask,
        policy={"maxUnhealthy": 2, "settleTime": "30s"},
    ),
    Flow("an owner replaces its machine", _replaced, _ask),
    Flow("a machine's remediation begins", _begin),
    Flow("one of the control plane at a time", _begin_in_control_plane),
    Flow("a machine's remediation is withdrawn on recovery", _recover, _begin),
    Flow("a check is given away", _give_away, _begin),
    Flow("a check is taken over", _take_over, _given_away),
    Flow("a machine of OpenShift is deleted", _delete, prepare=_openshift, kinds=SHIFT),
)
