"""What every replica keeps from the Nodes it sees, so that a new leader does not begin from nothing."""

from dataclasses import dataclass, field

from nodemend.controllers.node_health_check.condition_ages import ConditionAges
from nodemend.controllers.node_health_check.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.node_health_check.gather import reported
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import Change


@dataclass(frozen=True, slots=True)
class Observations:
    ages: ConditionAges = field(default_factory=ConditionAges)
    roll: ControlPlaneRoll = field(default_factory=ControlPlaneRoll)

    def note(self, change: Change[NodeRecord], now: float) -> None:
        """Must be told of every change of a record."""
        if change.new is not None:
            self.ages.observe(change.new.uid, reported(change.new), now)
            self.roll.observe(change.new)
        elif change.old is not None:
            self.ages.forget(change.old.uid)
            self.roll.forget(change.old.name)
