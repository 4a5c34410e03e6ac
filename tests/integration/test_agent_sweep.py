"""The sweep of a running remediator, under its own account, on a real API server that reports its address."""

import json
from collections.abc import Iterator

import msgspec
import pytest

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import install
from installed.programs import start
from nodemend.api.agent import AgentReport, PeerProposal, WatchdogReport
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, PEER_PROPOSAL
from tests.e2e.refusals.agent_cluster import LEASES, pods_token

pytestmark = pytest.mark.real

API_SERVERS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    publishing = {"kube-apiserver": ("--endpoint-reconciler-type=lease",)}
    with ControlPlane(Settings(controller_manager=False, scheduler=False, flags=publishing)) as plane:
        install(plane, "selfFencing.enabled=true")
        yield plane


def enroll(plane: ControlPlane, name: str, address: str) -> None:
    """Create a node without any role, and its Lease: by its agent's token, which alone may write it."""
    node = plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    reached = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
    plane.api.patch(f"/api/v1/nodes/{name}/status", reached)
    report = AgentReport(
        node_uid=node["metadata"]["uid"],
        boot_id=f"{name}-1",
        sequence=5,
        acknowledged=4,
        steady_since=1,
        feed_lease=35.0,
        contact_age=15.0,
        watchdog=WatchdogReport(class_="hardware", effective=10.0),
        address=f"{address}:9443",
    )
    annotations = {AGENT_REPORT: msgspec.json.encode(report).decode()}
    metadata = {"name": name, "namespace": AGENT_NAMESPACE, "annotations": annotations}
    agent = plane.client_with(pods_token(plane, name))
    agent.create({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})


def peers_of(plane: ControlPlane, name: str) -> set[str] | None:
    text = plane.api.get(f"{LEASES}/{name}")["metadata"]["annotations"].get(PEER_PROPOSAL)
    return None if text is None else {one.name for one in msgspec.json.decode(text, type=PeerProposal).peers}


def test_a_node_with_the_only_api_server_is_detected_without_a_label(plane: ControlPlane) -> None:
    wait_until("the API server says where it is", lambda: plane.api.find(API_SERVERS) is not None, within=60)
    [endpoint] = plane.api.get(API_SERVERS)["endpoints"]
    [address] = endpoint["addresses"]
    for name, at in (("a", address), ("b", "192.0.2.2"), ("c", "192.0.2.3")):
        enroll(plane, name, at)
    start(plane, "nodemend-remediator", "--self-fencing=on")

    def proposed() -> dict[str, set[str] | None]:
        return {name: peers_of(plane, name) for name in "abc"}

    wait_until("everybody has a proposal", lambda: None not in proposed().values(), within=120)
    assert proposed() == {"a": {"b", "c"}, "b": set(), "c": set()}, json.dumps(endpoint)
