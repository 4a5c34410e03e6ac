"""Directed seeds: each meets one danger of power cycles, with good links and random timing."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, ClassVar, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import (
    BARE_METAL_HOST,
    METAL3_REMEDIATION,
    NODE,
    Resource,
)
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.machines import Machine
from simulation.cluster.replicas import Replica
from simulation.cluster.world import World
from simulation.metal3.rack import NAMESPACE, NEWER_FORM, SPEC, furnish, shaped
from tests.simulation.convergence import settle
from tests.simulation.directing import DirectedSeed
from tests.simulation.power.invariants import PowerInvariants
from tests.simulation.power.members import ROLE
from tests.simulation.walking_path.faults import LENIENT
from tests.simulation.walking_path.invariants import is_ours

SICK: Final = "node-1"
ANOTHER: Final = "node-2"
SETTLED: Final = 40.0
"""Seconds until metal3 has discovered every host."""
BEGUN_WITHIN: Final = 200.0
"""Seconds from the loss of a node to its power-off request. Its silence must be noticed first."""
SETTLED_WITHIN: Final = 900.0

Object = dict[str, Any]


class WriteKind(Enum):
    """Writes of the remediators that a danger follows."""

    PREPARED = auto()
    """A power-off request is announced in the status."""
    HELD = auto()
    SEEN_OFF = auto()
    EVIDENCE = auto()
    RELEASED = auto()
    """Nodemend's taint is on the Node, or the Node is deleted."""


class Directed(DirectedSeed[World, PowerInvariants]):
    """One seed of one family."""

    machines: ClassVar[int] = 3
    control_plane: ClassVar[int] = 0
    """Number of nodes that are its members."""
    policy: ClassVar[Mapping[str, Any]] = LENIENT
    spec: ClassVar[Mapping[str, Any]] = SPEC
    deletes: ClassVar[bool] = False
    """True if the remediators may delete Nodes."""
    kinds: ClassVar[tuple[Resource, ...]] = ()
    """Further kinds that the API server serves."""
    crossed: ClassVar[bool] = False
    """True if the BMCs of the first two hosts are interchanged."""
    provider_id: ClassVar[str] = NEWER_FORM
    judged_by: ClassVar[type[PowerInvariants]] = PowerInvariants
    latest_arrival: ClassVar[float] = 1.0
    """Longest time in seconds from the sending of a write to its effect."""

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        super().__init__(seed)
        self.invariants = self.judged_by()
        self.invariants.latest_arrival = self.latest_arrival
        shape = shaped(
            machines=self.machines,
            workloads=self.machines,
            policy=self.policy,
            node_deletion=self.deletes,
            others=self.kinds,
        )
        name = f"{self.family} {seed}"
        self.world = World(name, shape, self.invariants.started, keep_trace=keep_trace)
        self.rack = furnish(self.world, self.spec, crossed=self.crossed, provider_id=self.provider_id)
        self.api = self.world.admin_api
        self._awaited: defaultdict[WriteKind, list[Callable[[], None]]] = defaultdict(list)
        for member in sorted(self.world.machines)[: self.control_plane]:
            self.api.patch(NODE, member, {"metadata": {"labels": {ROLE: ""}}})
        self.invariants.watch(self.world)
        self.world.remediator.witnesses.append(self._saw_write)

    def begin(self) -> None:
        """Run until the hosts are known."""
        self.run(SETTLED + self.chance.uniform(0.0, 20.0))

    @property
    def sick(self) -> Machine:
        return self.world.machines[SICK]

    @property
    def remediators(self) -> list[Replica]:
        return [replica for replica in self.world.replicas if replica.name.startswith("remediator")]

    def run_until(self, ready: Callable[[], bool], within: float) -> bool:
        """Run until it is ready, at most `within` seconds. Return whether it is."""
        by = self.now + within
        while not ready() and self.now < by:
            self.run(0.5)
        return ready()

    def settles(self) -> None:
        settle(self.world, self.invariants, by=self.now + SETTLED_WITHIN, every=50.0, stays=20.0)

    def once(self, kind: WriteKind, action: Callable[[], None], after: float = 0.0) -> None:
        """Act once, `after` seconds after the next such write."""

        def act() -> None:
            self.world.scheduler.after(after, action)

        self._awaited[kind].append(act if after else action)

    def lose(self, machine: Machine) -> None:
        """Let its kubelet fall silent while its processes run on."""
        if self.chance.random() < 0.5:
            self.tell(f"{machine.name} hangs")
            machine.hung = True
        else:
            self.tell(f"{machine.name} is cut off")
            machine.connected = False

    def heal(self, machine: Machine) -> None:
        machine.hung, machine.connected = False, True
        if not machine.powered:
            machine.power_on()

    def host(self, name: str, change: Mapping[str, Any]) -> None:
        self.api.patch(BARE_METAL_HOST, name, change, at=(NAMESPACE, ""))

    def annotate(self, host: str, key: str, value: str | None) -> None:
        self.host(host, {"metadata": {"annotations": {key: value}}})

    def remediation(self, name: str = SICK, namespace: str = well_known.SYSTEM_NAMESPACE) -> Object | None:
        return self.api.get(METAL3_REMEDIATION, name, namespace)

    def ask(self, node: str, **metadata: Any) -> None:
        """Create a remediation in another namespace, beside those of Nodemend's check."""
        named = {"name": node, **metadata}
        self.api.create(METAL3_REMEDIATION, {"metadata": named, "spec": dict(self.spec)}, NAMESPACE)

    def force_away(self, name: str = SICK) -> None:
        """Delete a remediation without its finalizers, as an impatient person does."""
        at = (well_known.SYSTEM_NAMESPACE, "")
        self.tell(f"the remediation of {name} is deleted by force")
        self.api.patch(METAL3_REMEDIATION, name, {"metadata": {"finalizers": None}}, at=at)
        self.api.delete(METAL3_REMEDIATION, name, well_known.SYSTEM_NAMESPACE)

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
        for kind in _kinds_of(request, answer):
            actions, self._awaited[kind] = self._awaited[kind], []
            for act in actions:
                act()

    def close(self) -> None:
        self.rack.close()
        super().close()


def _kinds_of(request: Request, answer: ApiResponse) -> list[WriteKind]:
    if request.path.startswith("/api/v1/nodes/"):
        if request.method is Method.DELETE:
            return [WriteKind.RELEASED]
        taints = (msgspec.json.decode(request.body).get("spec") or {}).get("taints") or ()
        return [WriteKind.RELEASED] if any(map(is_ours, taints)) else []
    if "/baremetalhosts/" in request.path:
        change = msgspec.json.decode(request.body)["metadata"].get("annotations") or {}
        held = any(
            key.startswith(well_known.POWER_OFF_REQUEST_PREFIX) and value is not None
            for key, value in change.items()
        )
        return [WriteKind.HELD] if held else []
    if "/metal3remediations/" in request.path and request.path.endswith("/status"):
        written = msgspec.json.decode(request.body).get("status") or {}
        fields = {
            "seenOnVersion": WriteKind.PREPARED,
            "seenOff": WriteKind.SEEN_OFF,
            "evidence": WriteKind.EVIDENCE,
        }
        return [kind for field, kind in fields.items() if written.get(field)]
    return []
