"""Every step is one write, bound to the object and the version that the decision used."""

from typing import Any

import msgspec
import pytest

from nodemend.api.meta import ObjectMeta
from nodemend.api.upstream_types import Lease, LeaseSpec, Node, NodeSpec, NodeTaint
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import Method, Request
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.manual.controller import ManualDriver, ManualInputs
from nodemend.remediation.manual.decide import Step
from nodemend.remediation.node_state import ConcurrencyTracker, NodeReader
from nodemend.remediation.switch_guard import ClusterView, RemediatorGuard
from nodemend.safety import lifecycle as steps
from nodemend.safety.lifecycle import LeaderTerm
from nodemend.safety.release import ReleaseTicket
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.safety.worlds import AWAITING, EVIDENCE, RELEASING, SILENT_NODE, facts, remediation

THEIRS = NodeTaint(key="example.com/theirs", effect="NoSchedule", value="keep")
OURS = NodeTaint(key="node.kubernetes.io/out-of-service", effect="NoExecute", value="nodemend")
NODE = Node(
    metadata=ObjectMeta(name="n1", uid="uid-1", resource_version="100"), spec=NodeSpec(taints=(THEIRS,))
)
LOCK = Lease(metadata=ObjectMeta(name="node-uid-1", uid="lock-1", resource_version="7"), spec=LeaseSpec())
TICKET = ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, EVIDENCE)


class NoTransport:
    """Requests are made here, and not sent."""

    async def send(self, request: Request, deadline: float) -> Reply:
        raise NotImplementedError

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        raise NotImplementedError


def driver() -> ManualDriver:
    process = SimulatedProcess(Scheduler(1), "remediator", HostClock())
    reader = LiveReader(ApiClient(NoTransport(), process), process)
    view = ClusterView(process, NoTransport())
    switch = RemediatorGuard(view, process, ConcurrencyTracker(reader), last_start=0.0)
    return ManualDriver(reader, NodeReader(reader), switch, "nodemend-system", LeaderTerm(7, 0, 0.0))


def write(step: Step, *, node: Node = NODE, lock: Lease | None = None) -> tuple[Request, dict[str, Any]]:
    status = RELEASING if isinstance(step, steps.ForgetEvidence) else AWAITING
    inputs = ManualInputs(facts(remediation(status)), node, lock)
    request = driver().request_for(inputs, step, now="2026-01-01T12:00:00Z")
    assert request is not None
    return request, msgspec.json.decode(request.body)


def taints(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(taint["key"], taint["value"]) for taint in body["spec"]["taints"]]


def test_a_release_adds_our_taint_and_keeps_the_others() -> None:
    request, body = write(steps.Release(TICKET))
    assert (request.method, request.path) == (Method.PATCH, "/api/v1/nodes/n1")
    assert body["metadata"] == {"uid": "uid-1", "resourceVersion": "100"}
    assert taints(body) == [
        ("example.com/theirs", "keep"),
        ("node.kubernetes.io/out-of-service", "nodemend"),
    ]


def test_a_release_names_the_version_of_its_ticket_not_of_what_is_at_hand() -> None:
    newer = NODE.but(metadata=NODE.metadata.but(resource_version="200"))
    _, body = write(steps.Release(TICKET), node=newer)
    assert body["metadata"]["resourceVersion"] == "100"


def test_removing_the_taint_removes_only_nodemend_s_taint() -> None:
    # A taint of another effect: the API server allows only one with the same key and effect.
    foreign = OURS.but(value="nodeshutdown", effect="NoSchedule")
    tainted = NODE.but(spec=NodeSpec(taints=(THEIRS, OURS, foreign)))
    _, body = write(steps.RemoveTaint(SILENT_NODE), node=tainted)
    assert taints(body) == [
        ("example.com/theirs", "keep"),
        ("node.kubernetes.io/out-of-service", "nodeshutdown"),
    ]


def test_the_last_taint_leaves_no_empty_list() -> None:
    _, body = write(steps.RemoveTaint(SILENT_NODE), node=NODE.but(spec=NodeSpec(taints=(OURS,))))
    assert body["spec"] == {"taints": None}


def test_a_void_mark_is_one_annotation_and_goes_again() -> None:
    _, body = write(steps.RevokeRelease(SILENT_NODE, "rem-1.55"))
    assert body["metadata"]["annotations"] == {"nodemend.io/release-revoked": "rem-1.55"}
    _, body = write(steps.ClearRevocation(SILENT_NODE))
    assert body["metadata"]["annotations"] == {"nodemend.io/release-revoked": None}


def test_a_status_names_what_went_back_to_its_default_as_null() -> None:
    request, body = write(steps.ForgetEvidence(None))
    assert request.path.endswith("/manualremediations/n1/status")
    assert body["metadata"] == {"uid": "rem-1", "resourceVersion": "55"}
    assert (body["status"]["evidence"], body["status"]["tainted"]) == (None, None)


def test_a_free_lock_is_created_and_an_orphaned_one_is_taken_under_its_version() -> None:
    request, body = write(steps.TakeLock())
    assert (request.method, body["spec"]) == (Method.POST, {"holderIdentity": "rem-1"})
    request, body = write(steps.TakeLock(), lock=LOCK)
    assert request.method is Method.PATCH
    assert (body["metadata"]["uid"], body["metadata"]["resourceVersion"]) == ("lock-1", "7")


def test_a_lock_is_dropped_under_its_version() -> None:
    request, body = write(steps.DropLock(), lock=LOCK)
    assert request.method is Method.DELETE
    assert body["preconditions"] == {"uid": "lock-1", "resourceVersion": "7"}


@pytest.mark.parametrize(
    ("step", "finalizers"),
    [(steps.AddFinalizer(), ["nodemend.io/safe-end"]), (steps.DropFinalizer(), [])],
)
def test_our_finalizer_comes_and_goes(step: Step, finalizers: list[str]) -> None:
    _, body = write(step)
    assert body["metadata"]["finalizers"] == finalizers


def test_what_is_done_writes_nothing() -> None:
    inputs = ManualInputs(facts(remediation(AWAITING)), NODE, None)
    assert driver().request_for(inputs, steps.NothingLeft(), now="") is None
