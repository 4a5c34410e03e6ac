"""Nodes of another cluster: as our own, but with bounds on what one of them makes us keep.

An API server of ours refuses labels and names without end; another cluster's may be anything. A Node outside
of these bounds cannot be read, and the others of its cluster are.
"""

from dataclasses import replace
from typing import Final

import msgspec

from nodemend.api.value_forms import LONGEST_BOOT_ID, LONGEST_NAME, LONGEST_UID
from nodemend.kube.node_record import NodeRecord, NodeWire
from nodemend.kube.projection import FOREIGN_LIST, Projection

MOST_LABELS: Final = 256
LONGEST_LABELS: Final = 32 * 1024
"""Bytes of all labels of a Node."""
MOST_CONDITIONS: Final = 64
MOST_TAINTS: Final = 64
LONGEST_TEXT: Final = 1024


def foreign_nodes(ours: Projection[NodeWire, NodeRecord]) -> Projection[NodeWire, NodeRecord]:
    """Shares what nodes have in common with those of our own cluster."""

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
