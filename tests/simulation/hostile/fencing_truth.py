"""Checks releases of self-fencing nodes, while other operators release and delete Nodes, too."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from nodemend.api import well_known
from nodemend.api.resources import SELF_REMEDIATION
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.api_server.policies import REMEDIATOR
from simulation.cluster.machines import Machine
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.hostile.attribution import NODES, Attribution, node_in
from tests.simulation.hostile.fault_context import CANARY
from tests.simulation.hostile.policies import Policies
from tests.simulation.self_fencing_nodes.invariants import FencingInvariants

if TYPE_CHECKING:
    from tests.simulation.self_fencing_nodes.cluster import Cluster

Object = dict[str, Any]


class HostileFencingInvariants(FencingInvariants):
    """The usual invariants with attribution, and with counters."""

    def __init__(self, policies: Policies) -> None:
        super().__init__()
        self.checked: Counter[str] = Counter()
        self._policies = policies
        self._begun: set[tuple[str, str]] = set()
        """UIDs of remediations, with the boots that they marked."""
        self._attribution: Attribution | None = None

    @property
    def attribution(self) -> Attribution:
        if self._attribution is None:
            raise RuntimeError("watches nothing yet")
        return self._attribution

    def watch(self, cluster: "Cluster") -> None:
        self._attribution = Attribution(cluster.world)
        super().watch(cluster)

    # Calls before and after every request of Nodemend.

    def remember(self, request: Request) -> None:
        if request.writes and request.path.startswith(NODES):
            self.attribution.remember(node_in(request))

    def saw_read(self, request: Request, _answer: ApiResponse) -> None:
        """Check I12: no program reads Secrets, or writes their content."""
        self.checked["I12"] += 1
        if CANARY.encode() in request.body or "/secrets" in request.path:
            raise InvariantBrokenError(f"I12: {request.method} {request.path} tells what is in a Secret")

    def restored(self) -> None:
        """Handle a restore of etcd."""
        self._policies.restored()
        self.attribution.restored()

    # I1, for removals that Nodemend caused.

    def started(self, machine: Machine, workload: str) -> None:
        if self._attribution is not None:
            self.checked["I1"] += 1
            self._attribution.started(machine, workload)

    def _saw_removal(self, pod: Object) -> None:
        self.checked["I1"] += 1
        self.attribution.removed(pod)

    def _is_past(self, name: str, boot_id: str, what: str) -> None:
        if name not in self.attribution.byzantine_peers:
            super()._is_past(name, boot_id, what)

    def _is_over(self, name: str, boot_id: str, what: str) -> None:
        """Check, except for nodes that lie about their boot: these can harm only their own workloads."""
        if name not in self.attribution.byzantine_peers:
            super()._is_over(name, boot_id, what)

    def _is_released(self, name: str) -> None:
        if name not in self.attribution.byzantine_peers:
            super()._is_released(name)

    # Counted here, checked by the base class.

    def _saw_write(self, user: str, request: Request, answer: ApiResponse) -> None:
        if request.writes and request.path.startswith(NODES):
            self.attribution.saw_node(node_in(request), request, answer)
        super()._saw_write(user, request, answer)

    def _has_preconditions(self, request: Request, body: Object) -> None:
        self.checked["I3"] += 1
        super()._has_preconditions(request, body)

    def _saw_marker(self, name: str, boot_id: str) -> None:
        """Check I5. A new leader that repeats a marker starts nothing."""
        self.checked.update(("I5", "I9"))
        remediation = self.cluster.api.get(SELF_REMEDIATION, name, well_known.SYSTEM_NAMESPACE)
        begun = (remediation["metadata"]["uid"] if remediation else "", boot_id)
        if begun not in self._begun:
            self._policies.may_begin(REMEDIATOR, name)
        self._begun.add(begun)
        super()._saw_marker(name, boot_id)

    def _saw_release(self, node: Object) -> None:
        self.checked.update(("I1", "I2", "I4"))
        super()._saw_release(node)

    def settled(self) -> None:
        self.checked.update(("I8", "I14"))
        super().settled()
