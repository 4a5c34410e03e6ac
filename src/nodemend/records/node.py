"""Cached records of Nodes, and of the mirror Pods by which kubelets report etcd members on their nodes.

A Node's record is under 2 KB, of the 10 to 14 KB on the wire.

Nodes of another cluster are read like those of this one, with limits on the memory that a Node can take: this
cluster's API server limits labels and names; another cluster's may send anything. A Node
beyond these limits is unreadable, and the other Nodes of its cluster are not affected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from nodemend.api.resources import NODE, POD
from nodemend.api.value_forms import LONGEST_BOOT_ID, LONGEST_NAME, LONGEST_UID
from nodemend.kube.request import Selection
from nodemend.kube.store import FOREIGN_LIST, Projection, SharedValues, WireMetadata
from nodemend.safety.identity import LONGEST_UUID

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation on the mirror Pod of a static Pod. Only the kubelet of that node can set it."""

ETCD_PODS: Final = Selection(namespace="kube-system", labels="component=etcd", fields="spec.nodeName!=")


class _PodMetadata(WireMetadata, frozen=True, gc=False, rename="camel"):
    annotations: dict[str, str] = {}


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""


class EtcdPodWire(msgspec.Struct, frozen=True, gc=False):
    metadata: _PodMetadata
    spec: _PodSpec = _PodSpec()


class EtcdPodRecord(msgspec.Struct, frozen=True, gc=False):
    """`node` is empty for a Pod that is not a kubelet's mirror Pod."""

    uid: str
    node: str


def etcd_pod_records() -> Projection[EtcdPodWire, EtcdPodRecord]:
    return Projection(POD, EtcdPodWire, _project, lambda record: record.uid)


def _project(wire: EtcdPodWire, old: EtcdPodRecord | None) -> EtcdPodRecord:
    metadata = wire.metadata
    record = EtcdPodRecord(metadata.uid, wire.spec.node_name if MIRROR in metadata.annotations else "")
    return old if old == record else record


_TEXTS = msgspec.json.Decoder(dict[str, str] | None)
_IP_TYPES: Final = frozenset({"InternalIP", "ExternalIP"})
_LONGEST_IP: Final = 45
_MOST_IPS: Final = 64


class NodeConditionRecord(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition without its heartbeat time, which would make every report of the kubelet a change."""

    type: str
    status: str = "Unknown"
    last_transition_time: str | None = None
    """As written: a kubelet may write any text, and an invalid time must not hide its Node."""


class NodeTaintRecord(msgspec.Struct, frozen=True, gc=False):
    key: str
    effect: str = ""
    value: str = ""


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """The fields for decisions that may be stale. It has no resourceVersion: writes need a live read."""

    name: str
    uid: str
    # Keys and values are separate because nearly all nodes have the same keys and then share one tuple.
    label_keys: tuple[str, ...]
    label_values: tuple[str, ...]
    annotations: tuple[tuple[str, str], ...]
    conditions: tuple[NodeConditionRecord, ...]
    taints: tuple[NodeTaintRecord, ...]
    unschedulable: bool
    provider_id: str
    boot_id: str
    created: datetime | None
    deleting: bool
    labels_hash: int
    """Hash of the encoded labels: while it is unchanged, the labels are not even decoded."""
    system_uuid: str = ""
    ips: tuple[str, ...] = ()
    """`system_uuid` and `ips` are kept only for callers that identify the machine behind a Node."""

    def condition(self, type_: str) -> NodeConditionRecord | None:
        return next((condition for condition in self.conditions if condition.type == type_), None)

    @property
    def labels(self) -> dict[str, str]:
        return dict(zip(self.label_keys, self.label_values, strict=True))

    def annotation(self, key: str) -> str | None:
        return next((value for name, value in self.annotations if name == key), None)


NO_NODE = NodeRecord("", "", (), (), (), (), (), False, "", "", None, False, 0)
"""A record for questions that concern no node in particular."""


class _Metadata(WireMetadata, frozen=True, gc=False, rename="camel"):
    creation_timestamp: datetime | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()


class NodeSpecWire(msgspec.Struct, frozen=True, gc=False):
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[NodeTaintRecord, ...] = ()


class _NodeInfo(msgspec.Struct, frozen=True, gc=False):
    boot_id: str = msgspec.field(name="bootID", default="")
    system_uuid: str = msgspec.field(name="systemUUID", default="")


class _Address(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    address: str = ""


_ADDRESSES: Final = msgspec.json.Decoder(tuple[_Address, ...] | None)


class NodeStatusWire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[NodeConditionRecord, ...] = ()
    node_info: _NodeInfo = _NodeInfo()
    addresses: msgspec.Raw = msgspec.Raw()


class NodeWire(msgspec.Struct, frozen=True, gc=False):
    """The parts of a Node that are decoded. Everything else is skipped as bytes."""

    metadata: _Metadata
    spec: NodeSpecWire = NodeSpecWire()
    status: NodeStatusWire = NodeStatusWire()


def node_records(
    annotations: Iterable[str] = (), *, identity: bool = False
) -> Projection[NodeWire, NodeRecord]:
    """Records that keep only these annotations, and with `identity` the system UUID and IP addresses."""
    kept = {key: key.rpartition("/")[2].encode() for key in sorted(annotations)}
    shared = _SharedParts()

    def project(wire: NodeWire, old: NodeRecord | None) -> NodeRecord:
        metadata, spec, status = wire.metadata, wire.spec, wire.status
        labels_hash = hash(bytes(metadata.labels))
        noted = _noted(metadata.annotations, kept)
        deleting = metadata.deletion_timestamp is not None
        system_uuid, ips = _identity(status) if identity else ("", ())
        # Most events are heartbeats. They end here, compared in C, before any object is created.
        if (
            old is not None
            and old.labels_hash == labels_hash
            and old.conditions == status.conditions
            and old.annotations == noted
            and old.taints == spec.taints
            and old.unschedulable is spec.unschedulable
            and old.uid == metadata.uid
            and old.boot_id == status.node_info.boot_id
            and old.provider_id == spec.provider_id
            and old.deleting is deleting
            and old.created == metadata.creation_timestamp
            and (old.system_uuid, old.ips) == (system_uuid, ips)
        ):
            return old
        labels = _texts(metadata.labels)
        return NodeRecord(
            name=metadata.name,
            uid=metadata.uid,
            label_keys=shared.one(tuple(labels)),
            label_values=shared.values(labels.values(), metadata.name),
            annotations=noted,
            conditions=shared.conditions(status.conditions),
            taints=shared.one(spec.taints),
            unschedulable=spec.unschedulable,
            provider_id=spec.provider_id,
            boot_id=status.node_info.boot_id,
            created=shared.one(metadata.creation_timestamp),
            deleting=deleting,
            labels_hash=labels_hash,
            system_uuid=system_uuid,
            ips=ips,
        )

    # In pages: a streaming list of 10,000 Nodes cost a 1.36 API server twice the CPU, and took longer.
    return Projection(NODE, NodeWire, project, lambda record: record.uid, streamed=False)


def _noted(raw: msgspec.Raw, kept: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """The kept annotations. Few nodes have one, so the bytes are searched before they are decoded."""
    said = bytes(raw) if kept else b""
    if not any(name in said for name in kept.values()):
        return ()
    found = _texts(raw)
    return tuple([(key, found[key]) for key in kept if key in found])


def _identity(status: NodeStatusWire) -> tuple[str, tuple[str, ...]]:
    """System UUID and IP addresses. Values that are too long are dropped: a kubelet may write any text."""
    uuid = status.node_info.system_uuid
    addresses = (_ADDRESSES.decode(status.addresses) or ()) if bytes(status.addresses) else ()
    ips = [one.address for one in addresses if one.type in _IP_TYPES and len(one.address) <= _LONGEST_IP]
    return (uuid if len(uuid) <= LONGEST_UUID else ""), tuple(ips[:_MOST_IPS])


def _texts(raw: msgspec.Raw) -> dict[str, str]:
    """Decode a map of strings. Raises msgspec's decoding errors for anything else."""
    return (_TEXTS.decode(raw) or {}) if bytes(raw) else {}


class _SharedParts(SharedValues):
    """Shares values between nodes. Frequent lookups are inlined: they are most of a new node's cost."""

    def values(self, values: Iterable[str], name: str) -> tuple[str, ...]:
        """Share the values. The host name label repeats the node's name, and keeps that same string."""
        known, one = self._known.get, self.one
        return tuple([known(value) or (name if value == name else one(value)) for value in values])

    def conditions(self, conditions: Iterable[NodeConditionRecord]) -> tuple[NodeConditionRecord, ...]:
        known, one = self._known.get, self.one
        return tuple(
            [
                NodeConditionRecord(
                    known(condition.type) or one(condition.type),
                    known(condition.status) or one(condition.status),
                    condition.last_transition_time,
                )
                for condition in conditions
            ]
        )


MOST_LABELS: Final = 256
LONGEST_LABELS: Final = 32 * 1024
"""Bytes of all labels of a Node."""
MOST_CONDITIONS: Final = 64
MOST_TAINTS: Final = 64
LONGEST_TEXT: Final = 1024


def foreign_nodes(ours: Projection[NodeWire, NodeRecord]) -> Projection[NodeWire, NodeRecord]:
    """The same projection with limits. It shares equal values with the Nodes of this cluster."""

    def project(wire: NodeWire, old: NodeRecord | None) -> NodeRecord:
        if why := _too_much(wire):
            raise msgspec.ValidationError(why)
        record = ours.project(wire, old)
        if len(record.label_keys) > MOST_LABELS:
            raise msgspec.ValidationError(f"more than {MOST_LABELS} labels")
        return record

    return replace(ours, project=project, limits=FOREIGN_LIST)


def _too_much(wire: NodeWire) -> str:
    metadata, spec, status = wire.metadata, wire.spec, wire.status
    if len(metadata.name) > LONGEST_NAME or len(metadata.uid) > LONGEST_UID:
        return "a name or UID that is too long"
    if len(bytes(metadata.labels)) > LONGEST_LABELS:
        return f"labels of more than {LONGEST_LABELS} bytes"
    if len(status.conditions) > MOST_CONDITIONS or len(spec.taints) > MOST_TAINTS:
        return "too many conditions or taints"
    texts = [text for one in status.conditions for text in (one.type, one.status)]
    texts += [text for one in spec.taints for text in (one.key, one.value, one.effect)]
    if any(len(text) > LONGEST_TEXT for text in (*texts, spec.provider_id)):
        return "a text that is too long"
    return "a boot ID that is too long" if len(status.node_info.boot_id) > LONGEST_BOOT_ID else ""
