"""Pods by which kubelets tell that a member of etcd runs on their node."""

from typing import Final

import msgspec

from nodemend.api.group_versions import POD
from nodemend.kube.api_request import Selection
from nodemend.kube.projection import Projection

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation on a Pod that a kubelet made for a static one. Only a kubelet of that node can."""

ETCD_PODS: Final = Selection(namespace="kube-system", labels="component=etcd", fields="spec.nodeName!=")


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""


class EtcdPodWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    spec: _Spec = _Spec()


class EtcdPodRecord(msgspec.Struct, frozen=True, gc=False):
    """`node` is empty for a Pod that no kubelet vouches for."""

    uid: str
    node: str


def etcd_pod_records() -> Projection[EtcdPodWire, EtcdPodRecord]:
    return Projection(POD, EtcdPodWire, _project, lambda record: record.uid)


def _project(wire: EtcdPodWire, old: EtcdPodRecord | None) -> EtcdPodRecord:
    metadata = wire.metadata
    record = EtcdPodRecord(metadata.uid, wire.spec.node_name if MIRROR in metadata.annotations else "")
    return old if old == record else record
