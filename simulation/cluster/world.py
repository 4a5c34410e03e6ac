"""One simulated cluster with Nodemend installed."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.resources import MANUAL_REMEDIATION_TEMPLATE, NODE, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.guard.policy_proof import Admission
from nodemend.health.node.events import NodeHealthCheckRecorder
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from nodemend.remediation.manager import EnabledKinds
from simulation.api_server.admission import ADMIN, User
from simulation.api_server.policies import CHECKER, REMEDIATOR, our_rules
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch
from simulation.cluster.direct import Direct
from simulation.cluster.engine import Engine
from simulation.cluster.machines import Machine
from simulation.cluster.people import Admin
from simulation.cluster.replicas import Replica, Silent, checker, remediator
from simulation.network import DRY_RUN, GOOD_LINK, LinkQuality
from simulation.scheduler import Scheduler

DEFINITIONS: Final = tuple(definition_of(custom) for custom in CUSTOM_RESOURCES)
TEMPLATE: Final = "call-somebody"
CHECK: Final = "all-nodes"
FOREIGN_TAINT: Final = {"key": "example.com/theirs", "value": "keep", "effect": "PreferNoSchedule"}

Witness = Callable[[str, Request, ApiResponse], None]


class Account:
    """One user's access to the server. Witnesses receive every write that the server commits for it."""

    def __init__(self, server: SimulatedApiServer, user: User) -> None:
        self.user = user
        self.witnesses: list[Witness] = []
        self.asked: Counter[Method] = Counter()
        """Number of requests by method. A watch counts as one."""
        self.forbidden: set[tuple[Method, str]] = set()
        """Missing rights: pairs of method and resource, as plural name or whole path."""
        self._server = server

    def handle(self, request: Request) -> ApiResponse:
        self.asked[request.method] += 1
        answer = self._refusal(request) or self._server.handle(request, self.user)
        if request.writes and answer.status < 300 and DRY_RUN not in request.query:
            for witness in self.witnesses:
                witness(self.user.name, request, answer)
        return answer

    def watch(self, request: Request) -> SimulatedWatch | ApiResponse:
        self.asked[request.method] += 1
        return self._refusal(request) or self._server.watch(request, self.user)

    def _refusal(self, request: Request) -> ApiResponse | None:
        if not self.forbidden:
            return None
        parts = (request.path, *request.path.split("/"))
        if not self.forbidden & {(request.method, part) for part in parts}:
            return None
        why = f'User "{self.user.name}" has no right to {request.method} {request.path}'
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": why}
        return ApiResponse(403, msgspec.json.encode(status))


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a world, the quality of its links, and its features."""

    machines: int = 3
    workloads: int = 2
    replicas: int = 2
    quality: LinkQuality = GOOD_LINK
    people: bool = True
    policy: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the RemediationPolicy in addition to `mode: Act`."""
    definitions: tuple[Mapping[str, Any], ...] = ()
    """CustomResourceDefinitions in addition to Nodemend's."""
    medik8s_leases: str = ""
    """The namespace of the Leases that the checker respects; empty: it ignores them."""
    recorder: NodeHealthCheckRecorder | Silent | None = None
    """Receives the events of the checkers; None: no recorder."""
    power_cycle: bool = False
    """True if the remediators power hosts off and on."""
    node_deletion: bool = False
    """True if the remediators may delete Nodes to release their workloads."""
    capm3_kinds: bool = False
    """True if the remediators serve CAPM3's remediations."""
    self_fencing: bool = False
    """True if the remediators request that nodes reset themselves, and machines run agents for that."""
    check: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the NodeHealthCheck that differ from the default."""
    admission: Mapping[str, Admission] = field(default_factory=dict)
    """Admission policies that "checker" and "remediator" prove to be active; empty: they skip the proof."""


class World:
    """The whole simulation. `started` is called for each process that a machine starts."""

    def __init__(
        self,
        seed: int | str,
        shape: Shape,
        started: Callable[[Machine, str], None] = lambda machine, workload: None,
        *,
        keep_trace: bool = False,
    ) -> None:
        self.scheduler = Scheduler(seed, keep_trace=keep_trace)
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=(*DEFINITIONS, *shape.definitions),
            rules=our_rules(node_deletion=shape.node_deletion),
            namespaces=(*NAMESPACES, well_known.SYSTEM_NAMESPACE, *_namespaces_of_agents(shape)),
        )
        self.admin = Account(self.server, ADMIN)
        """Account of the simulation itself: machines, engine, and tests."""
        self.admin_api = Direct(self.admin)
        self._accounts: dict[str, Account] = {}
        self.machines = {
            name: Machine(name, self.admin_api, self.scheduler, started)
            for name in (f"node-{number}" for number in range(1, shape.machines + 1))
        }
        self.workloads = tuple(f"db-{number}" for number in range(shape.workloads))
        self.engine = Engine(self.admin_api, self.scheduler, self.workloads)
        self.checker = Account(self.server, User(CHECKER))
        self.remediator = Account(self.server, User(REMEDIATOR))
        self._begin(shape)
        self.replicas = self._make_replicas(shape)
        for replica in self.replicas:
            replica.watch_over()

    def _make_replicas(self, shape: Shape) -> list[Replica]:
        powers = EnabledKinds(
            power_cycle=shape.power_cycle,
            node_deletion=shape.node_deletion,
            capm3_kinds=shape.capm3_kinds,
            self_fencing=shape.self_fencing,
        )
        checks = partial(
            checker,
            medik8s_leases=shape.medik8s_leases,
            recorder=shape.recorder,
            admission=shape.admission.get("checker"),
        )
        remediates = partial(remediator, powers=powers, admission=shape.admission.get("remediator"))
        programs = (("checker", checks, self.checker), ("remediator", remediates, self.remediator))
        return [
            Replica(self.scheduler, f"{role}-{number}", program, account, shape.quality)
            for role, program, account in programs
            for number in range(shape.replicas)
        ]

    def account(self, user: str) -> Account:
        """Return the account of another user with programs in this cluster."""
        return self._accounts.setdefault(user, Account(self.server, User(user)))

    def _begin(self, shape: Shape) -> None:
        for machine in self.machines.values():
            machine.start()
            self.admin_api.patch(NODE, machine.name, {"spec": {"taints": [FOREIGN_TAINT]}})
        self.engine.start()
        if shape.people:
            person = Direct(Account(self.server, User("anna")))
            Admin("anna", person, self.scheduler, self.machines).start()
        self.admin_api.create(
            REMEDIATION_POLICY,
            {"metadata": {"name": well_known.POLICY_NAME}, "spec": {"mode": "Act", **shape.policy}},
        )
        template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": {"instructions": "go"}}}}
        self.admin_api.create(MANUAL_REMEDIATION_TEMPLATE, template, well_known.SYSTEM_NAMESPACE)
        self.admin_api.create(
            NODE_HEALTH_CHECK, {"metadata": {"name": CHECK}, "spec": check_spec() | dict(shape.check)}
        )
        self._tick()
        self._collect_garbage()

    def _tick(self) -> None:
        """Run the server's periodic work: bookmarks, ends of watches."""
        self.server.tick()
        self.scheduler.after(1.0, self._tick)

    def _collect_garbage(self) -> None:
        self.server.collect_garbage()
        self.scheduler.after(5.0, self._collect_garbage)

    def run(self, until: float) -> None:
        self.scheduler.run(until)

    def close(self) -> None:
        """End every process, so that the Python garbage collector finds nothing of this world to clean up."""
        for replica in self.replicas:
            replica.process.crash()


def _namespaces_of_agents(shape: Shape) -> tuple[str, ...]:
    return (well_known.AGENT_NAMESPACE,) if shape.self_fencing else ()


def check_spec() -> dict[str, object]:
    return {
        "selector": {},
        "thresholds": [
            {"type": "Ready", "status": "Unknown", "period": "60s"},
            {"type": "Ready", "status": "False", "period": "60s"},
        ],
        "remedies": [
            {
                "template": {
                    "apiVersion": MANUAL_REMEDIATION_TEMPLATE.api_version,
                    "kind": MANUAL_REMEDIATION_TEMPLATE.kind,
                    "name": TEMPLATE,
                    "namespace": well_known.SYSTEM_NAMESPACE,
                }
            }
        ],
        "maxUnhealthy": "100%",
        "healthyDelay": "10s",
    }
