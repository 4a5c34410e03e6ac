"""The control plane of the other tests, tested by itself."""

import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane import volumes
from controlplane.api import ApiError, Object
from controlplane.credentials import User
from controlplane.node_objects import condition
from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE, Settings
from controlplane.waiting import wait_until

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

TOOLS = Path(__file__).parents[2] / "tools"
NODES = "/api/v1/nodes"
POD = "/api/v1/namespaces/default/pods/db-0"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodemend:NoExecute"


def test_it_reports_the_requested_version(api_server: ControlPlane) -> None:
    assert api_server.api.get("/version")["gitVersion"] == api_server.settings.kubernetes


def test_accounts_have_the_rights_that_they_were_given_and_no_others(
    start_control_plane: StartControlPlane,
) -> None:
    plane = start_control_plane(
        Settings(controller_manager=False, scheduler=False, users=(User("system:node:a", ("system:nodes",)),))
    )
    plane.kubectl("create", "serviceaccount", "reader", "--namespace=default")
    reader = plane.client_with(plane.service_account_token("default", "reader"))

    with pytest.raises(ApiError, match="403"):
        reader.list(NODES)
    with pytest.raises(ApiError, match="403"):
        plane.client("system:node:a").get(f"{NODES}/b")  # the Node authorizer
    plane.kubectl("create", "clusterrolebinding", "r", "--clusterrole=cluster-admin", "--user=system:node:a")
    assert plane.client("system:node:a").list("/api/v1/pods") == []


def test_a_silent_node_turns_unknown_and_comes_back(cluster: ControlPlane) -> None:
    cluster.nodes.add("loud")
    cluster.nodes.add("quiet", 2)

    cluster.nodes.silence("quiet")
    wait_until(
        "quiet nodes are Unknown", lambda: ready(cluster, "quiet-0") == ready(cluster, "quiet-1") == "Unknown"
    )
    assert ready(cluster, "loud-0") == "True"

    cluster.nodes.resume("quiet")
    cluster.nodes.wait_ready(["quiet-0", "quiet-1"])


def test_a_reboot_shows_when_the_node_reports_and_not_before(cluster: ControlPlane) -> None:
    cluster.nodes.add("a")
    first = boot_id(cluster, "a-0")
    cluster.nodes.silence("a")
    wait_until("Unknown", lambda: ready(cluster, "a-0") == "Unknown")
    assert boot_id(cluster, "a-0") == first

    assert cluster.nodes.reboot("a") == {"a-0": boot_id(cluster, "a-0")}
    assert boot_id(cluster, "a-0") != first


def test_a_rebooted_node_ends_the_pods_that_it_was_to_end(cluster: ControlPlane) -> None:
    home = run_database(cluster)
    doomed = pod(cluster)["metadata"]["uid"]
    cluster.nodes.silence(home[0])
    cluster.api.delete(POD)
    assert "deletionTimestamp" in pod(cluster)["metadata"]

    cluster.nodes.reboot(home)

    wait_until("another pod runs", lambda: runs(cluster) and pod(cluster)["metadata"]["uid"] != doomed)


def test_a_rebooted_node_restarts_the_containers_of_the_other_pods(cluster: ControlPlane) -> None:
    home = run_database(cluster)
    before = pod(cluster)

    cluster.nodes.reboot(home)

    assert pod(cluster)["metadata"]["uid"] == before["metadata"]["uid"]
    assert pod(cluster)["status"]["containerStatuses"][0]["restartCount"] == 1


def test_pods_of_a_silent_node_are_not_ready_until_it_is_back(cluster: ControlPlane) -> None:
    home = run_database(cluster, tolerate_unreachable=300)
    cluster.nodes.silence(home[0])
    wait_until("its pod is not ready", lambda: condition(pod(cluster), "Ready") == "False")

    cluster.nodes.resume(home[0])

    wait_until("its pod is ready", lambda: condition(pod(cluster), "Ready") == "True")


def test_a_volume_leaves_a_silent_node_only_by_the_out_of_service_taint(cluster: ControlPlane) -> None:
    home = run_database(cluster)
    stuck = pod(cluster)["metadata"]["uid"]
    cluster.nodes.silence(home[0])
    wait_until("the pod is evicted", lambda: "deletionTimestamp" in pod(cluster)["metadata"])
    assert attached_to(cluster) == [home]

    cluster.kubectl("taint", "node", home, OUT_OF_SERVICE)

    # The controller manager collects such pods every 20 seconds.
    wait_until(
        "it runs elsewhere", lambda: runs(cluster) and pod(cluster)["metadata"]["uid"] != stuck, within=90
    )
    refuge = pod(cluster)["spec"]["nodeName"]
    assert refuge != home
    assert attached_to(cluster) == [refuge]
    # And the old node, when it comes back with all that it has missed, leaves the new pod alone.
    successor = pod(cluster)["metadata"]["uid"]
    cluster.nodes.resume(home[0])
    cluster.nodes.wait_ready([home])
    assert pod(cluster)["metadata"]["uid"] == successor


def test_a_held_volume_is_neither_attached_nor_detached(cluster: ControlPlane) -> None:
    cluster.attacher.hold("default-db-0")
    with pytest.raises(TimeoutError):
        run_database(cluster, within=2)
    assert attached_to(cluster) == []

    cluster.attacher.release("default-db-0")
    wait_until("it runs", lambda: runs(cluster))


@pytest.mark.parametrize("round_", [1, 2])
def test_every_test_finds_a_clean_slate(api_server: ControlPlane, round_: int) -> None:
    api = api_server.api
    assert api.list(NODES) == api.list("/api/v1/pods") == []
    assert api.find("/api/v1/namespaces/leftover") is None
    assert "touched" not in api.get("/api/v1/namespaces/default")["metadata"]["labels"]

    api_server.nodes.add("a", 3)
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leftover"}})
    held = {"name": "held", "namespace": "leftover", "finalizers": ["nodemend.io/never"]}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": held, "data": {"round": str(round_)}})
    api.delete("/api/v1/namespaces/leftover")
    api.patch("/api/v1/namespaces/default", {"metadata": {"labels": {"touched": "yes"}}})


def test_a_marked_object_survives_a_wipe(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shared"}})
    plane.mark()
    plane.api.patch("/api/v1/namespaces/shared", {"metadata": {"labels": {"touched": "yes"}}})

    plane.wipe()

    assert "touched" not in plane.api.get("/api/v1/namespaces/shared")["metadata"]["labels"]


def test_the_api_server_is_away_and_comes_back_with_what_it_knew(
    start_control_plane: StartControlPlane,
) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    plane.nodes.add("a")
    plane.stop_api_server()
    with pytest.raises((OSError, http.client.HTTPException)):
        plane.api.list(NODES)

    plane.start_api_server()

    assert [node["metadata"]["name"] for node in plane.api.list(NODES)] == ["a-0"]
    plane.restart_api_server()
    plane.api.delete(f"{NODES}/a-0")


def test_compaction_makes_old_revisions_too_old(start_control_plane: StartControlPlane) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    page = plane.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles", limit="5")
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "newer"}})

    assert plane.compact() > int(page["metadata"]["resourceVersion"])

    continued = {"limit": "5", "continue": page["metadata"]["continue"]}
    plane.restart_api_server()  # Until then the watch cache may still have the old pages.
    with pytest.raises(ApiError, match="410 Expired"):
        plane.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles", **continued)


def test_nothing_is_left_when_it_ends(tmp_path: Path) -> None:
    with ControlPlane(API_SERVER_ALONE, directory=tmp_path) as plane:
        plane.nodes.add("a")
        plane.nodes.silence("a")
        pids = [process.pid for process in plane.processes.values()]

    assert not alive(pids)
    assert not list(tmp_path.glob("etcd-*"))


def test_nothing_is_left_when_its_owner_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "controlplane", "up", "--groups=a", f"--directory={tmp_path}"]
    with subprocess.Popen(command, cwd=TOOLS, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        said = iter(owner.stdout.readline, "Ctrl-C ends everything.\n")
        pids = [int(words[0]) for words in map(str.split, said) if words and words[0].isdigit()]
        assert len(pids) == len(
            ["etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok-a"]
        )
        os.kill(pids[-1], signal.SIGSTOP)
        owner.kill()

    wait_until("they are gone", lambda: not alive(pids))


def run_database(cluster: ControlPlane, *, within: float = 30.0, tolerate_unreachable: int = 0) -> str:
    """A StatefulSet of one on three nodes that can fall silent each by itself. Returns where its pod runs."""
    for group in "abc":
        cluster.nodes.add(group)
    for manifest in [
        *volumes.storage(),
        *volumes.stateful_set("db", tolerate_unreachable=tolerate_unreachable),
    ]:
        cluster.api.create(manifest)
    wait_until("db-0 runs", lambda: runs(cluster), within=within)
    return str(pod(cluster)["spec"]["nodeName"])


def pod(cluster: ControlPlane) -> Object:
    return cluster.api.find(POD) or {"metadata": {"uid": None}, "spec": {}, "status": {}}


def runs(cluster: ControlPlane) -> bool:
    return bool(pod(cluster)["status"].get("phase") == "Running")


def ready(plane: ControlPlane, node: str) -> str:
    return condition(plane.api.get(f"{NODES}/{node}"), "Ready")


def boot_id(plane: ControlPlane, node: str) -> str:
    return str(plane.api.get(f"{NODES}/{node}")["status"]["nodeInfo"]["bootID"])


def attached_to(cluster: ControlPlane) -> list[str]:
    return [
        attachment["spec"]["nodeName"]
        for attachment in cluster.api.list(ATTACHMENTS)
        if attachment["status"]["attached"]
    ]


def alive(pids: list[int]) -> list[int]:
    """The processes that exist and are not zombies."""
    states = {pid: Path(f"/proc/{pid}/stat") for pid in pids}
    return [pid for pid, file in states.items() if file.exists() and file.read_text().split()[2] != "Z"]
