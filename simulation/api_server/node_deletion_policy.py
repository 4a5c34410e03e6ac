"""Permissions of Nodemend's accounts on Nodes if the chart's powerCycle.mayDeleteNodes is set.

The remediator may delete Nodes that are not Ready. On a Node that was registered within the last hour, it may
add taints, labels, annotations and a cordon, but not change existing ones.

The real policy also requires that a deletion names the version of its Node. This is not simulated, because an
Attempt does not contain the delete options.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from nodemend.api.meta import parse_time
from nodemend.api.well_known import CONDITION_TAINTS, POLICY_PROBE, RELEASE_REVOKED
from simulation.api_server.admission import Attempt, Operation, PolicyDenial
from simulation.api_server.policies import (
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

LATELY: Final = timedelta(hours=1)


def _is_deletion(write: Write) -> bool:
    return write.attempt.operation is Operation.DELETE


def _updated(holds: Callable[[Write], bool]) -> Callable[[Write], bool]:
    return lambda write: _is_deletion(write) or holds(write)


def _is_ready(node: Part) -> bool:
    conditions = of(node, "status").get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _registered_lately(node: Part) -> bool:
    """True if the kubelet sent no heartbeat later than one hour after the registration of the Node."""
    born = parse_time(node["metadata"]["creationTimestamp"])
    beats = (one.get("lastHeartbeatTime") for one in of(node, "status").get("conditions", ()))
    return all(parse_time(beat) - born <= LATELY for beat in beats if beat)


def _taints_stay(write: Write) -> bool:
    new, old = others_taints(write.new), others_taints(write.old)
    added = [taint["key"] for taint in new if taint not in old]
    may_add = _registered_lately(write.old) and not any(key.startswith(CONDITION_TAINTS) for key in added)
    return all(taint in new for taint in old) and (not added or may_add)


def _spec_stays(write: Write) -> bool:
    new, old = of(write.new, "spec"), of(write.old, "spec")
    cordons = new.get("unschedulable") is True and _registered_lately(write.old)
    stays = bool(new.get("unschedulable")) == bool(old.get("unschedulable"))
    return same_but(new, old, "taints", "unschedulable") and (stays or cordons)


def _stay(part: str, *free: str) -> Callable[[Write], bool]:
    """Return a check that all existing entries of this map keep their values."""

    def holds(write: Write) -> bool:
        new, old = of(write.new["metadata"], part), of(write.old["metadata"], part)
        added = new.keys() - old.keys() - set(free)
        may_add = _registered_lately(write.old) and POLICY_PROBE not in added
        return all(new.get(key) == value for key, value in old.items() if key not in free) and (
            not added or may_add
        )

    return holds


DELETABLE_NODES: Final[tuple[Demand, ...]] = (
    (lambda write: write.user == REMEDIATOR, FORBIDDEN, "Nodemend's checker may not write Nodes"),
    (
        lambda write: not write.creates and not write.attempt.subresource,
        FORBIDDEN,
        "Nodemend's remediator may neither create Nodes nor write their status",
    ),
    (
        lambda write: not _is_deletion(write) or not _is_ready(write.old),
        FORBIDDEN,
        "Nodemend's remediator may not delete a Node that is Ready",
    ),
    (
        _updated(_taints_stay),
        FORBIDDEN,
        (
            "spec.taints: Nodemend's remediator may add taints to a Node that was registered within the last "
            "hour, and remove only its own, node.kubernetes.io/out-of-service=nodemend:NoExecute"
        ),
    ),
    (
        _updated(_spec_stays),
        FORBIDDEN,
        (
            "spec: Nodemend's remediator may add taints and a cordon to a Node that was registered within the"
            " last hour, and may change nothing else"
        ),
    ),
    (
        _updated(
            lambda write: same_but(
                write.new["metadata"], write.old["metadata"], "annotations", "labels", *MOVES_BY_ITSELF
            )
        ),
        FORBIDDEN,
        "metadata: Nodemend's remediator may not change finalizers or owners of a Node",
    ),
    (
        _updated(_stay("labels")),
        FORBIDDEN,
        (
            "metadata.labels: Nodemend's remediator may add labels to a Node that was registered within the"
            " last hour, and may not change existing labels"
        ),
    ),
    (
        _updated(_stay("annotations", RELEASE_REVOKED)),
        FORBIDDEN,
        (
            "metadata.annotations: Nodemend's remediator may add annotations to a Node that was registered "
            "within the last hour, and change only its own, nodemend.io/release-revoked"
        ),
    ),
)


def deletable_nodes_policy(attempt: Attempt) -> list[PolicyDenial]:
    if attempt.user.name not in {CHECKER, REMEDIATOR}:
        return []
    write = Write(attempt, attempt.new or NOTHING, attempt.old or NOTHING)
    return first_failed("nodemend-nodes", DELETABLE_NODES, write)
