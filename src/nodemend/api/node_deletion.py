"""Release by deleting the Node: how that is asked for, and what is kept of a Node while it is gone."""

from enum import StrEnum
from typing import Annotated

from nodemend.api.wire import Wire, about


class ReleaseBy(StrEnum):
    """How Kubernetes is told that a node's workloads may start elsewhere."""

    TAINT = "out-of-service-taint"
    """The Node stays as it is, but for one taint of ours. The default."""
    NODE_DELETION = "node-deletion"
    """For clusters whose controller manager does not act on that taint."""


class KeptTaint(Wire):
    key: Annotated[str, about("Its key.", min_length=1, max_length=317)]
    effect: Annotated[str, about("What it does to pods.", min_length=1, max_length=63)]
    value: Annotated[str, about("Its value.", max_length=63)] = ""


class NodeBackup(Wire):
    """What others wrote on a Node, and no kubelet would write there again."""

    labels: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=63)]],
        about("Labels, but for the kubelet's own.", max_length=512),
    ] = {}
    annotations: Annotated[
        dict[str, Annotated[str, about("The value.", max_length=65_536)]],
        about("Annotations, but for those of the kubelet, of controllers and of ours.", max_length=512),
    ] = {}
    taints: Annotated[
        tuple[KeptTaint, ...],
        about("Taints, but for those that controllers set by the node's condition.", max_length=64),
    ] = ()
    unschedulable: Annotated[bool, about("It was cordoned.")] = False

    @property
    def parts(self) -> tuple[str, ...]:
        """By name, for people."""
        named = (*self.labels, *self.annotations, *(taint.key for taint in self.taints))
        return (*named, "its cordon") if self.unschedulable else named
