"""What we keep of a Node: under 2 KB, of the 10 to 14 KB on the wire."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from nodemend.api.group_versions import NODE
from nodemend.decide.host_identity import LONGEST_UUID
from nodemend.kube.projection import Projection
from nodemend.kube.shared_values import SharedValues

_TEXTS = msgspec.json.Decoder(dict[str, str] | None)
_IP_TYPES: Final = frozenset({"InternalIP", "ExternalIP"})
_LONGEST_IP: Final = 45
_MOST_IPS: Final = 64


class NodeCondition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One condition, without its heartbeat: that would make every report of the kubelet a change."""

    type: str
    status: str = "Unknown"
    last_transition_time: str | None = None
    """As it is written: a kubelet may write any, and one that is no time must not hide its Node."""


class NodeTaint(msgspec.Struct, frozen=True, gc=False):
    key: str
    effect: str = ""
    value: str = ""


class NodeRecord(msgspec.Struct, frozen=True, gc=False):
    """A Node as far as decisions that may be stale need it. It carries no version: writes read afresh."""

    name: str
    uid: str
    # Apart, because nearly all nodes have the same keys, and then hold them once.
    label_keys: tuple[str, ...]
    label_values: tuple[str, ...]
    annotations: tuple[tuple[str, str], ...]
    conditions: tuple[NodeCondition, ...]
    taints: tuple[NodeTaint, ...]
    unschedulable: bool
    provider_id: str
    boot_id: str
    created: datetime | None
    deleting: bool
    labels_hash: int
    """Of the labels' bytes: while it is the same, they are not even decoded."""
    system_uuid: str = ""
    ips: tuple[str, ...] = ()
    """These two are kept only for those who ask which machine a Node is."""

    def condition(self, type_: str) -> NodeCondition | None:
        return next((condition for condition in self.conditions if condition.type == type_), None)

    @property
    def labels(self) -> dict[str, str]:
        return dict(zip(self.label_keys, self.label_values, strict=True))

    def annotation(self, key: str) -> str | None:
        return next((value for name, value in self.annotations if name == key), None)


NOBODY = NodeRecord("", "", (), (), (), (), (), False, "", "", None, False, 0)
"""For questions that are about no node in particular."""


class _Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    namespace: str = ""


class NodeSpec(msgspec.Struct, frozen=True, gc=False):
    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()


class _NodeInfo(msgspec.Struct, frozen=True, gc=False):
    boot_id: str = msgspec.field(name="bootID", default="")
    system_uuid: str = msgspec.field(name="systemUUID", default="")


class _Address(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    address: str = ""


_ADDRESSES: Final = msgspec.json.Decoder(tuple[_Address, ...] | None)


class NodeStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[NodeCondition, ...] = ()
    node_info: _NodeInfo = _NodeInfo()
    addresses: msgspec.Raw = msgspec.Raw()


class NodeWire(msgspec.Struct, frozen=True, gc=False):
    """The parts of a Node that are decoded. Everything else is skipped as bytes."""

    metadata: _Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


def node_records(
    annotations: Iterable[str] = (), *, identity: bool = False
) -> Projection[NodeWire, NodeRecord]:
    """Records that keep these annotations alone, and with `identity` the system UUID and IP addresses."""
    kept = {key: key.rpartition("/")[2].encode() for key in sorted(annotations)}
    shared = _SharedParts()

    def project(wire: NodeWire, old: NodeRecord | None) -> NodeRecord:
        metadata, spec, status = wire.metadata, wire.spec, wire.status
        labels_hash = hash(bytes(metadata.labels))
        noted = _noted(metadata.annotations, kept)
        deleting = metadata.deletion_timestamp is not None
        system_uuid, ips = _identity(status) if identity else ("", ())
        # Most events are heartbeats. They end here, compared in C, before anything is made.
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

    # By pages: a streaming list of 10,000 Nodes took a 1.36 API server twice the CPU, and longer.
    return Projection(NODE, NodeWire, project, _uid_of, streamed=False)


def _noted(raw: msgspec.Raw, kept: Mapping[str, bytes]) -> tuple[tuple[str, str], ...]:
    """The annotations that are kept. Few nodes have one: the bytes are searched before they are decoded."""
    said = bytes(raw) if kept else b""
    if not any(name in said for name in kept.values()):
        return ()
    found = _texts(raw)
    return tuple([(key, found[key]) for key in kept if key in found])


def _identity(status: NodeStatus) -> tuple[str, tuple[str, ...]]:
    """System UUID and IP addresses. What is too long to be one is none: a kubelet may write any text."""
    uuid = status.node_info.system_uuid
    addresses = (_ADDRESSES.decode(status.addresses) or ()) if bytes(status.addresses) else ()
    ips = [one.address for one in addresses if one.type in _IP_TYPES and len(one.address) <= _LONGEST_IP]
    return (uuid if len(uuid) <= LONGEST_UUID else ""), tuple(ips[:_MOST_IPS])


def _texts(raw: msgspec.Raw) -> dict[str, str]:
    """Raises what msgspec raises for anything but texts by name."""
    return (_TEXTS.decode(raw) or {}) if bytes(raw) else {}


class _SharedParts(SharedValues):
    """The look-ups are written out where they are many: they are most of what a new node costs."""

    def values(self, values: Iterable[str], name: str) -> tuple[str, ...]:
        """The host name label repeats the node's name: it keeps that very string, which nobody shares."""
        known, one = self._known.get, self.one
        return tuple([known(value) or (name if value == name else one(value)) for value in values])

    def conditions(self, conditions: Iterable[NodeCondition]) -> tuple[NodeCondition, ...]:
        known, one = self._known.get, self.one
        return tuple(
            [
                NodeCondition(
                    known(condition.type) or one(condition.type),
                    known(condition.status) or one(condition.status),
                    condition.last_transition_time,
                )
                for condition in conditions
            ]
        )


def _uid_of(record: NodeRecord) -> str:
    return record.uid
