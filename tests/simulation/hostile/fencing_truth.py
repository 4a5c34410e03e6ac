"""Judges releases of nodes that fence themselves, among others that release and delete Nodes as well."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from nodemend.api import keys
from nodemend.api.group_versions import SELF_REMEDIATION
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Request
from nodemend.testing.api_server.policies import REMEDIATOR
from nodemend.testing.cluster.machines import Machine
from tests.simulation.hostile.attribution import NODES, Attribution, node_in
from tests.simulation.hostile.policies import Policies
from tests.simulation.hostile.surroundings import CANARY
from tests.simulation.settling import InvariantBrokenError
from tests.simulation.shipped_fencing.invariants import FencingInvariants

if TYPE_CHECKING:
    from tests.simulation.shipped_fencing.cluster import Cluster

Object = dict[str, Any]


class HostileFencingInvariants(FencingInvariants):
    """Beside what always holds, and counted."""

    def __init__(self, policies: Policies) -> None:
        super().__init__()
        self.checked: Counter[str] = Counter()
        self._policies = policies
        self._begun: set[tuple[str, str]] = set()
        """Remediations, by UID, and the boots that they have marked."""
        self._attribution: Attribution | None = None

    @property
    def attribution(self) -> Attribution:
        if self._attribution is None:
            raise RuntimeError("watches nothing yet")
        return self._attribution

    def watch(self, cluster: "Cluster") -> None:
        self._attribution = Attribution(cluster.world)
        super().watch(cluster)

    # To be told of every request of ours, before it is done and after.

    def remember(self, request: Request) -> None:
        if request.writes and request.path.startswith(NODES):
            self.attribution.remember(node_in(request))

    def saw_read(self, request: Request, _answer: Answer) -> None:
        """I12: no program reads Secrets, nor tells what is in one."""
        self.checked["I12"] += 1
        if CANARY.encode() in request.body or "/secrets" in request.path:
            raise InvariantBrokenError(f"I12: {request.method} {request.path} tells what is in a Secret")

    def restored(self) -> None:
        """etcd went back."""
        self._policies.restored()
        self.attribution.restored()

    # I1, where we are why.

    def started(self, machine: Machine, workload: str) -> None:
        if self._attribution is not None:
            self.checked["I1"] += 1
            self._attribution.started(machine, workload)

    def _saw_removal(self, pod: Object) -> None:
        self.checked["I1"] += 1
        self.attribution.removed(pod)

    def _is_over(self, name: str, boot_id: str, what: str) -> None:
        """A node that lies about its boot can harm its own workloads alone."""
        if name not in self.attribution.liars:
            super()._is_over(name, boot_id, what)

    def _is_released(self, name: str) -> None:
        if name not in self.attribution.liars:
            super()._is_released(name)

    # Counted, and judged where they always are.

    def _saw_write(self, user: str, request: Request, answer: Answer) -> None:
        if request.writes and request.path.startswith(NODES):
            self.attribution.saw_node(node_in(request), request, answer)
        super()._saw_write(user, request, answer)

    def _has_preconditions(self, request: Request, body: Object) -> None:
        self.checked["I3"] += 1
        super()._has_preconditions(request, body)

    def _saw_marker(self, name: str, boot_id: str) -> None:
        """I5: where a new leader writes a marker once more, nothing begins."""
        self.checked.update(("I5", "I9"))
        remediation = self.cluster.api.get(SELF_REMEDIATION, name, keys.SYSTEM_NAMESPACE)
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
