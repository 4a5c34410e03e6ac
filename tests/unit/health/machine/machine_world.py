"""A management cluster in the simulated world: machines, nodes, checks, and the shipped checker."""

from collections.abc import Mapping
from typing import Any, Final, cast

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE, REMEDIATION_POLICY, Resource
from nodemend.health.machine.events import MachineHealthCheckRecorder
from nodemend.health.machine.manager import MachineCheckingSettings
from nodemend.health.manager import Checker, CheckerObservers
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.ports import Connector
from nodemend.kube.request import Request
from nodemend.records.machine import CLAIM, CLUSTER_API
from simulation.api_server.admission import Authorizer, User, allow_everything
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch
from simulation.cluster.direct import Direct, Object
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.replicas import Silent, election
from simulation.cluster.world import DEFINITIONS, Account
from simulation.network import GOOD_LINK, Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

FIX: Final = Resource("remediation.metal3.io", "v1beta1", "Metal3Remediation", "metal3remediations")
FIX_TEMPLATE: Final = Resource(
    "remediation.metal3.io", "v1beta1", "Metal3RemediationTemplate", "metal3remediationtemplates"
)
SPACE: Final = "default"
CLUSTER: Final = "prod"
UNHURRIED: Final = {
    "mode": "Act",
    "minInterval": "1s",
    "settleTime": "1s",
    "maxUnhealthy": "100%",
    "maxConcurrentPercent": 100,
}
"""A policy without limits, so that only the checks limit."""
CALM: Final = 25.0
"""Seconds after the start from which the checker acts."""


class Door:
    """The checker's endpoint. Writes to some machines are refused."""

    def __init__(self, server: SimulatedApiServer) -> None:
        self.account = Account(server, User("checker"))
        self.closed: set[str] = set()

    def handle(self, request: Request) -> ApiResponse:
        if request.writes and any(f"/machines/{name}/" in f"{request.path}/" for name in self.closed):
            return ApiResponse(500, b'{"kind":"Status","code":500,"message":"the disk is full"}')
        return self.account.handle(request)

    def watch(self, request: Request) -> SimulatedWatch | ApiResponse:
        return self.account.watch(request)


class MachineWorld:
    """`group` and `version` are those of the Machines; every check is claimed for Nodemend."""

    def __init__(
        self,
        group: str = CLUSTER_API,
        version: str = "v1beta2",
        *,
        authorizer: Authorizer = allow_everything,
        **policy: Any,
    ) -> None:
        self.group = group
        self.machines_at = Resource(group, version, "Machine", "machines")
        self.checks_at = Resource(group, version, "MachineHealthCheck", "machinehealthchecks")
        self.clusters_at = Resource(group, version, "Cluster", "clusters")
        sets_at = Resource(group, version, "MachineSet", "machinesets")
        own = (
            self.machines_at,
            self.checks_at,
            sets_at,
            *((self.clusters_at,) if group == CLUSTER_API else ()),
        )
        self.scheduler = Scheduler("machines")
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=(*DEFINITIONS, *(a_definition(one) for one in (*own, FIX, FIX_TEMPLATE))),
            namespaces=(*NAMESPACES, well_known.SYSTEM_NAMESPACE),
            authorizer=authorizer,
        )
        self.api = Direct(Account(self.server, User("admin")))
        self.writes: list[str] = []
        self._door = Door(self.server)
        self._door.account.witnesses.append(self._witness)
        self.process: SimulatedProcess | None = None
        self.checker: Checker | None = None
        self.recorder = Silent()
        self.api.create(LEASE, {"metadata": {"name": "busy"}, "spec": {}}, SPACE)
        self.api.create(
            REMEDIATION_POLICY,
            {
                "metadata": {"name": well_known.POLICY_NAME},
                "spec": {**UNHURRIED, **policy},
            },
        )
        self.api.create(
            FIX_TEMPLATE,
            {
                "metadata": {"name": "reboot"},
                "spec": {
                    "template": {
                        "metadata": {"labels": {"team": "metal"}},
                        "spec": {"strategy": {"type": "Reboot"}},
                    }
                },
            },
            SPACE,
        )
        made = self.api.create(sets_at, {"metadata": {"name": "workers"}, "spec": {}}, SPACE)
        self._owner = {
            "apiVersion": sets_at.api_version,
            "kind": sets_at.kind,
            "name": "workers",
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
        if group == CLUSTER_API:
            self.add_cluster(CLUSTER)

    def _witness(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        if "/leases/" not in request.path:
            self.writes.append(f"{request.method} {request.path}")

    def start(
        self,
        *,
        calm: bool = True,
        medik8s_leases: str = "",
        recorder: MachineHealthCheckRecorder | Silent | None = None,
        link: LinkQuality = GOOD_LINK,
        annotation_template: str = "",
    ) -> "MachineWorld":
        """Start the checker, and wait until its caches are complete and it may act."""
        self.process = SimulatedProcess(self.scheduler, "checker", HostClock())
        checker = self.checker = Checker(
            self.process,
            SimulatedTransport(Link(self.process, self._door, link)),
            election("nodemend-checker", "checker-1", "nodemend-system"),
            CheckerObservers(Silent(), Silent(), cast("NodeHealthCheckRecorder", Silent())),
            machines=MachineCheckingSettings(
                Silent(),
                cast("MachineHealthCheckRecorder", recorder or self.recorder),
                self.connector(self.process),
                annotation_template=annotation_template,
            ),
            medik8s_leases=medik8s_leases,
        )
        self.process.spawn(checker.run(), "checker")
        return self.run(CALM if calm else 2.0)

    def connector(self, _process: SimulatedProcess) -> Connector | None:
        """The checker's connector to other clusters; None if it connects to none."""
        return None

    def tick(self) -> None:
        """Let every server do its due work."""
        self.server.tick()
        self.server.collect_garbage()

    def run(self, seconds: float) -> "MachineWorld":
        end = self.scheduler.now + seconds
        while self.scheduler.now < end:
            # A steady stream of writes to other objects, which bookmarks report.
            stamp = {"metadata": {"labels": {"at": f"{self.scheduler.now:.0f}"}}}
            self.api.patch(LEASE, "busy", stamp, at=(SPACE, ""))
            self.tick()
            self.scheduler.run(min(self.scheduler.now + 1.0, end))
        return self

    def close(self) -> None:
        if self.process is not None:
            self.process.crash()

    def add_cluster(self, name: str, **status: Any) -> None:
        ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
        self.api.create(self.clusters_at, {"metadata": {"name": name}, "spec": {}}, SPACE)
        at = (SPACE, "status")
        self.api.patch(self.clusters_at, name, {"status": {"initialization": ready, **status}}, at=at)

    def change_cluster(self, **initialization: bool) -> None:
        change = {"status": {"initialization": initialization}}
        self.api.patch(self.clusters_at, CLUSTER, change, at=(SPACE, "status"))

    def refuse_writes_to(self, machine: str) -> None:
        self._door.closed.add(machine)

    def allow_writes_to(self, machine: str) -> None:
        self._door.closed.discard(machine)

    def add_node(
        self,
        name: str,
        ready: str = "True",
        labels: Mapping[str, str] | None = None,
        *,
        provider_id: str = "",
    ) -> None:
        self.api.create(
            NODE,
            {
                "metadata": {"name": name, "labels": dict(labels or {})},
                "spec": {"providerID": provider_id or f"metal://{name}"},
            },
        )
        self.set_condition(name, "Ready", ready)

    def set_condition(self, node: str, type_: str, status: str) -> None:
        condition = {"type": type_, "status": status, "reason": "Told", "lastTransitionTime": self.now}
        self.api.patch(NODE, node, {"status": {"conditions": [condition]}}, at=("", "status"))

    def add_machine(
        self,
        name: str,
        *,
        node: str | None = "",
        owner: bool = True,
        namespace: str = SPACE,
        cluster: str = CLUSTER,
        **metadata: Any,
    ) -> None:
        """`node` is its name, by default that of the machine; None for a machine without a node."""
        node = name if node == "" else node
        metadata = {
            "name": name,
            "labels": {"pool": "workers"},
            "ownerReferences": [self._owner] if owner else [],
            **metadata,
        }
        spec = {"providerID": f"metal://{node}"}
        if self.group == CLUSTER_API:
            spec["clusterName"] = cluster
        self.api.create(self.machines_at, {"metadata": metadata, "spec": spec}, namespace)
        status: dict[str, Any] = {"initialization": {"infrastructureProvisioned": True}}
        if node is not None:
            status["nodeRef"] = {"name": node}
        self.set_machine_status(name, **status)

    def set_machine_status(self, name: str, **status: Any) -> None:
        self.api.patch(self.machines_at, name, {"status": status}, at=(SPACE, "status"))

    def add_pool(self, count: int, **metadata: Any) -> list[str]:
        names = [f"m{number}" for number in range(1, count + 1)]
        for name in names:
            self.add_node(name)
            self.add_machine(name, **metadata)
        return names

    def add_check(
        self, name: str = "workers", *, template: bool = False, claimed: bool = True, **spec: Any
    ) -> None:
        """A check for which a node Unknown for 60 s is unhealthy; grouped in v1beta2, else flat."""
        labels = {CLAIM[0]: CLAIM[1]} if claimed else {}
        reference = {"apiVersion": FIX_TEMPLATE.api_version, "kind": FIX_TEMPLATE.kind, "name": "reboot"}
        usual: dict[str, Any] = {"selector": {"matchLabels": {"pool": "workers"}}}
        if self.group == CLUSTER_API:
            usual["clusterName"] = CLUSTER
        if self.checks_at.version == "v1beta2":
            usual["checks"] = {
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 60}]
            }
            usual |= {"remediation": {"templateRef": reference}} if template else {}
        else:
            usual["unhealthyConditions"] = [{"type": "Ready", "status": "Unknown", "timeout": "60s"}]
            usual |= {"remediationTemplate": reference} if template else {}
        self.api.create(
            self.checks_at, {"metadata": {"name": name, "labels": labels}, "spec": {**usual, **spec}}, SPACE
        )

    def change_check(self, spec: Mapping[str, Any], name: str = "workers") -> None:
        self.api.patch(self.checks_at, name, {"spec": dict(spec)}, at=(SPACE, ""))

    def change_machine(self, name: str, **metadata: Any) -> None:
        self.api.patch(self.machines_at, name, {"metadata": metadata}, at=(SPACE, ""))

    def annotate(self, machine: str, annotations: Mapping[str, str | None]) -> None:
        self.change_machine(machine, annotations=dict(annotations))

    @property
    def now(self) -> str:
        return self.scheduler.wall().strftime("%Y-%m-%dT%H:%M:%SZ")

    def machine(self, name: str) -> Object | None:
        return self.api.get(self.machines_at, name, SPACE)

    def marks(self, name: str) -> dict[str, tuple[str, str]]:
        """The conditions of a Machine: status and reason by type."""
        found = (self.machine(name) or {}).get("status", {}).get("conditions") or ()
        return {one["type"]: (one["status"], one.get("reason", "")) for one in found}

    def annotate_check(self, annotations: dict[str, str | None], name: str = "workers") -> None:
        self.api.patch(self.checks_at, name, {"metadata": {"annotations": annotations}}, at=(SPACE, ""))

    def message(self, name: str, type_: str) -> str:
        found = (self.machine(name) or {}).get("status", {}).get("conditions") or ()
        return next((one.get("message", "") for one in found if one["type"] == type_), "")

    def fixes(self) -> list[str]:
        """The names of the existing remediations."""
        return sorted(one["metadata"]["name"] for one in self.api.list(FIX))

    def status(self, check: str = "workers") -> Object:
        found: Object = (self.api.get(self.checks_at, check, SPACE) or {}).get("status", {})
        return found

    def allowed_message(self, check: str) -> str:
        shown = {one["type"]: one for one in self.status(check).get("conditions") or ()}
        message: str = shown["RemediationAllowed"]["message"]
        return message

    def said(self, type_: str, check: str = "workers") -> tuple[str, str]:
        shown = {one["type"]: one for one in self.status(check).get("conditions") or ()}
        return shown.get(type_, {}).get("status", ""), shown.get(type_, {}).get("reason", "")
