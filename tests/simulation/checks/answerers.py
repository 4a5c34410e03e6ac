"""Controllers that answer requests: one fixes nodes, one replaces machines. They never fail.

Each reconciles only after a change, or if it left work undone.
"""

from nodemend.api.resources import NODE
from nodemend.kube.request import EVERYTHING
from simulation.cluster.direct import Object
from tests.simulation.checks.world import FIX, MACHINE, SPACE, ChecksWorld

FINALIZER = "fix.example.com/at-work"
POLL_INTERVAL = 5.0


class Fixer:
    """Accepts a Fix, later makes its node Ready, and removes its finalizer when the Fix is deleted."""

    def __init__(self, world: ChecksWorld) -> None:
        self._world = world
        self._chance = world.chance("fixer")
        self._news = world.api.news((FIX, EVERYTHING))
        self._undone = False
        self.fixed = 0

    def poll(self) -> None:
        if self._news.any() or self._undone:
            self._answer()
        self._world.scheduler.after(POLL_INTERVAL, self.poll)

    def _answer(self) -> None:
        self._undone = False
        for fix in self._world.fixes():
            metadata = fix["metadata"]
            if "deletionTimestamp" in metadata:
                self._write(fix, [])
            elif FINALIZER in metadata.get("finalizers", ()):
                continue
            elif self._chance.random() < 0.7:
                self._write(fix, [FINALIZER])
                after = self._chance.uniform(5.0, 45.0)
                self._world.scheduler.after(after, lambda name=metadata["name"]: self._fix(name))  # type: ignore[misc]
            else:
                self._undone = True

    def _fix(self, name: str) -> None:
        if self._world.api.get(NODE, name) is not None:
            self.fixed += 1
            self._world.report(name, "True")

    def _write(self, fix: Object, finalizers: list[str]) -> None:
        change = {"metadata": {"finalizers": finalizers}}
        self._world.api.patch(FIX, fix["metadata"]["name"], change, at=(SPACE, ""))


class Owner:
    """Deletes machines whose replacement is requested, and creates them again with a healthy node."""

    def __init__(self, world: ChecksWorld) -> None:
        self._world = world
        self._chance = world.chance("owner")
        self._news = world.api.news((MACHINE, EVERYTHING))
        self._undone = False
        self.replaced = 0

    def poll(self) -> None:
        if self._news.any() or self._undone:
            self._answer()
        self._world.scheduler.after(POLL_INTERVAL, self.poll)

    def _answer(self) -> None:
        self._undone = False
        present = {one["metadata"]["name"]: one for one in self._world.api.list(MACHINE)}
        for name, machine in present.items():
            if not self._is_asked(machine):
                continue
            if self._chance.random() < 0.5:
                self._begin(machine)
                after = self._chance.uniform(5.0, 30.0)
                self._world.scheduler.after(after, lambda name=name: self._replace(name))  # type: ignore[misc]
            else:
                self._undone = True

    def _is_asked(self, machine: Object) -> bool:
        marks = self._world.marks(machine)
        failed = marks.get("HealthCheckSucceeded", {}).get("status") == "False"
        return failed and marks.get("OwnerRemediated", {}).get("reason") == "WaitingForRemediation"

    def _begin(self, machine: Object) -> None:
        conditions = [
            {**one, "reason": "MachineDeleting"} if one["type"] == "OwnerRemediated" else one
            for one in machine["status"]["conditions"]
        ]
        name = machine["metadata"]["name"]
        self._world.api.patch(MACHINE, name, {"status": {"conditions": conditions}}, at=(SPACE, "status"))

    def _replace(self, name: str) -> None:
        self.replaced += 1
        self._world.api.delete(MACHINE, name, SPACE)
        self._world.add_machine(name)
        self._world.report(name, "True")
