"""What the guard looks at around a node: our caches, and who is the control plane."""

from dataclasses import dataclass
from math import inf

from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.checking.guarding import CALM_NEEDED, VIEW_GOOD_FOR
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.node_health_check.gather import View, busy_nodes
from nodemend.decide.guard_facts import ControlPlane, Sight
from nodemend.kube.object_cache import ObjectCache


@dataclass(frozen=True, slots=True)
class NodeSurroundings:
    view: View
    roll: ControlPlaneRoll

    @property
    def policies(self) -> ObjectCache[RemediationPolicy]:
        return self.view.policies

    def sight(self, _ward: Ward, now: float) -> Sight:
        troubled = self.view.nodes.troubled_at
        calm_for = inf if troubled is None else now - troubled
        return Sight(self.view.age(now), VIEW_GOOD_FOR, calm_for, CALM_NEEDED)

    def busy(self, _ward: Ward, now: float) -> Busy:
        return busy_nodes(self.view, tuple(self.view.remedies.all()), now)

    def control_plane(self, ward: Ward, busy: Busy) -> ControlPlane | None:
        return self.roll.around(ward.name, busy.names)
