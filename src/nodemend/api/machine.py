"""The parts of a Machine, of either project, by which its host is found and it is replaced."""

from typing import Any

import msgspec

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class InfrastructureReference(Wire):
    """By `api_version` in the older form, by `api_group` in the newer."""

    kind: str = ""
    name: str = ""
    api_version: str = ""
    api_group: str = ""


class NodeReference(Wire):
    name: str = ""


class MachineSpec(Wire):
    cluster_name: str = ""
    infrastructure_ref: InfrastructureReference | None = None
    provider_id: str = msgspec.field(name="providerID", default="")


class MachineNodeInfo(Wire):
    """What Cluster API copies from the Node that it found in the Machine's own cluster."""

    system_uuid: str = msgspec.field(name="systemUUID", default="")


class MachineStatus(Wire):
    node_ref: NodeReference | None = None
    node_info: MachineNodeInfo | None = None
    # As they are: they are written back whole, with those of others.
    conditions: tuple[dict[str, Any], ...] = ()


class Machine(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()

    @property
    def node(self) -> str:
        """The name of its node; empty while it has none."""
        return self.status.node_ref.name if self.status.node_ref else ""

    @property
    def system_uuid(self) -> str:
        """Of its node, where that is known."""
        return self.status.node_info.system_uuid if self.status.node_info else ""


class Metal3MachineSpec(Wire):
    provider_id: str = msgspec.field(name="providerID", default="")


class Metal3Machine(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: Metal3MachineSpec = Metal3MachineSpec()
