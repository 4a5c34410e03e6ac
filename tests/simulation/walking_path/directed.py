"""Directed seeds: each meets one danger of a release by an operator's confirmation.

Links are good and other faults are absent, so that the danger itself decides. The judges are those of the
hostile worlds: an operator who errs lets a node run on, and a release of that node violates I1.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.api_server.admission import User
from simulation.api_server.storage import Snapshot
from simulation.cluster.direct import Direct, Object
from simulation.cluster.machines import Machine
from simulation.cluster.replicas import Replica
from simulation.cluster.world import Account, Shape, World, check_spec
from tests.simulation.convergence import InvariantBrokenError, settle
from tests.simulation.directing import DirectedSeed
from tests.simulation.hostile.attribution import taints_of
from tests.simulation.hostile.fault_context import Around, surround
from tests.simulation.hostile.kinds import Counts
from tests.simulation.hostile.policies import KINDS, Policies
from tests.simulation.hostile.truth import HostileInvariants
from tests.simulation.walking_path.faults import LENIENT
from tests.simulation.walking_path.invariants import is_ours

SICK: Final = "node-1"
OPERATOR: Final = "anna"
BLIND: Final = (Method.GET, well_known.KUBELET_LEASE_NAMESPACE)
SHORTEST: Final = "40s"
"""The shortest period for which a health check may wait."""
BEGUN_WITHIN: Final = 130.0
"""Seconds from its failure: 40 until Kubernetes notices, then the period of the check."""
RELEASED_WITHIN: Final = 120.0
"""Seconds from a valid confirmation: 40 of silence may have to pass first, then the workloads start again."""
SETTLED_WITHIN: Final = 600.0
RAISED: Final = 1_000_000
"""Added to all revisions after some restores of etcd."""


class UnharmedPolicies(Policies):
    """Admission policies that change only when a family changes them."""

    def _harm(self) -> None: ...

    def unbind(self, name: str) -> None:
        """Delete the binding of a policy."""
        self.around.api.delete(KINDS["binding"], name)
        self._poll()

    def is_found(self, name: str) -> bool:
        """Return whether the checker has found that it is not in force."""
        return ("checker", name) in self._found


class Directed(DirectedSeed[World, HostileInvariants]):
    """One seed of one family."""

    policy: ClassVar[Mapping[str, Any]] = LENIENT
    healthy_delay: ClassVar[str] = "10s"
    proven: ClassVar[bool] = False
    """True if the programs prove that the admission policies are in force."""

    def __init__(self, seed: int, *, keep_trace: bool = False) -> None:
        super().__init__(seed)
        self.policies = UnharmedPolicies(Counts())
        self.invariants = HostileInvariants(self.policies)
        thresholds = [{**one, "period": SHORTEST} for one in _thresholds()]
        shape = Shape(
            machines=3,
            policy=self.policy,
            people=False,
            self_fencing=True,
            check={"thresholds": thresholds, "healthyDelay": self.healthy_delay},
            admission=self.policies.admission if self.proven else {},
        )
        name = f"{self.family} {seed}"
        self.world = World(name, shape, self.invariants.started, keep_trace=keep_trace)
        self.api = self.world.admin_api
        self.invariants.watch(self.world)
        self.around = self._surround()
        if self.proven:
            self.policies.begin(self.around)
        self.operator = Direct(Account(self.world.server, User(OPERATOR)))

    def _surround(self) -> Around:
        return surround(
            self.world,
            Counts(),
            kinds=(MANUAL_REMEDIATION,),
            ceases=0.0,
            before=self.invariants.remember,
            heard=self.invariants.saw_read,
        )

    # Time.

    def until(self, reached: Callable[[], bool], within: float, broken: str) -> None:
        by = self.world.scheduler.now + within
        while not reached():
            if self.world.scheduler.now > by:
                raise InvariantBrokenError(f"{broken} within {within:.0f} s")
            self.run(0.5)

    def settles(self) -> None:
        """Check I8 and I14."""
        by = self.world.scheduler.now + SETTLED_WITHIN
        settle(self.world, self.invariants, by=by, every=20.0, stays=20.0)

    # The world.

    @property
    def sick(self) -> Machine:
        return self.world.machines[SICK]

    @property
    def remediation(self) -> Object | None:
        """The remediation that the check has created."""
        return self.world.admin_api.get(MANUAL_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)

    @property
    def status(self) -> Mapping[str, Any]:
        return (self.remediation or {}).get("status") or {}

    @property
    def node(self) -> Object:
        return self.world.admin_api.get(NODE, SICK) or {}

    def of(self, role: str) -> list[Replica]:
        """Return the replicas of a program."""
        return [one for one in self.world.replicas if one.name.startswith(role)]

    def runs_elsewhere(self) -> bool:
        """Return whether all workloads run, and none of them on the node."""
        elsewhere = [one for one in self.world.machines.values() if one is not self.sick]
        running = Counter(who for machine in elsewhere for who in machine.running.values())
        return running == Counter(self.world.workloads)

    # Events.

    def cut_off(self) -> None:
        """Cut the node off. Its processes run on."""
        self.tell("cut off")
        self.sick.connected = False

    def lose_power(self) -> None:
        self.sick.power_off()

    def reports_ready(self) -> None:
        """Let a status of the kubelet arrive, without a renewal of its Lease."""
        self.tell("reports Ready")
        self.sick.report()

    def begins(self) -> None:
        """Run until its remediation waits for a confirmation."""
        self.until(
            lambda: bool(self.status.get("lastRenewTime")),
            BEGUN_WITHIN,
            f"I14: no remediation of {SICK} began",
        )

    def statement(self, **different: str) -> Object:
        """Return the confirmation that the remediation asks for now."""
        status = self.status
        return {
            "by": OPERATOR,
            "reason": "I stand beside it",
            "nodeUID": status["nodeUID"],
            "bootID": status["bootID"],
            "lastRenewTime": status.get("lastRenewTime", ""),
            **different,
        }

    def on_evidence(self, happens: Callable[[], None]) -> None:
        """Let something happen at the moment at which evidence is recorded for the first time."""
        recorded: list[float] = []

        def saw(_user: str, request: Request, _answer: ApiResponse) -> None:
            if b'"evidence":{' in request.body and not recorded:
                recorded.append(self.world.scheduler.now)
                happens()

        self.world.remediator.witnesses.append(saw)

    def blind(self) -> None:
        """Withdraw the right to read the Leases of kubelets. Without it, no release can be decided."""
        self.tell("no right to read kubelets' Leases")
        self.world.remediator.forbidden.add(BLIND)

    def see_again(self) -> None:
        self.world.remediator.forbidden.discard(BLIND)

    def has_evidence(self) -> None:
        self.until(lambda: bool(self.status.get("evidence")), 60.0, f"I14: no evidence about {SICK}")

    @property
    def tainted(self) -> bool:
        return any(map(is_ours, taints_of(self.node)))

    def confirm(self, statement: Object | None) -> None:
        """Write a confirmation, or withdraw it."""
        self.tell("confirmed" if statement else "the confirmation is withdrawn")
        at = (well_known.SYSTEM_NAMESPACE, "")
        self.operator.try_patch(MANUAL_REMEDIATION, SICK, {"spec": {"confirmation": statement}}, at=at)

    def restore(self, backup: Snapshot, *, raised: bool) -> None:
        """Restore etcd. All API servers are stopped for it. Without `raised`, revisions are used again."""
        self.tell("etcd is restored" + (", with higher revisions" if raised else ""))
        for replica in self.world.replicas:
            replica.link.drop_requests()
        self.world.server.restore(backup, bump=RAISED if raised else 0)
        self.invariants.restored()

    # Required results.

    def released_in_time(self) -> None:
        self.until(self.runs_elsewhere, RELEASED_WITHIN, f"I13: the workloads of {SICK} are not released")

    def recovers(self) -> None:
        """Repair the node; check that Nodemend leaves nothing behind."""
        self.sick.connected, self.sick.hung = True, False
        self.sick.power_on()
        self.settles()


def _thresholds() -> list[dict[str, Any]]:
    thresholds: Any = check_spec()["thresholds"]
    return list(thresholds)
