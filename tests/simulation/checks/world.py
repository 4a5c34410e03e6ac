"""A cluster of machines and nodes under checks with every kind of remediation request."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY, Resource
from nodemend.guard.policy_proof import Admission
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.manager import MachineCheckingSettings
from nodemend.health.manager import Checker, CheckerObservers
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.ports import Runtime, Transport
from nodemend.records.machine import CLAIM
from simulation.api_server.admission import User
from simulation.api_server.policies import CHECKER, our_rules
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.cluster.direct import Direct, Object
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.replicas import Replica, Silent, election
from simulation.cluster.world import DEFINITIONS, Account
from simulation.network import LinkQuality
from simulation.scheduler import Scheduler

GROUP: Final = "cluster.x-k8s.io"
MACHINE: Final = Resource(GROUP, "v1beta2", "Machine", "machines")
MACHINE_SET: Final = Resource(GROUP, "v1beta2", "MachineSet", "machinesets")
CLUSTER: Final = Resource(GROUP, "v1beta2", "Cluster", "clusters")
CHECK: Final = Resource(GROUP, "v1beta2", "MachineHealthCheck", "machinehealthchecks")
FIX: Final = Resource("fix.example.com", "v1", "Fix", "fixes")
FIX_TEMPLATE: Final = Resource("fix.example.com", "v1", "FixTemplate", "fixtemplates")
SWITCH_ON: Final = Resource("fix.example.com", "v1", "SwitchOn", "switchons")
SWITCH_ON_TEMPLATE: Final = Resource("fix.example.com", "v1", "SwitchOnTemplate", "switchontemplates")
SPACE: Final = "default"
PROD: Final = "prod"

POOLS: Final = {"control": 3, "fixed": 4, "owned": 3, "bare": 3}
"""Control-plane machines, machines with a template, machines without one, and nodes without machines."""
SECONDS: Final = 30
"""Seconds for which a node may be unhealthy before its check reports it."""
TICK: Final = 5.0
FOREIGN: Final = {
    "type": "Booted",
    "status": "True",
    "reason": "Yes",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
"""A condition of another controller on every machine."""


@dataclass(frozen=True, slots=True)
class Crew:
    """Number of replicas, and whether one that ended is restarted."""

    replicas: int = 2
    restarted: bool = True


PAIR: Final = Crew()


async def _check(
    runtime: Runtime,
    transport: Transport,
    name: str,
    *,
    medik8s_leases: str,
    annotation_template: str,
    admission: Admission | None,
) -> None:
    await Checker(
        runtime,
        transport,
        election("nodemend-checker", name, well_known.SYSTEM_NAMESPACE),
        CheckerObservers(Silent(), Silent(), cast("NodeHealthCheckRecorder", Silent())),
        machines=MachineCheckingSettings(
            Silent(), cast("MachineHealthCheckRecorder", Silent()), annotation_template=annotation_template
        ),
        medik8s_leases=medik8s_leases,
        admission=admission,
    ).run()


class ChecksWorld:
    """A simulated cluster with checkers.

    `policy` has the fields of the RemediationPolicy other than its mode. `medik8s_leases` is the namespace of
    the Leases that the checkers respect; empty: they ignore them. `account` is the type of their access to
    the API server. With `annotation_template` an annotation may request remediations. With `admission` the
    server has Nodemend's policies, and the checkers prove them.
    """

    def __init__(
        self,
        seed: int | str,
        quality: LinkQuality,
        policy: Mapping[str, Any],
        *,
        crew: Crew = PAIR,
        pools: Mapping[str, int] = POOLS,
        medik8s_leases: str = "",
        annotation_template: str = "",
        account: type[Account] = Account,
        admission: Admission | None = None,
        keep_trace: bool = False,
    ) -> None:
        self.scheduler = Scheduler(seed, keep_trace=keep_trace)
        kinds = (MACHINE, MACHINE_SET, CLUSTER, CHECK, FIX, FIX_TEMPLATE, SWITCH_ON, SWITCH_ON_TEMPLATE)
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=(*DEFINITIONS, *(a_definition(one) for one in kinds)),
            rules=our_rules() if admission else None,
            namespaces=(*NAMESPACES, well_known.SYSTEM_NAMESPACE),
        )
        self.api = Direct(Account(self.server, User("admin")))
        self.checker = account(self.server, User(CHECKER))
        self.names = {
            pool: tuple(f"{pool}-{number}" for number in range(1, count + 1)) for pool, count in pools.items()
        }
        self._make(policy)
        program = partial(
            _check,
            medik8s_leases=medik8s_leases,
            annotation_template=annotation_template,
            admission=admission,
        )
        self.replicas = [
            Replica(self.scheduler, f"checker-{number}", program, self.checker, quality)
            for number in range(1, crew.replicas + 1)
        ]
        for replica in self.replicas if crew.restarted else ():
            replica.watch_over()
        self._tick()
        self._collect_garbage()

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(name for names in self.names.values() for name in names)

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(name for pool, names in self.names.items() if pool != "bare" for name in names)

    def run(self, until: float) -> None:
        self.scheduler.run(until)

    def close(self) -> None:
        for replica in self.replicas:
            replica.process.crash()

    def report(self, node: str, ready: str) -> None:
        """Set Ready, as the node's kubelet or the node lifecycle controller does."""
        now = self.scheduler.wall().strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {"type": "Ready", "status": ready, "reason": "Told", "lastTransitionTime": now}
        self.api.patch(NODE, node, {"status": {"conditions": [condition]}}, at=("", "status"))

    def is_ready(self, node: str) -> bool:
        found = self.api.get(NODE, node) or {}
        shown = found.get("status", {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "True" for one in shown)

    def fixes(self) -> list[Object]:
        return self.api.list(FIX)

    def marks(self, machine: Object) -> dict[str, Object]:
        return {one["type"]: one for one in machine.get("status", {}).get("conditions") or ()}

    def asked(self) -> list[str]:
        """Return the machines whose owner is requested to act, or acts."""
        return [
            machine["metadata"]["name"]
            for machine in self.api.list(MACHINE)
            if self.marks(machine).get("OwnerRemediated", {}).get("status") == "False"
        ]

    def add_machine(self, name: str) -> None:
        control = {"cluster.x-k8s.io/control-plane": ""} if name.startswith("control") else {}
        owner = {
            "apiVersion": MACHINE_SET.api_version,
            "kind": MACHINE_SET.kind,
            "name": "owner",
            "uid": self._owner,
            "controller": True,
        }
        metadata = {
            "name": name,
            "labels": {"pool": name.rpartition("-")[0], "theirs": "keep", **control},
            "ownerReferences": [owner],
        }
        spec = {"clusterName": PROD, "providerID": f"metal://{name}"}
        self.api.create(MACHINE, {"metadata": metadata, "spec": spec}, SPACE)
        status = {
            "nodeRef": {"name": name},
            "initialization": {"infrastructureProvisioned": True},
            "conditions": [FOREIGN],
        }
        self.api.patch(MACHINE, name, {"status": status}, at=(SPACE, "status"))

    def chance(self, name: str) -> random.Random:
        return self.scheduler.chance(name)

    def _make(self, policy: Mapping[str, Any]) -> None:
        self.api.create(LEASE, {"metadata": {"name": "busy"}, "spec": {}}, SPACE)
        self.api.create(
            REMEDIATION_POLICY,
            {"metadata": {"name": well_known.POLICY_NAME}, "spec": {"mode": "Act", **policy}},
        )
        template = {"metadata": {"name": "fix"}, "spec": {"template": {"spec": {}}}}
        self.api.create(FIX_TEMPLATE, template, SPACE)
        self.api.create(SWITCH_ON_TEMPLATE, template, SPACE)
        self.api.create(CLUSTER, {"metadata": {"name": PROD}, "spec": {}}, SPACE)
        ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
        self.api.patch(CLUSTER, PROD, {"status": {"initialization": ready}}, at=(SPACE, "status"))
        made = self.api.create(MACHINE_SET, {"metadata": {"name": "owner"}, "spec": {}}, SPACE)
        self._owner = made["metadata"]["uid"]
        for name in self.nodes:
            labels = {"bare": "yes"} if name.startswith("bare") else {}
            spec = {"providerID": f"metal://{name}"}
            self.api.create(NODE, {"metadata": {"name": name, "labels": labels}, "spec": spec})
            self.report(name, "True")
        for name in self.machines:
            self.add_machine(name)
        for pool in ("control", "fixed", "owned"):
            self._add_check(pool)
        self._add_node_check()

    def _add_check(self, pool: str) -> None:
        spec: dict[str, Any] = {
            "clusterName": PROD,
            "selector": {"matchLabels": {"pool": pool}},
            "checks": {
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": status, "timeoutSeconds": SECONDS}
                    for status in ("Unknown", "False")
                ]
            },
        }
        if pool != "owned":
            named = {"apiVersion": FIX_TEMPLATE.api_version, "kind": FIX_TEMPLATE.kind, "name": "fix"}
            spec["remediation"] = {"templateRef": named}
        metadata = {"name": pool, "labels": dict((CLAIM,))}
        self.api.create(CHECK, {"metadata": metadata, "spec": spec}, SPACE)

    def _add_node_check(self) -> None:
        template = {
            "apiVersion": FIX_TEMPLATE.api_version,
            "kind": FIX_TEMPLATE.kind,
            "name": "fix",
            "namespace": SPACE,
        }
        spec = {
            "selector": {"matchLabels": {"bare": "yes"}},
            "thresholds": [
                {"type": "Ready", "status": status, "period": f"{SECONDS}s"}
                for status in ("Unknown", "False")
            ],
            "remedies": [{"template": template}],
            "recovery": {"template": {**template, "kind": SWITCH_ON_TEMPLATE.kind}},
            "maxUnhealthy": "100%",
            "healthyDelay": "5s",
        }
        self.api.create(NODE_HEALTH_CHECK, {"metadata": {"name": "bare"}, "spec": spec})

    def _tick(self) -> None:
        """Run the server's periodic work. The write gives bookmarks a new version."""
        self.api.patch(
            LEASE, "busy", {"metadata": {"labels": {"at": f"{self.scheduler.now:.0f}"}}}, at=(SPACE, "")
        )
        self.server.tick()
        self.scheduler.after(TICK, self._tick)

    def _collect_garbage(self) -> None:
        self.server.collect_garbage()
        self.scheduler.after(10.0, self._collect_garbage)
