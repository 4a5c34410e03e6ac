"""Other controllers and users that taint, cordon, delete and recreate Nodes at any time."""

from typing import Any

from nodemend.api import well_known
from nodemend.api.meta import print_time
from nodemend.api.resources import NODE
from simulation.cluster.world import FOREIGN_TAINT
from tests.simulation.hostile.attribution import taints_of
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind
from tests.simulation.walking_path.invariants import is_ours

UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
NOTICED = 0.06
"""Probability that they act on an unhealthy node at one of their checks."""
ROLE = "node-role.kubernetes.io/control-plane"


class ExternalControllers:
    def __init__(self, around: Around) -> None:
        self._around = around
        self._api = around.api

    def plan(self) -> None:
        around = self._around
        self._poll()
        around.at_some_times(2, self._cordon)
        around.at_some_times(3, self._delete)

    def _poll(self) -> None:
        """Check all nodes: they act on the same unhealthy nodes as Nodemend."""
        around = self._around
        for name in around.nodes:
            if not around.machines[name].kubelet_works and around.chance.random() < NOTICED:
                self._take_out_of_service(name)
        if around.now < around.ceases * (1.0 - around.quiet):
            around.scheduler.after(10.0, self._poll)

    def _take_out_of_service(self, name: str) -> None:
        """Taint a node that is off, or seems so, as medik8s, CAPM3 or a user does, with a different value."""
        around, node = self._around, self._api.get(NODE, name)
        if node is None or _has_theirs(node):
            return
        value = around.token(Kind.EXTERNAL_CONTROLLERS)
        taint = {"key": well_known.OUT_OF_SERVICE, "effect": well_known.NO_EXECUTE, "value": value}
        around.note(f"another takes {name} out of service")
        # A Node has one taint of a key and an effect: the other operator's replaces Nodemend's.
        others = [one for one in taints_of(node) if one["key"] != well_known.OUT_OF_SERVICE]
        self._set(name, [*others, taint])
        around.counts.make(Kind.EXTERNAL_CONTROLLERS, value)
        around.later(lambda: self._remove(name, value))

    def _remove(self, name: str, value: str) -> None:
        node = self._api.get(NODE, name)
        if node is not None:
            self._set(name, [one for one in taints_of(node) if one.get("value") != value])

    def _cordon(self) -> None:
        around, name = self._around, self._around.pick()
        node = self._api.get(NODE, name)
        if node is None or (node.get("spec") or {}).get("unschedulable"):
            return
        token = around.token(Kind.EXTERNAL_CONTROLLERS)
        around.note(f"another cordons {name}")
        self._set(name, [*taints_of(node), UNSCHEDULABLE], unschedulable=True)
        self._api.patch(NODE, name, {"metadata": {"annotations": {"example.com/cordoned-by": token}}})
        around.counts.make(Kind.EXTERNAL_CONTROLLERS, token)
        around.later(lambda: self._uncordon(name))

    def _uncordon(self, name: str) -> None:
        node = self._api.get(NODE, name)
        if node is not None:
            kept = [one for one in taints_of(node) if one["key"] != UNSCHEDULABLE["key"]]
            self._set(name, kept, unschedulable=None)

    def _delete(self) -> None:
        """Delete a Node. Its kubelet soon registers it again, or the same controller creates it again."""
        around, name = self._around, self._around.pick()
        node = self._api.get(NODE, name)
        if node is None or ROLE in node["metadata"].get("labels", {}):
            return
        around.note(f"another deletes the Node {name}")
        self._api.delete(NODE, name)
        by_kubelet = around.chance.random() < 0.4
        around.later(
            lambda: self._register_again(name) if by_kubelet else self._create(name), (0.5, 5.0, 30.0, 90.0)
        )

    def _register_again(self, name: str) -> None:
        self._around.machines[name].restart_kubelet()
        self._await(name)

    def _await(self, name: str) -> None:
        """Wait until the Node exists, and restore the taint of another owner."""
        around, node = self._around, self._api.get(NODE, name)
        if node is None and around.now < around.ceases:
            around.scheduler.after(3.0, lambda: self._await(name))
        elif node is None:
            self._create(name)
        else:
            around.counts.make(Kind.EXTERNAL_CONTROLLERS, node["metadata"]["uid"])
            if FOREIGN_TAINT not in taints_of(node):
                self._set(name, [*taints_of(node), FOREIGN_TAINT])

    def _create(self, name: str) -> None:
        around, machine = self._around, self._around.machines[name]
        if self._api.get(NODE, name) is not None:
            self._await(name)
            return
        around.note(f"another makes the Node {name} anew")
        metadata = {
            "name": name,
            "labels": {"kubernetes.io/hostname": name},
            "annotations": dict(machine.annotations),
        }
        spec = {"providerID": machine.provider_id} if machine.provider_id else {}
        made = self._api.create(NODE, {"metadata": metadata, "spec": {**spec, "taints": [FOREIGN_TAINT]}})
        now = print_time(around.scheduler.wall())
        never = {
            "type": "Ready",
            "status": "Unknown",
            "reason": "NodeStatusNeverUpdated",
            "lastTransitionTime": now,
        }
        self._api.patch(NODE, name, {"status": {"conditions": [never]}}, at=("", "status"))
        machine.restart_kubelet()
        around.counts.make(Kind.EXTERNAL_CONTROLLERS, made["metadata"]["uid"])

    def _set(self, name: str, taints: list[dict[str, Any]], **spec: object) -> None:
        self._api.patch(NODE, name, {"spec": {"taints": taints or None, **spec}})


def _has_theirs(node: dict[str, Any]) -> bool:
    return any(one["key"] == well_known.OUT_OF_SERVICE and not is_ours(one) for one in taints_of(node))
