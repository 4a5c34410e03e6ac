"""Neighbours in the world of the checks, whose nodes are Nodes alone."""

from collections.abc import Callable
from typing import Any

from nodemend.api import keys
from nodemend.api.group_versions import NODE
from tests.simulation.checks.world import ChecksWorld
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around


class CheckedNeighbours:
    def __init__(self, around: Around, world: ChecksWorld, deleted: Callable[[str], None]) -> None:
        """`deleted` is told the name of each Node that they delete."""
        self._around = around
        self._world = world
        self._deleted = deleted

    def plan(self) -> None:
        around = self._around
        around.at_some_times(4, self._delete)
        around.at_some_times(3, self._mark)
        around.scheduler.at(around.ceases, self._make_all)

    def _mark(self) -> None:
        """A taint and a cordon of another's."""
        around, name, token = self._around, self._around.pick(), self._around.token(Kind.NEIGHBOURS)
        taint = {"key": keys.OUT_OF_SERVICE, "effect": keys.NO_EXECUTE, "value": token}
        if around.api.patch(NODE, name, {"spec": {"taints": [taint], "unschedulable": True}}) is not None:
            around.note(f"another takes {name} out of service")
            around.tally.make(Kind.NEIGHBOURS, token)
            around.later(lambda: self._unmark(name), (20.0, 90.0))

    def _unmark(self, name: str) -> None:
        self._around.api.patch(NODE, name, {"spec": {"taints": None, "unschedulable": None}})

    def _delete(self) -> None:
        """And makes it anew, well or not."""
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
        around.tally.make(Kind.NEIGHBOURS, made["metadata"]["uid"])
        self._world.report(name, ready)

    def _make_all(self) -> None:
        """When faults cease every node is there."""
        for name in self._around.nodes:
            labels = {"bare": "yes"} if name.startswith("bare") else {}
            self._make(name, {"metadata": {"labels": labels}}, "True")
