"""Other operators in the world of the checks, whose nodes exist only as Node objects."""

from collections.abc import Callable
from typing import Any

from nodemend.api import well_known
from nodemend.api.resources import NODE
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind


class CheckedNeighbours:
    def __init__(self, around: Around, world: ChecksWorld, deleted: Callable[[str], None]) -> None:
        """Call `deleted` with the name of each Node that another operator deletes."""
        self._around = around
        self._world = world
        self._deleted = deleted

    def plan(self) -> None:
        around = self._around
        around.at_some_times(4, self._delete)
        around.at_some_times(3, self._mark)
        around.scheduler.at(around.ceases, self._make_all)

    def _mark(self) -> None:
        """Add a taint and a cordon of another operator."""
        around, name, token = self._around, self._around.pick(), self._around.token(Kind.EXTERNAL_CONTROLLERS)
        taint = {"key": well_known.OUT_OF_SERVICE, "effect": well_known.NO_EXECUTE, "value": token}
        if around.api.patch(NODE, name, {"spec": {"taints": [taint], "unschedulable": True}}) is not None:
            around.note(f"another takes {name} out of service")
            around.counts.make(Kind.EXTERNAL_CONTROLLERS, token)
            around.later(lambda: self._unmark(name), (20.0, 90.0))

    def _unmark(self, name: str) -> None:
        self._around.api.patch(NODE, name, {"spec": {"taints": None, "unschedulable": None}})

    def _delete(self) -> None:
        """Delete a Node, and create it again, healthy or not."""
        around, name = self._around, self._around.pick()
        node = around.api.get(NODE, name)
        if node is None:
            return
        around.note(f"another deletes the Node {name}")
        around.api.delete(NODE, name)
        self._deleted(name)
        ready = around.chance.choice(("True", "True", "Unknown"))
        around.later(lambda: self._make(name, node, ready), (0.5, 5.0, 25.0, 60.0))

    def _make(self, name: str, before: dict[str, Any], ready: str) -> None:
        around = self._around
        if around.api.get(NODE, name) is not None:
            return
        metadata = {"name": name, "labels": before["metadata"].get("labels", {})}
        spec = {"providerID": f"metal://{name}"}
        made = around.api.create(NODE, {"metadata": metadata, "spec": spec})
        around.counts.make(Kind.EXTERNAL_CONTROLLERS, made["metadata"]["uid"])
        self._world.report(name, ready)

    def _make_all(self) -> None:
        """Create all missing Nodes at the end of the faults."""
        for name in self._around.nodes:
            labels = {"bare": "yes"} if name.startswith("bare") else {}
            self._make(name, {"metadata": {"labels": labels}}, "True")
