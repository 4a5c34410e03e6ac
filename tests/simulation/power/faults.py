"""Faults of hosts, of their BMCs and of the software that manages them: drawn from the seed, and counted."""

from collections import Counter
from typing import Final

import msgspec

from nodemend.api.resources import METAL3_REMEDIATION
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.cluster.world import World
from simulation.metal3.rack import Rack
from tests.simulation.power.host_faults import HANDS, HostHappenings
from tests.simulation.walking_path.faults import FAULTS_CEASE
from tests.simulation.walking_path.invariants import is_ours

_LAGS: Final = (5.0, 20.0, 45.0)


class HostFaults:
    """Each fault ends by itself, and none starts late.

    Either people switch machines, or the controllers of Kubernetes observe Nodes late. Both at once can make
    Kubernetes remove a pod by force from a machine that a person powered on despite Nodemend's power-off
    request: decision 31 says that this case is not proved.
    """

    def __init__(self, world: World, rack: Rack, *, hands: bool) -> None:
        self.counts: Counter[str] = Counter()
        self._world = world
        self._rack = rack
        self._hands = hands
        self._chance = world.scheduler.chance("host faults")
        self._host_faults = HostHappenings(world, rack, self._chance)

    def plan(self) -> None:
        for _ in range(self._chance.randint(0, 10)):
            when = self._chance.uniform(60.0, FAULTS_CEASE - 300.0)
            self._world.scheduler.at(when, lambda: self._disturb(self._pick()))
        for _ in range(self._chance.randint(2, 6)):
            when = self._chance.uniform(60.0, FAULTS_CEASE - 500.0)
            self._world.scheduler.at(when, self._break_for_long)
        for _ in range(self._chance.randint(0, 3)):
            when = self._chance.uniform(60.0, FAULTS_CEASE - 300.0)
            self._world.scheduler.at(when, self._stranger_asks)
        self._world.remediator.witnesses.append(self._saw_write)
        self._world.scheduler.at(FAULTS_CEASE, self._host_faults.cease)

    def _break_for_long(self) -> None:
        """Break a machine for long enough that a remediation starts. A boot repairs a hung machine."""
        machine = self._world.machines[self._chance.choice(sorted(self._world.machines))]
        kind = self._chance.choice(("hangs", "is cut off"))
        self.counts[f"machine {kind} for long"] += 1
        self._world.scheduler.note(f"fault: {machine.name} {kind}")
        if kind == "hangs":
            machine.hung = True
        else:
            machine.connected = False
            after = (400.0, 700.0, 1200.0)
            self._host_faults.later(lambda: setattr(machine, "connected", True), after)

    def _stranger_asks(self) -> None:
        """Create remediations of another check, for some or all nodes, and delete them after a while."""
        names = self._chance.sample(sorted(self._world.machines), self._chance.randint(1, 4))
        self.counts["asked for by a stranger"] += len(names)
        for name in names:
            self._world.scheduler.note(f"fault: a stranger asks for {name}")
            self._host_faults.ask_as_a_stranger(name)

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
        """Disturb a host soon after a power-off request is set or cleared, or its node is released.

        Faults have the most effect in the minute after such a write.
        """
        now, name = self._world.scheduler.now, request.path.rpartition("/")[2]
        if now >= FAULTS_CEASE - 120.0:
            return
        if "/baremetalhosts/" in request.path and self._chance.random() < 0.7:
            self._world.scheduler.after(self._chance.uniform(0.0, 70.0), lambda: self._disturb(name))
        elif "/api/v1/nodes/" in request.path and _is_out_of_service(answer) and self._chance.random() < 0.5:
            self._saw_release(name)

    def _saw_release(self, node: str) -> None:
        if self._hands:
            self._world.scheduler.after(self._chance.uniform(0.0, 20.0), lambda: self._disturb(node))
            return
        self.counts["Kubernetes late to know of Nodes"] += 1
        self._world.engine.fall_behind(self._chance.choice(_LAGS))
        self._host_faults.later(lambda: self._world.engine.fall_behind(0.0), (60.0, 150.0))

    def _disturb(self, name: str) -> None:
        host_faults = self._host_faults.all()
        allowed = sorted(host_faults if self._hands else host_faults.keys() - HANDS)
        what = self._chance.choice(allowed)
        self.counts[f"host {what}"] += 1
        self._world.scheduler.note(f"fault: {what}, {name}")
        host_faults[what](name)

    def _pick(self) -> str:
        """Return a host, preferably one under remediation."""
        busy: list[str] = [one["metadata"]["name"] for one in self._world.admin_api.list(METAL3_REMEDIATION)]
        names = sorted(self._world.machines)
        return self._chance.choice(busy if busy and self._chance.random() < 0.8 else names)


def _is_out_of_service(answer: ApiResponse) -> bool:
    taints = msgspec.json.decode(answer.body).get("spec", {}).get("taints", ())
    return any(map(is_ours, taints))
