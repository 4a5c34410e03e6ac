"""Credentials are kept fresh, and stay in use while their files are being replaced."""

from pathlib import Path

import pytest

from nodemend.kube.asyncio_runtime import run
from nodemend.kube.credentials import Connection, CredentialsError, Endpoint, PemFile, StaticToken, TokenFile
from nodemend.kube.credentials_io import LiveCredentials, NoRequestIdentity, RequestIdentity, find_connection
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

_CONFIG = """
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://NAME"}}]
users: [{name: u, user: {token: t}}]
"""


class World:
    """Credentials with a token in a file, at a time that the test sets."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "token"
        self.scheduler = Scheduler(1)
        clock = SimulatedProcess(self.scheduler, "client", HostClock())
        connection = Connection(Endpoint("http://127.0.0.1:1"), TokenFile(str(self.file)))
        self.credentials = LiveCredentials(connection, clock)

    def pass_time(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def present(self) -> RequestIdentity:
        presented = run(self.credentials.present())
        assert isinstance(presented, RequestIdentity)
        return presented


def test_a_token_file_is_read_again_each_minute(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file.write_text("one\n")
    assert world.present().authorization == "Bearer one"

    world.file.write_text("two\n")
    world.pass_time(59.0)
    assert world.present().authorization == "Bearer one"
    world.pass_time(1.0)
    assert world.present().authorization == "Bearer two"


def test_a_rejected_token_is_read_again_at_once_but_an_older_one_s_rejection_is_late(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file.write_text("one")
    one = world.present()
    world.file.write_text("two")
    world.credentials.reject(one)
    two = world.present()
    assert two.authorization == "Bearer two"

    world.file.write_text("three")
    world.credentials.reject(one)
    assert world.present() is two


def test_a_file_that_is_away_for_a_while_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.file.write_text("one")
    world.present()

    world.file.unlink()
    world.pass_time(100.0)
    assert world.present().authorization == "Bearer one"


@pytest.mark.parametrize("text", [None, "", "\n", "t\u00f6ken", "a b", "a\r\nX-Admin: 1"])
def test_without_any_token_ever_there_is_nothing_to_present(tmp_path: Path, text: str | None) -> None:
    world = World(tmp_path)
    if text is not None:
        world.file.write_text(text, encoding="utf-8")

    assert isinstance(run(world.credentials.present()), NoRequestIdentity)


@pytest.mark.parametrize("text", ["", "not a certificate", "-----BEGIN CERTIFICATE-----\n\u00f6"])
def test_an_invalid_ca_file_never_widens_the_trusted_servers(tmp_path: Path, text: str) -> None:
    (tmp_path / "ca.crt").write_text(text)
    connection = Connection(Endpoint("https://c", PemFile(str(tmp_path / "ca.crt"))), StaticToken("t"))
    clock = SimulatedProcess(Scheduler(1), "client", HostClock())

    assert isinstance(run(LiveCredentials(connection, clock).present()), NoRequestIdentity)


def test_a_named_kubeconfig_wins_then_the_environment_then_the_pod_then_home(tmp_path: Path) -> None:
    for name in ("named", "first", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config").write_text(_CONFIG.replace("NAME", name))
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(_CONFIG.replace("NAME", "home"))
    home = {"HOME": str(tmp_path)}
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    listed = {"KUBECONFIG": f"{tmp_path}/missing:{tmp_path}/first/config"}

    def server(environment: dict[str, str], kubeconfig: str = "") -> str:
        return find_connection(environment, kubeconfig).endpoint.server

    assert server({**home, **pod, **listed}, str(tmp_path / "named" / "config")) == "https://named"
    assert server({**home, **pod, **listed}) == "https://first"
    assert server({**home, **pod}) == "https://10.0.0.1:443"
    assert server(home) == "https://home"


def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="no kubeconfig at /no/such"):
        find_connection({}, "/no/such")
    with pytest.raises(CredentialsError, match=r"none of /a, /b exists"):
        find_connection({"KUBECONFIG": "/a:/b"})
    with pytest.raises(CredentialsError, match=r"\.kube/config"):
        find_connection({"HOME": str(tmp_path)})
