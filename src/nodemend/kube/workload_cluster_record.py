"""What we keep of Cluster API's Cluster: whether its machines can be judged yet."""

import msgspec

from nodemend.api.group_versions import Resource
from nodemend.kube.projection import Projection


class WorkloadClusterRecord(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    uid: str
    paused: bool
    infrastructure_ready: bool
    control_plane_initialized: bool


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, gc=False):
    paused: bool | None = None


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str
    status: str = "Unknown"


class _Initialization(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    infrastructure_provisioned: bool = False
    control_plane_initialized: bool = False


class _Status(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    infrastructure_ready: bool = False
    conditions: tuple[_Condition, ...] = ()
    initialization: _Initialization = _Initialization()


class WorkloadClusterWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


def workload_cluster_records(resource: Resource) -> Projection[WorkloadClusterWire, WorkloadClusterRecord]:
    return Projection(resource, WorkloadClusterWire, _project, lambda record: record.uid)


def _project(wire: WorkloadClusterWire, _old: WorkloadClusterRecord | None) -> WorkloadClusterRecord:
    status = wire.status
    true = {one.type for one in status.conditions if one.status == "True"}
    return WorkloadClusterRecord(
        namespace=wire.metadata.namespace,
        name=wire.metadata.name,
        uid=wire.metadata.uid,
        paused=bool(wire.spec.paused),
        infrastructure_ready=status.infrastructure_ready or status.initialization.infrastructure_provisioned,
        control_plane_initialized=status.initialization.control_plane_initialized
        or "ControlPlaneInitialized" in true,
    )
