"""What every replica keeps from the Nodes it sees, so that a new leader does not begin from nothing."""

from dataclasses import dataclass, field

from nodemend.api.remediation_order import RemediationOrder
from nodemend.controllers.checking.condition_ages import ConditionAges
from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.checking.endings import Ending, Endings
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import Change
from nodemend.kube.remediation_record import RemediationRecord


@dataclass(frozen=True, slots=True)
class Observations:
    ages: ConditionAges = field(default_factory=ConditionAges)
    roll: ControlPlaneRoll = field(default_factory=ControlPlaneRoll)
    remediations: dict[str, float] = field(default_factory=dict)
    """When we first saw each, by UID: for how long a remedy is tried is counted from then."""

    endings: Endings = field(default_factory=Endings)

    orders: dict[str, float] = field(default_factory=dict)
    """When we first saw each, by UID: an order grows old from then, if not from earlier."""

    def note(self, change: Change[NodeRecord], now: float) -> None:
        """Must be told of every change of a record."""
        if change.new is not None:
            self.ages.observe(change.new.uid, change.new.conditions, now, after_gap=change.relisted)
            self.roll.observe(change.new)
        elif change.old is not None:
            self.ages.forget(change.old.uid)
            self.roll.forget(change.old.name)

    def note_remediation(self, change: Change[RemediationRecord], now: float) -> None:
        if change.new is not None:
            self.remediations.setdefault(change.new.uid, now)
        elif change.old is not None:
            self.remediations.pop(change.old.uid, None)

    def note_ending(self, record: RemediationRecord, at: str, node: NodeRecord | None) -> None:
        """`node` is the one of its name, if there is one."""
        with_node = node is None or node.uid not in record.owners
        self.endings.note(Ending(record, at, with_node))

    def note_order(self, change: Change[RemediationOrder], now: float) -> None:
        if change.new is not None:
            self.orders.setdefault(change.new.metadata.uid, now)
        elif change.old is not None:
            self.orders.pop(change.old.metadata.uid, None)
