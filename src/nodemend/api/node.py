"""The parts of a Node that decisions rest on, for reads that go to the API server itself."""

import msgspec

from nodemend.api.conditions import ConditionStatus
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class NodeTaint(Wire):
    key: str
    effect: str
    value: str = ""
    time_added: str | None = None


class NodeSpec(Wire):
    taints: tuple[NodeTaint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(name="providerID", default="")


class NodeCondition(Wire):
    type: str
    # Not an enum: a status that nobody has heard of must not make the Node unreadable.
    status: str
    reason: str = ""
    last_transition_time: str | None = None


class NodeInfo(Wire):
    boot_id: str = msgspec.field(name="bootID", default="")
    system_uuid: str = msgspec.field(name="systemUUID", default="")
    machine_id: str = msgspec.field(name="machineID", default="")


class NodeStatus(Wire):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: NodeInfo = NodeInfo()


class Node(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> ConditionStatus:
        """Anything but a plain True or False is Unknown."""
        said = next((c.status for c in self.status.conditions if c.type == "Ready"), "")
        return ConditionStatus(said) if said in ("True", "False") else ConditionStatus.UNKNOWN
