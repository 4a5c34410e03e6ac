"""A cluster whose machines fence themselves, and a SelfRemediation of one of them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.agent import WatchdogReport
from nodemend.api.resources import LEASE, NODE, POD, SELF_REMEDIATION
from nodemend.kube.request import Selection
from simulation.api_server.admission import User
from simulation.cluster.direct import Object
from simulation.cluster.fenced_machine import HARDWARE, FencedMachine, Rack
from simulation.cluster.machines import Machine
from simulation.cluster.world import Account, Shape, World
from tests.unit.remediation.complaints import BY_CONDITION, OPEN, complain

SICK: Final = "node-1"


class FencingWorld:
    """No checker runs: the test creates remediations."""

    def __init__(
        self,
        seed: str,
        *,
        machines: int = 5,
        gated: bool = True,
        watchdog: WatchdogReport = HARDWARE,
        policy: Mapping[str, Any] = MappingProxyType(OPEN),
    ) -> None:
        shape = Shape(
            people=False,
            self_fencing=True,
            machines=machines,
            workloads=10,
            check=BY_CONDITION,
            policy=policy,
        )
        self.twice: list[str] = []
        """Workloads that were started while another machine still ran them."""
        self.world = World(seed, shape, self._note_start)
        self.api = self.world.admin_api
        self.agents = Account(self.world.server, User("agents"))
        self.rack = Rack(self.api, self.agents, self.world.scheduler)
        for machine in self.world.machines.values():
            self.rack.fence(machine, gated=gated, watchdog=watchdog)
        self.run(60.0)

    @property
    def sick(self) -> FencedMachine:
        return self.rack.members[SICK]

    def ask(self, node: str = SICK, **spec: Any) -> None:
        """Create a remediation as a NodeHealthCheck does for an unhealthy node: named like the node."""
        metadata = complain(self.api, node)
        self.api.create(SELF_REMEDIATION, {"metadata": metadata, "spec": spec}, well_known.SYSTEM_NAMESPACE)

    def withdraw(self) -> None:
        self.api.delete(SELF_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)

    def abandon(self) -> None:
        """Delete by force: without its finalizer it is deleted at once, with all leftovers."""
        at = (well_known.SYSTEM_NAMESPACE, "")
        self.api.patch(SELF_REMEDIATION, SICK, {"metadata": {"finalizers": None}}, at=at)
        self.withdraw()

    def cut_off(self) -> None:
        """Cut the node off from the API server and from its peers."""
        self.sick.machine.connected, self.sick.deaf = False, True

    def run(self, seconds: float) -> None:
        self.world.run(self.world.scheduler.now + seconds)

    def run_until(self, condition: Callable[[], bool], within: float) -> float:
        """Return the seconds until the condition is true."""
        began = self.world.scheduler.now
        while not condition():
            assert self.world.scheduler.now < began + within, self.remediation
            self.run(0.5)
        return self.world.scheduler.now - began

    @property
    def remediation(self) -> Object | None:
        return self.api.get(SELF_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)

    @property
    def status(self) -> Object:
        found = self.remediation
        assert found is not None
        status: Object = found.get("status", {})
        return status

    @property
    def why(self) -> str:
        return self._condition("Processing")["reason"]

    @property
    def node(self) -> Object:
        found = self.api.get(NODE, SICK)
        assert found is not None
        return found

    @property
    def marker(self) -> str | None:
        lease = self.api.get(LEASE, SICK, well_known.AGENT_NAMESPACE)
        assert lease is not None
        found: str | None = lease["metadata"].get("annotations", {}).get(well_known.MARKER)
        return found

    @property
    def out_of_service(self) -> bool:
        taints = self.node["spec"].get("taints", [])
        return any(taint["key"] == well_known.OUT_OF_SERVICE for taint in taints)

    @property
    def pods(self) -> set[str]:
        """The pods bound to the unhealthy node."""
        found = self.api.list(POD, Selection(fields=f"spec.nodeName={SICK}"))
        return {pod["metadata"]["name"] for pod in found}

    def runs_elsewhere(self, workload: str) -> bool:
        others = (one for name, one in self.world.machines.items() if name != SICK)
        return any(workload in other.running.values() for other in others)

    def close(self) -> None:
        self.rack.close()
        self.world.close()

    def _condition(self, kind: str) -> dict[str, str]:
        return next(one for one in self.status["conditions"] if one["type"] == kind)

    def _note_start(self, machine: Machine, workload: str) -> None:
        """During construction each machine has its first boot only."""
        others = self.world.machines.values() if hasattr(self, "world") else ()
        if any(workload in other.running.values() for other in others if other is not machine):
            self.twice.append(workload)
