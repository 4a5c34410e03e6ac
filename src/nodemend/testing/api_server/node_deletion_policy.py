"""What our accounts may do to Nodes where the chart's powerCycle.mayDeleteNodes is set.

Those that are not Ready may be deleted, and what is on others may be added to, and not be changed.

That a deletion has to name the version of its Node is not played here: an Attempt does not know its options.
"""

from collections.abc import Callable
from typing import Final

from nodemend.api.keys import OUT_OF_SERVICE, RELEASE_VOIDED
from nodemend.testing.api_server.admission import Attempt, Operation, PolicyDenial
from nodemend.testing.api_server.policies import (
    CHECKER,
    FORBIDDEN,
    MOVES_BY_ITSELF,
    NOTHING,
    REMEDIATOR,
    Demand,
    Part,
    Write,
    first_failed,
    of,
    others_taints,
    same_but,
)


def _is_deletion(write: Write) -> bool:
    return write.attempt.operation is Operation.DELETE


def _updated(holds: Callable[[Write], bool]) -> Callable[[Write], bool]:
    return lambda write: _is_deletion(write) or holds(write)


def _is_ready(node: Part) -> bool:
    conditions = of(node, "status").get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _taints_stay(write: Write) -> bool:
    new, old = others_taints(write.new), others_taints(write.old)
    return all(taint in new for taint in old) and all(
        taint in old or taint["key"] != OUT_OF_SERVICE for taint in new
    )


def _spec_stays(write: Write) -> bool:
    new, old = of(write.new, "spec"), of(write.old, "spec")
    cordoned = new.get("unschedulable") == old.get("unschedulable") or new.get("unschedulable") is True
    return same_but(new, old, "taints", "unschedulable") and cordoned


def _stay(part: str, *free: str) -> Callable[[Write], bool]:
    """What was in this map is there, with its value."""

    def holds(write: Write) -> bool:
        new, old = of(write.new["metadata"], part), of(write.old["metadata"], part)
        return all(new.get(key) == value for key, value in old.items() if key not in free)

    return holds


DELETABLE_NODES: Final[tuple[Demand, ...]] = (
    (lambda write: write.user == REMEDIATOR, FORBIDDEN, "Nodemend's checker writes no Nodes"),
    (
        lambda write: not write.creates and not write.attempt.subresource,
        FORBIDDEN,
        "Nodemend's remediator creates no Nodes, nor writes their status",
    ),
    (
        lambda write: not _is_deletion(write) or not _is_ready(write.old),
        FORBIDDEN,
        "Nodemend's remediator deletes no Node that is Ready",
    ),
    (
        _updated(_taints_stay),
        FORBIDDEN,
        (
            "spec.taints: Nodemend's remediator may add taints, and remove only its own, "
            "node.kubernetes.io/out-of-service=nodemend:NoExecute"
        ),
    ),
    (
        _updated(_spec_stays),
        FORBIDDEN,
        "spec: Nodemend's remediator may add taints and a cordon, and change nothing else",
    ),
    (
        _updated(
            lambda write: same_but(
                write.new["metadata"], write.old["metadata"], "annotations", "labels", *MOVES_BY_ITSELF
            )
        ),
        FORBIDDEN,
        "metadata: Nodemend's remediator may change no finalizer or owner of a Node",
    ),
    (
        _updated(_stay("labels")),
        FORBIDDEN,
        "metadata.labels: Nodemend's remediator may add labels, and change none",
    ),
    (
        _updated(_stay("annotations", RELEASE_VOIDED)),
        FORBIDDEN,
        (
            "metadata.annotations: Nodemend's remediator may add annotations, and change only its own, "
            "nodemend.io/release-voided"
        ),
    ),
)


def deletable_nodes_policy(attempt: Attempt) -> list[PolicyDenial]:
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    write = Write(attempt, attempt.new or NOTHING, attempt.old or NOTHING)
    return first_failed("nodemend-nodes", DELETABLE_NODES, write)
