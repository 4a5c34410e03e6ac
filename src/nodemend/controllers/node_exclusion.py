"""Nodes that are to be left alone, by whatever kind of check."""

from nodemend.api import keys
from nodemend.kube.node_record import NodeRecord


def excluded_by(node: NodeRecord) -> str:
    """The label or annotation that asks to leave a node alone, or nothing."""
    labels = node.labels
    said = labels.get(keys.EXCLUDE, node.annotation(keys.EXCLUDE))
    if said is not None and said != "false":
        return keys.EXCLUDE
    return keys.MEDIK8S_EXCLUDE if labels.get(keys.MEDIK8S_EXCLUDE) == "true" else ""
