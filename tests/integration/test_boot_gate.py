"""The boot gate with a node's own certificate, against a real API server with node authorization."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from generate.outputs import HOST
from host_program.pack import pack
from nodemend.agent import exit_codes
from nodemend.agent.watchdog.model import VERSION
from nodemend.agent.watchdog.records_io import read_gate, write_record
from nodemend.api.well_known import MARKER
from tests.e2e.agent_nodes.agent_node import LEASES, AgentNode, furnish
from tests.e2e.agent_nodes.kubelet_certificate import kubelet_certificate
from tests.unit.agent.certificates import Authority

pytestmark = pytest.mark.real

S = 10**9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("boot-gate")


@pytest.fixture(scope="module")
def clients(folder: Path) -> Authority:
    """The CA whose client certificates the API server accepts."""
    return Authority(folder, "clients")


@pytest.fixture(scope="module")
def plane(folder: Path, clients: Authority) -> Iterator[ControlPlane]:
    trusts = (f"--client-ca-file={folder / f'{clients.name}.crt'}",)
    settings = Settings(controller_manager=False, scheduler=False, flags={"kube-apiserver": trusts})
    with ControlPlane(settings) as plane:
        furnish(plane)
        for document in yaml.safe_load_all((HOST / "read-own-lease.yaml").read_text()):
            plane.api.create(document)
        yield plane


@pytest.fixture(scope="module")
def start(folder: Path) -> list[str]:
    """The command that starts the program on a host."""
    isolated = [sys.executable, "-I", "-S"]
    subprocess.run([*isolated, str(pack(folder)), "unpack", str(folder / "run")], check=True, timeout=60)
    return [*isolated, str(folder / "run" / "start.py")]


class Host:
    """A booting node: the files on its disk and its tmpfs, and the API objects from before."""

    def __init__(self, plane: ControlPlane, clients: Authority, folder: Path, start: list[str]) -> None:
        self.name = folder.name.replace("_", "-")[:40].rstrip("-").lower()
        self.node = AgentNode(plane, self.name, folder / "host", Authority(folder, "peers"))
        self.folder = folder
        self.start = start
        self.plane = plane
        self.certificate = kubelet_certificate(self.name, self.folder, clients)
        self.status = folder / "host" / "feeder.status"
        self.record = folder / "host" / "gate"

    def check(self, *more: str, within: str = "20") -> list[str]:
        words = {
            "--server": self.plane.url,
            "--ca": str(self.plane.ca),
            "--certificate": str(self.certificate),
            "--node": self.name,
            "--boot-id": str(self.node.folder / "boot_id"),
            "--within": within,
        }
        return [*self.start, "api-check", *(word for pair in words.items() for word in pair), *more]

    def published(self) -> int:
        command = self.check("--publish", str(self.status))
        return subprocess.run(command, check=False, timeout=60, env={}).returncode

    def gate(self, *more: str) -> Process:
        paths = ("--status", str(self.status), "--record", str(self.record))
        boot = ("--boot-id", str(self.node.folder / "boot_id"))
        check = self.check("--publish", str(self.status), within="9")
        command = [*self.start, "boot-gate", *paths, *boot, *more, "--", *check]
        return Process(command, log=self.folder / "gate.log")

    def tell(self, state: str) -> None:
        """Write the status of its feeder."""
        ping = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        reported: dict[str, object] = {"boot": self.node.boot_id, "state": state, "lease-length": 40 * S}
        if state == "armed":
            reported |= {"class": "hardware", "driver": "x", "written-seconds": 9, "last-ping": ping}
            reported |= {"effective": 3600 * S}
        lines = [VERSION, *(f"{name} {value}" for name, value in reported.items()), ""]
        write_record(str(self.status), "\n".join(lines).encode())

    @property
    def said(self) -> str:
        return (self.folder / "gate.log").read_text()

    @property
    def report(self) -> dict[str, Any]:
        return self.node.report()

    def mark(self, boot_id: str) -> None:
        marker = {"nodeUID": self.node.uid, "bootID": boot_id, "remediationUID": "r"}
        self.node.annotate(**{MARKER: json.dumps(marker)})


@pytest.fixture
def host(plane: ControlPlane, clients: Authority, tmp_path: Path, start: list[str]) -> Host:
    return Host(plane, clients, tmp_path, start)


def test_a_node_may_read_and_may_not_write_in_its_own_name(host: Host) -> None:
    """This is why it writes with a token of its agent. This test fails if that changes."""
    assert subprocess.run(host.check(), check=False, timeout=60, env={}).returncode == exit_codes.ABSENT

    command = ["curl", "-s", "--cacert", str(host.plane.ca), "--cert", str(host.certificate)]
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": host.name, "namespace": "nodemend-agents"},
    }
    content = ["-H", "Content-Type: application/json", "-d", json.dumps(lease), f"{host.plane.url}{LEASES}"]
    reported = subprocess.run([*command, *content], check=True, capture_output=True, text=True).stdout
    assert json.loads(reported)["code"] == 403


def test_a_boot_is_published_by_a_token_of_the_agent_of_this_node(host: Host) -> None:
    host.tell("armed")

    assert host.published() == exit_codes.CLEAN
    report = host.report
    assert (report["nodeUID"], report["bootID"]) == (host.node.uid, host.node.boot_id)
    assert (report["feedLease"], report["bootGate"], report["peers"]) == (40.0, True, [[]])
    assert report["watchdog"]["class"] == "untested"
    version = host.node.lease()["metadata"]["resourceVersion"]  # type: ignore[index]
    assert host.published() == exit_codes.CLEAN
    assert host.node.lease()["metadata"]["resourceVersion"] == version  # type: ignore[index]


def test_the_gate_stays_closed_under_an_earlier_marker_and_reports_the_new_boot(host: Host) -> None:
    host.tell("armed")
    earlier = host.node.boot_id
    assert host.published() == exit_codes.CLEAN
    host.mark(earlier)
    host.node.boot_id = "00000000-0000-0000-0000-000000000002"
    (host.node.folder / "boot_id").write_text(host.node.boot_id)
    host.tell("waiting")
    gate = host.gate()
    try:
        wait_until("it is published", lambda: host.report["bootID"] == host.node.boot_id, within=60)
        wait_until("it says why", lambda: "an earlier boot was marked" in host.said, within=30)
        assert host.report["watchdog"]["class"] == "unsupported"
        assert host.report["sequence"] == 2
        assert gate.running
        assert not host.record.exists()

        host.node.annotate(**{MARKER: None})
        wait_until("it waits for the feeder", lambda: "the feeder is waiting" in host.said, within=30)
        host.tell("armed")
        wait_until("it is open", lambda: not gate.running, within=60)
    finally:
        gate.end()
    assert host.said.splitlines()[-1] == "nodemend-boot-gate: open"
    assert host.report["watchdog"]["class"] == "untested"
    assert read_gate(str(host.record), host.node.boot_id)


def test_if_kubelet_starts_the_api_server_the_gate_opens_unchecked_and_reports_it(host: Host) -> None:
    manifest = host.folder / "kube-apiserver.yaml"
    manifest.touch()
    gate = host.gate("--open-if", str(manifest))
    wait_until("it is open", lambda: not gate.running, within=60)

    assert "open, without an API check" in host.said
    assert host.node.lease() is None
    assert host.record.exists()
    assert not read_gate(str(host.record), host.node.boot_id)


def test_an_agent_s_pod_on_another_node_is_of_no_use(host: Host) -> None:
    host.tell("armed")
    assert host.published() == exit_codes.CLEAN
    host.plane.api.delete(f"/api/v1/namespaces/nodemend-agents/pods/{host.node.pod}", gracePeriodSeconds=0)
    (host.node.folder / "boot_id").write_text("00000000-0000-0000-0000-000000000003")

    assert host.published() == exit_codes.FAILED
    host.plane.api.delete(f"/api/v1/nodes/{host.name}")
    wait_until("nobody knows the node", lambda: host.published() == exit_codes.NO_NODE, within=60)


def looked(host: Host) -> int:
    """Run the API check as the feeder of a node whose agent is silent."""
    command = host.check("--status", str(host.status))
    return subprocess.run(command, check=False, timeout=60, env={}).returncode


@pytest.mark.attack("V3", "V9")
def test_a_node_without_its_node_object_and_agent_still_passes_the_api_check(host: Host) -> None:
    host.tell("armed")
    assert host.published() == exit_codes.CLEAN
    pods = "/api/v1/namespaces/nodemend-agents/pods"
    host.plane.api.delete(f"{pods}/{host.node.pod}", gracePeriodSeconds=0)
    host.plane.api.delete(f"/api/v1/nodes/{host.name}")
    assert looked(host) == exit_codes.CLEAN

    host.mark(host.node.boot_id)
    assert looked(host) == exit_codes.MARKED


@pytest.mark.attack("V8")
def test_without_the_read_right_the_api_check_is_not_clean(host: Host) -> None:
    """This is why the agents' namespace and the Role of their hosts must exist while agents do."""
    host.tell("armed")
    assert host.published() == exit_codes.CLEAN
    binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/nodemend-agents/rolebindings"
    kept = host.plane.api.get(f"{binding}/nodemend-host")
    host.plane.api.delete(f"{binding}/nodemend-host")
    try:
        wait_until("it may not look any more", lambda: looked(host) == exit_codes.FAILED, within=30)
    finally:
        kept["metadata"] = {"name": "nodemend-host", "namespace": "nodemend-agents"}
        host.plane.api.create(kept)
    wait_until("it may again", lambda: looked(host) == exit_codes.CLEAN, within=30)


@pytest.mark.attack("V3")
def test_a_drill_s_marker_fails_the_api_check_and_ends_nothing(host: Host) -> None:
    host.tell("armed")
    assert host.published() == exit_codes.CLEAN
    marker = {"nodeUID": host.node.uid, "bootID": host.node.boot_id, "remediationUID": "r", "drill": True}
    host.node.annotate(**{MARKER: json.dumps(marker)})
    assert looked(host) == exit_codes.MARKED_FOR_DRILL
