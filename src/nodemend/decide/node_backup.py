"""What is kept of a Node that is deleted, and what the next of its name lacks of it."""

from collections.abc import Iterable, Mapping
from typing import Final

from nodemend.api import keys
from nodemend.api.node_deletion import KeptTaint, NodeBackup
from nodemend.decide.facts import Taint

MOST_BYTES: Final = 64 * 1024
MOST_KEYS: Final = 512
MOST_TAINTS: Final = 64
NOTHING: Final = NodeBackup()


def keep(
    labels: Mapping[str, str], annotations: Mapping[str, str], taints: Iterable[Taint], *, unschedulable: bool
) -> NodeBackup:
    """All that people and other programs wrote on it. Whoever writes the rest does so again by itself."""
    return NodeBackup(
        labels={key: value for key, value in labels.items() if key not in keys.KUBELET_LABELS},
        annotations={key: value for key, value in annotations.items() if key not in keys.UNKEPT_ANNOTATIONS},
        taints=tuple(
            KeptTaint(key=taint.key, effect=taint.effect, value=taint.value)
            for taint in taints
            if not taint.key.startswith(keys.CONDITION_TAINTS)
        ),
        unschedulable=unschedulable,
    )


def lacks(now: NodeBackup, kept: NodeBackup) -> NodeBackup:
    """What is missing from a Node that has `now`. What it has wins: somebody wrote that later.

    Of taints, key and effect say which is which, as for Kubernetes.
    """
    there = {(taint.key, taint.effect) for taint in now.taints}
    return NodeBackup(
        labels={key: value for key, value in kept.labels.items() if key not in now.labels},
        annotations={key: value for key, value in kept.annotations.items() if key not in now.annotations},
        taints=tuple(taint for taint in kept.taints if (taint.key, taint.effect) not in there),
        unschedulable=kept.unschedulable and not now.unschedulable,
    )


def bytes_in(kept: NodeBackup) -> int:
    pairs = (*kept.labels.items(), *kept.annotations.items())
    return sum(len(key.encode()) + len(value.encode()) for key, value in pairs)


def fits(kept: NodeBackup) -> bool:
    """Whether a status may hold it. What cannot be kept is not taken away."""
    counts = (len(kept.labels), len(kept.annotations))
    return max(counts) <= MOST_KEYS and len(kept.taints) <= MOST_TAINTS and bytes_in(kept) <= MOST_BYTES
