"""The one file that a host carries, run as on a host, with a real API server. No device is a watchdog."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from controlplane.run import ADMIN, ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from host_program.pack import pack
from nodemend.agent import exit_codes
from nodemend.agent.reset_log import ResetRecord
from nodemend.agent.reset_log_io import ResetFolder
from nodemend.agent.watchdog.model import VERSION, parse_status
from nodemend.agent.watchdog.records import format_lease
from nodemend.agent.watchdog.records_io import write_record
from nodemend.api.well_known import AGENT_NAMESPACE, MARKER
from nodemend.protocol.feed_lease import FeedLease

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "n1", "namespace": AGENT_NAMESPACE},
}

Command = Callable[..., list[str]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Packed, unpacked onto what is a tmpfs on a node, and compiled."""
    folder = tmp_path_factory.mktemp("host")
    packed = pack(folder)
    isolated = [sys.executable, "-I", "-S"]
    subprocess.run([*isolated, str(packed), "unpack", str(folder / "run")], check=True, timeout=60)
    return lambda *words: [*isolated, str(folder / "run" / "start.py"), *words]


def check(program: Command, plane: ControlPlane, folder: Path, *, within: str = "3") -> list[str]:
    token = folder / "token"
    token.write_text(token_of(plane))
    words = ("--server", plane.url, "--ca", str(plane.ca), "--token", str(token), "--node", "n1")
    return program("api-check", *words, "--boot-id", str(BOOT_ID), "--within", within)


def token_of(plane: ControlPlane) -> str:
    user = json.loads(plane.kubeconfig_for(ADMIN).read_text())["users"][0]["user"]
    return str(user["token"])


def make_lease(plane: ControlPlane) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}}
    if plane.api.find(f"/api/v1/namespaces/{AGENT_NAMESPACE}") is None:
        plane.api.create(namespace)
    plane.api.create(LEASE)


def mark(plane: ControlPlane, boot_id: str) -> None:
    marker = json.dumps({"nodeUID": "u", "bootID": boot_id, "remediationUID": "r"})
    plane.api.patch(f"{LEASES}/n1", {"metadata": {"annotations": {MARKER: marker}}})


def code_of(command: list[str]) -> int:
    return subprocess.run(command, check=False, timeout=20, env={}).returncode


def test_a_check_reports_the_state_of_the_lease(
    program: Command, api_server: ControlPlane, tmp_path: Path
) -> None:
    command = check(program, api_server, tmp_path)
    assert code_of(command) == exit_codes.ABSENT
    make_lease(api_server)
    assert code_of(command) == exit_codes.CLEAN
    mark(api_server, "another-boot")
    assert code_of(command) == exit_codes.MARKED_FOR_ANOTHER_BOOT
    mark(api_server, BOOT_ID.read_text().strip())
    assert code_of(command) == exit_codes.MARKED


def test_a_check_of_a_server_that_hangs_ends_in_time_and_reports_nothing(
    program: Command, start_control_plane: StartControlPlane, tmp_path: Path
) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    command = check(program, plane, tmp_path, within="1.5")
    plane.pause("etcd")
    began = time.monotonic()
    assert code_of(command) in (exit_codes.FAILED, exit_codes.NO_ANSWER, -signal.SIGALRM)
    assert time.monotonic() - began < 10
    plane.resume("etcd")


@contextmanager
def running(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output, env={})
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def feeder(program: Command, folder: Path, observation: list[str]) -> list[str]:
    """With an ordinary file in the place of the device: it can be opened, and is no watchdog."""
    (folder / "device").touch()
    paths = [
        word
        for name in ("device", "lock", "lease", "permit", "status")
        for word in (f"--{name}", str(folder / name))
    ]
    return program("feeder", *paths, "--boot-id", str(BOOT_ID), "--check-every", "1", "--", *observation)


def reported(folder: Path) -> dict[str, str]:
    return parse_status((folder / "status").read_bytes()) if (folder / "status").exists() else {}


def test_a_feeder_sends_its_own_checks_and_follows_the_agent_s_records(
    program: Command, api_server: ControlPlane, tmp_path: Path
) -> None:
    make_lease(api_server)
    with running(
        feeder(program, tmp_path, check(program, api_server, tmp_path)), tmp_path / "log"
    ) as process:
        wait_until("it has a lease", lambda: int(reported(tmp_path).get("lease-until", "0")) > 0, within=60)
        assert reported(tmp_path)["lease-by"] == "feeder"
        wait_until(
            "it tries the device", lambda: "cannot be opened" in reported(tmp_path).get("why", ""), within=20
        )
        before = int(reported(tmp_path)["lease-until"])
        ahead = FeedLease(BOOT_ID.read_text().strip(), before + 10 * 10**9)
        write_record(str(tmp_path / "lease"), format_lease(ahead))
        wait_until("the agent has renewed it", lambda: reported(tmp_path)["lease-by"] == "agent", within=20)
        assert int(reported(tmp_path)["lease-until"]) >= before
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert (reported(tmp_path)["state"], reported(tmp_path)["why"]) == (
        "ended",
        "this feeder has armed nothing",
    )
    assert (tmp_path / "device").read_bytes() == b""


def test_a_feeder_that_finds_the_marker_stops_feeding(
    program: Command, api_server: ControlPlane, tmp_path: Path
) -> None:
    make_lease(api_server)
    mark(api_server, BOOT_ID.read_text().strip())
    with running(feeder(program, tmp_path, check(program, api_server, tmp_path)), tmp_path / "log"):
        wait_until("it is condemned", lambda: reported(tmp_path).get("state") == "condemned", within=60)


def test_the_record_of_a_condemned_feeder_is_kept_until_it_ends_otherwise(
    program: Command, tmp_path: Path
) -> None:
    boot_id, resets = BOOT_ID.read_text().strip(), ResetFolder(str(tmp_path / "resets"))
    files = ("--status", str(tmp_path / "status"), "--folder", str(tmp_path / "resets"))
    recorder = program("last-words", *files, "--boot-id", str(BOOT_ID))
    says_marked = ["/bin/sh", "-c", f"exit {exit_codes.MARKED}"]
    command = feeder(program, tmp_path, says_marked)
    command[command.index("--") : command.index("--")] = ["--recorder", " ".join(recorder)]

    def recorded() -> list[ResetRecord]:
        return resets.others("another boot")

    with running(command, tmp_path / "log"):
        wait_until("there is a record", lambda: bool(recorded()), within=60)
        [first] = recorded()
        assert (first.boot_id, first.state) == (boot_id, "condemned")
        wait_until("it is written anew", lambda: recorded()[0].alive_at > first.alive_at, within=20)
    write_record(str(tmp_path / "status"), f"{VERSION}\nboot {boot_id}\nstate ended\n".encode())
    wait_until("it is forgotten", lambda: not recorded(), within=20)


def test_there_is_one_feeder_at_a_time(program: Command, tmp_path: Path) -> None:
    command = feeder(program, tmp_path, ["/bin/false"])
    with running(command, tmp_path / "first"):
        wait_until("the first waits", lambda: reported(tmp_path).get("state") == "waiting", within=60)
        with running(command, tmp_path / "second"):
            said = tmp_path / "second"
            wait_until("the second is locked out", lambda: "has the lock" in said.read_text(), within=60)


def test_the_gate_opens_when_the_watchdog_is_fed_and_nothing_is_marked(
    program: Command, api_server: ControlPlane, tmp_path: Path
) -> None:
    make_lease(api_server)
    mark(api_server, "another-boot")
    log = tmp_path / "log"
    observation = check(program, api_server, tmp_path)
    paths = ("--status", str(tmp_path / "status"), "--record", str(tmp_path / "gate"))
    gate = program("boot-gate", *paths, "--boot-id", str(BOOT_ID), "--", *observation)
    with running(gate, log) as process:
        wait_until(
            "it waits for the marker", lambda: "an earlier boot was marked" in log.read_text(), within=60
        )
        api_server.api.patch(f"{LEASES}/n1", {"metadata": {"annotations": {MARKER: None}}})
        wait_until(
            "it waits for the feeder", lambda: "has not reported anything" in log.read_text(), within=60
        )
        assert process.poll() is None
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        fed = f"{VERSION}\nboot {BOOT_ID.read_text()}state armed\nlast-ping {now}\neffective {now}\n"
        write_record(str(tmp_path / "status"), fed.encode())
        assert process.wait(60) == 0
