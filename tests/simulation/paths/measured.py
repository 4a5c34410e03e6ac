"""The two paths, their figures before the redesign (commit 55bbe6c), and the bars."""

from dataclasses import dataclass
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, SELF_REMEDIATION
from nodemend.kube.request import Method, collection_path, item_path
from simulation.cluster.world import Shape, World
from simulation.scheduler import Scheduler
from tests.simulation.paths.tracing import MeasuredPath, Tracer
from tests.simulation.self_fencing_nodes.cluster import POLICY, QUICK, Cluster

FAILS: Final = "node-1"
SETTLED: Final = 120.0
"""Seconds after which leaders are elected and the API server has been free of errors for long enough."""
WITHIN: Final = 400.0
"""Seconds from the failure to the awaited request, at most."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One path: its name, the number of its files before the redesign, and the highest number allowed."""

    name: str
    before: int
    most: int


TO_REMEDIATION: Final = Bar("NotReady bytes at the checker to the POST of the remediation", 64, 32)
TO_RELEASE: Final = Bar("creation of a SelfRemediation to the write that releases the node", 79, 26)


class NoPathError(AssertionError):
    """The awaited request was not sent, or not by a flow from the cause."""


def path_to_remediation(seed: int = 1) -> MeasuredPath:
    """From a node's Ready condition, no longer True, to the request that creates its remediation."""
    posted = collection_path(MANUAL_REMEDIATION, well_known.SYSTEM_NAMESPACE)
    tracer = Tracer(
        lambda data: _is_about(data, NODE.kind, FAILS) and b'"reason":"NodeStatusUnknown"' in data,
        lambda request: request.method is Method.POST and request.path == posted,
    )
    world = World(seed, Shape(people=False, policy=POLICY))
    try:
        with tracer.following():
            world.run(SETTLED)
            world.machines[FAILS].hung = True
            return _await(tracer, world.scheduler)
    finally:
        world.close()


def path_to_release(seed: int = 1) -> MeasuredPath:
    """From the SelfRemediation of a node without network to the taint that releases the node's workloads."""
    tracer = Tracer(
        lambda data: _is_about(data, SELF_REMEDIATION.kind, FAILS),
        lambda request: (
            request.method is Method.PATCH
            and request.path == item_path(NODE, FAILS)
            and well_known.OUT_OF_SERVICE.encode() in request.body
        ),
    )
    cluster = Cluster(f"path {seed}", nodes=5, quality=QUICK)
    try:
        with tracer.following():
            cluster.run(SETTLED)
            cluster.isolate(FAILS)
            return _await(tracer, cluster.scheduler)
    finally:
        cluster.close()


def _is_about(data: bytes, kind: str, name: str) -> bool:
    """True for lines of a watch that contain this object."""
    return f'"kind":"{kind}"'.encode() in data and f'"name":"{name}"'.encode() in data


def _await(tracer: Tracer, scheduler: Scheduler) -> MeasuredPath:
    scheduler.run(scheduler.now + WITHIN, stop=lambda: tracer.found is not None)
    if tracer.found is None:
        raise NoPathError(f"no such request within {WITHIN:.0f} s of the failure")
    return tracer.found
