"""Nodes that are to be left alone, by whatever kind of check."""

from collections.abc import Mapping

from nodemend.api import keys
from nodemend.kube.node_record import NodeRecord


def excluded_by(labels: Mapping[str, str], annotations: Mapping[str, str]) -> str:
    """The label or annotation that asks to leave a node alone, or nothing."""
    said = labels.get(keys.EXCLUDE, annotations.get(keys.EXCLUDE))
    if said is not None and said != "false":
        return keys.EXCLUDE
    return keys.MEDIK8S_EXCLUDE if labels.get(keys.MEDIK8S_EXCLUDE) == "true" else ""


def record_excluded_by(node: NodeRecord) -> str:
    """The same, by what our caches keep."""
    return excluded_by(node.labels, dict(node.annotations))
