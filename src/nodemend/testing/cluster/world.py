"""One simulated cluster with Nodemend in it."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from nodemend.api import keys
from nodemend.api.custom_resources import CUSTOM_RESOURCES, definition_of
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION_TEMPLATE,
    NODE,
    NODE_HEALTH_CHECK,
    REMEDIATION_POLICY,
)
from nodemend.controllers.admission_proof import Admission
from nodemend.controllers.node_health_check.controller import Recorder
from nodemend.controllers.remediator import Powers
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.testing.api_server.admission import ADMIN, User
from nodemend.testing.api_server.our_rules import our_rules
from nodemend.testing.api_server.policies import CHECKER, REMEDIATOR
from nodemend.testing.api_server.server import NAMESPACES, SimulatedApiServer
from nodemend.testing.api_server.watching import SimulatedWatch
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.engine import Engine
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.cluster.people import Admin
from nodemend.testing.cluster.replicas import Replica, checker, remediator
from nodemend.testing.network import DRY_RUN, GOOD_LINK, LinkQuality
from nodemend.testing.scheduler import Scheduler

DEFINITIONS: Final = tuple(definition_of(custom) for custom in CUSTOM_RESOURCES)
TEMPLATE: Final = "call-somebody"
CHECK: Final = "all-nodes"
FOREIGN_TAINT: Final = {"key": "example.com/theirs", "value": "keep", "effect": "PreferNoSchedule"}

Witness = Callable[[str, Request, Answer], None]


class Account:
    """One user's way into the server, with witnesses to every write that it commits."""

    def __init__(self, server: SimulatedApiServer, user: User) -> None:
        self.user = user
        self.witnesses: list[Witness] = []
        self.asked: Counter[Method] = Counter()
        """How many requests of each kind it has made; a watch is one."""
        self.forbidden: set[tuple[Method, str]] = set()
        """Rights that it lacks: what it may not do to which resource, by plural name or by whole path."""
        self._server = server

    def handle(self, request: Request) -> Answer:
        self.asked[request.method] += 1
        answer = self._refusal(request) or self._server.handle(request, self.user)
        if request.writes and answer.status < 300 and DRY_RUN not in request.query:
            for witness in self.witnesses:
                witness(self.user.name, request, answer)
        return answer

    def watch(self, request: Request) -> SimulatedWatch | Answer:
        self.asked[request.method] += 1
        return self._refusal(request) or self._server.watch(request, self.user)

    def _refusal(self, request: Request) -> Answer | None:
        if not self.forbidden:
            return None
        parts = (request.path, *request.path.split("/"))
        if not self.forbidden & {(request.method, part) for part in parts}:
            return None
        why = f'User "{self.user.name}" has no right to {request.method} {request.path}'
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": why}
        return Answer(403, msgspec.json.encode(status))


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a world is, and how its links behave."""

    machines: int = 3
    workloads: int = 2
    replicas: int = 2
    quality: LinkQuality = GOOD_LINK
    people: bool = True
    policy: Mapping[str, Any] = field(default_factory=dict)
    """What the RemediationPolicy says beside `mode: Act`."""
    definitions: tuple[Mapping[str, Any], ...] = ()
    """CustomResourceDefinitions beside our own."""
    medik8s_leases: str = ""
    """The namespace of the Leases that the checker respects; none by default."""
    recorder: Recorder | None = None
    """Whom the checkers tell; nobody by default."""
    power_cycle: bool = False
    """Whether the remediators switch hosts off and on."""
    node_deletion: bool = False
    """Whether they may delete Nodes that are to be released so."""
    capm3_kinds: bool = False
    """Whether they serve CAPM3's remediations."""
    self_fencing: bool = False
    """Whether they ask nodes to reset themselves, and machines have agents for that."""
    check: Mapping[str, Any] = field(default_factory=dict)
    """What the NodeHealthCheck says other than usual."""
    admission: Mapping[str, Admission] = field(default_factory=dict)
    """Which admission policies "checker" and "remediator" prove; none by default."""


class World:
    """Everything there is. `started` is told of each process that a machine starts."""

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
            namespaces=(*NAMESPACES, keys.SYSTEM_NAMESPACE, *_namespaces_of_agents(shape)),
        )
        self.admin = Account(self.server, ADMIN)
        """Of all that belong to the world itself: machines, its engine, and whoever plays with it."""
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
        powers = Powers(
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
        """Of somebody else who has programs in this cluster."""
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
            {"metadata": {"name": keys.POLICY_NAME}, "spec": {"mode": "Act", **shape.policy}},
        )
        template = {"metadata": {"name": TEMPLATE}, "spec": {"template": {"spec": {"instructions": "go"}}}}
        self.admin_api.create(MANUAL_REMEDIATION_TEMPLATE, template, keys.SYSTEM_NAMESPACE)
        self.admin_api.create(
            NODE_HEALTH_CHECK, {"metadata": {"name": CHECK}, "spec": check_spec() | dict(shape.check)}
        )
        self._tick()
        self._collect_garbage()

    def _tick(self) -> None:
        """The server's own chores: bookmarks, ends of watches."""
        self.server.tick()
        self.scheduler.after(1.0, self._tick)

    def _collect_garbage(self) -> None:
        self.server.collect_garbage()
        self.scheduler.after(5.0, self._collect_garbage)

    def run(self, until: float) -> None:
        self.scheduler.run(until)

    def close(self) -> None:
        """End every process, so that nothing of this world is left to be cleaned up by chance."""
        for replica in self.replicas:
            replica.process.crash()


def _namespaces_of_agents(shape: Shape) -> tuple[str, ...]:
    return (keys.AGENT_NAMESPACE,) if shape.self_fencing else ()


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
                    "namespace": keys.SYSTEM_NAMESPACE,
                }
            }
        ],
        "maxUnhealthy": "100%",
        "healthyDelay": "10s",
    }
