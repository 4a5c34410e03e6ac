"""Every kind of client credential, against a real API server."""

import base64
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from nodemend.kube.asyncio_runtime import AsyncioRuntime, run
from nodemend.kube.client import ApiClient
from nodemend.kube.credentials import Connection, Endpoint, PemFile, TokenFile
from nodemend.kube.credentials_io import LiveCredentials, PluginRunner, find_connection
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.outcome import ReadOutcome, Unreachable
from nodemend.kube.request import Method, Request

pytestmark = pytest.mark.real


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""


class _ReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _UserInfo = _UserInfo()


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


_WHO_AM_I = Request(
    Method.POST,
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body=b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
)


@dataclass
class Setting:
    """An API server that takes client certificates, and a folder to write into."""

    plane: ControlPlane
    folder: Path


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    folder = tmp_path_factory.mktemp("credentials")
    _openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=clients", "-days", "2",
             "-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt"))  # fmt: skip
    flags = {"kube-apiserver": (f"--client-ca-file={folder / 'ca.crt'}",)}
    with ControlPlane(Settings(controller_manager=False, scheduler=False, flags=flags)) as plane:
        yield Setting(plane, folder)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


def _client_certificate(folder: Path, user: str) -> tuple[Path, Path]:
    key, request, certificate = (folder / f"{user}.{end}" for end in ("key", "csr", "crt"))
    _openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/O=system:masters/CN={user}",
             "-keyout", str(key), "-out", str(request))  # fmt: skip
    _openssl("x509", "-req", "-in", str(request), "-CA", str(folder / "ca.crt"), "-CAkey",
             str(folder / "ca.key"), "-CAcreateserial", "-days", "1", "-out", str(certificate))  # fmt: skip
    return certificate, key


def _kubeconfig(setting: Setting, user: dict[str, Any], **cluster: Any) -> Path:
    file = setting.folder / "kubeconfig"
    trust = {} if cluster else {"certificate-authority": str(setting.plane.ca)}
    config = {
        "clusters": [{"name": "c", "cluster": {"server": setting.plane.url, **trust, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file.write_text(json.dumps(config))
    return file


async def _ask(connection: Connection, *, times: int = 1, pause: float = 0.0) -> list[object]:
    """The user names that the server reports, one per request; or its other answer if it reports none."""
    runtime = AsyncioRuntime()
    transport = HttpTransport(LiveCredentials(connection, runtime), runtime)
    client = ApiClient(transport, runtime)
    answers: list[object] = []
    try:
        for turn in range(times):
            if turn:
                await runtime.sleep(pause)
            outcome = await client.write(_WHO_AM_I, _Review, deadline=runtime.monotonic() + 30)
            value = getattr(outcome, "value", None)
            answers.append(value.status.user_info.username if isinstance(value, _Review) else outcome)
    finally:
        await transport.close()
    return answers


def _user(connection: Connection) -> object:
    return run(_ask(connection))[0]


def test_a_token_in_a_kubeconfig(setting: Setting) -> None:
    assert _user(find_connection({}, str(setting.plane.kubeconfig))) == "admin"


def test_a_client_certificate_in_files_and_inside_the_kubeconfig(setting: Setting) -> None:
    certificate, key = _client_certificate(setting.folder, "carla")
    inside = {
        "client-certificate-data": base64.b64encode(certificate.read_bytes()).decode(),
        "client-key-data": base64.b64encode(key.read_bytes()).decode(),
    }
    in_files = {"client-certificate": certificate.name, "client-key": key.name}

    assert _user(find_connection({}, str(_kubeconfig(setting, inside)))) == "carla"
    assert _user(find_connection({}, str(_kubeconfig(setting, in_files)))) == "carla"


def test_a_service_account_whose_token_is_replaced(setting: Setting) -> None:
    metadata = {"namespace": "default", "name": "sa"}
    setting.plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    account = setting.folder / "account"
    account.mkdir()
    (account / "ca.crt").write_bytes(setting.plane.ca.read_bytes())
    (account / "token").write_text("expired")
    connection = Connection(
        Endpoint(setting.plane.url, PemFile(str(account / "ca.crt"))), TokenFile(str(account / "token"))
    )

    async def main() -> list[object]:
        runtime = AsyncioRuntime()
        transport = HttpTransport(LiveCredentials(connection, runtime), runtime)
        statuses: list[object] = []
        for token in ("expired", setting.plane.service_account_token("default", "sa")):
            (account / "token").write_text(token)
            reply = await transport.send(_WHO_AM_I, runtime.monotonic() + 30)
            statuses.append(getattr(reply, "status", reply))
        await transport.close()
        return statuses

    assert run(main()) == [401, 201]
    assert _user(connection) == "system:serviceaccount:default:sa"


def test_another_authority_is_not_trusted_and_nothing_is_sent(setting: Setting) -> None:
    endpoint = Endpoint(setting.plane.url, PemFile(str(setting.folder / "ca.crt")))

    async def main() -> ReadOutcome[_Review]:
        runtime = AsyncioRuntime()
        transport = HttpTransport(LiveCredentials(Connection(endpoint), runtime), runtime)
        client = ApiClient(transport, runtime)
        version = Request(Method.GET, "/version")
        outcome = await client.read(version, _Review, deadline=runtime.monotonic() + 30)
        await transport.close()
        return outcome

    outcome = run(main())
    assert isinstance(outcome, Unreachable)
    assert "CERTIFICATE_VERIFY_FAILED" in outcome.why


def test_another_name_than_the_certificate_s_is_not_trusted_unless_it_is_named(setting: Setting) -> None:
    trust = {"certificate-authority": str(setting.plane.ca)}
    token = {"token": json.loads(setting.plane.kubeconfig.read_text())["users"][0]["user"]["token"]}
    wrong = _kubeconfig(setting, token, **trust, **{"tls-server-name": "elsewhere.example"})
    wrong_name = _user(find_connection({}, str(wrong)))
    right = _kubeconfig(setting, token, **trust, **{"tls-server-name": "kubernetes.default.svc"})

    assert "CERTIFICATE_VERIFY_FAILED" in str(wrong_name)
    assert _user(find_connection({}, str(right))) == "admin"


def test_an_unverified_server_works_with_a_caution(setting: Setting) -> None:
    token = {"token": json.loads(setting.plane.kubeconfig.read_text())["users"][0]["user"]["token"]}
    connection = find_connection({}, str(_kubeconfig(setting, token, **{"insecure-skip-tls-verify": True})))

    assert len(connection.cautions) == 1
    assert _user(connection) == "admin"


# Plugins.


def _plugin(setting: Setting, script: str, **spec: Any) -> Connection:
    """A connection whose credential is what this shell script prints."""
    file = setting.folder / "plugin.sh"
    file.write_text(f"#!/bin/sh\necho run >> {setting.folder / 'runs'}\n{script}\n")
    file.chmod(0o755)
    (setting.folder / "runs").write_text("")
    call = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin.sh", **spec}
    return find_connection({}, str(_kubeconfig(setting, {"exec": call})))


def _runs(setting: Setting) -> int:
    return (setting.folder / "runs").read_text().count("run")


def _printed(setting: Setting, **more: str) -> str:
    token = json.loads(setting.plane.kubeconfig.read_text())["users"][0]["user"]["token"]
    status = {"token": token, **more}
    return json.dumps(
        {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    )


def test_a_plugin_runs_once_for_as_long_as_its_credential_lasts(setting: Setting) -> None:
    connection = _plugin(setting, f"echo '{_printed(setting)}'")

    assert run(_ask(connection, times=3)) == ["admin"] * 3
    assert _runs(setting) == 1


def test_a_plugin_gets_its_environment_and_the_cluster_info(setting: Setting) -> None:
    reported = f'*\'"interactive":false\'*\'"server":"{setting.plane.url}"\'*'
    script = f"""
        case "$KUBERNETES_EXEC_INFO" in {reported}) ;; *) exit 3;; esac
        test "$GREETING" = hello && test "$1" = give && echo '{_printed(setting)}'
    """
    spec = {"env": [{"name": "GREETING", "value": "hello"}], "args": ["give"], "provideClusterInfo": True}

    assert _user(_plugin(setting, script, **spec)) == "admin"


def test_an_expired_credential_is_renewed_but_not_for_every_request(setting: Setting) -> None:
    connection = _plugin(setting, f"echo '{_printed(setting, expirationTimestamp='2020-01-01T00:00:00Z')}'")

    assert run(_ask(connection, times=3)) == ["admin"] * 3
    assert _runs(setting) == 1
    assert run(_ask(connection, times=2, pause=5.2)) == ["admin"] * 2
    assert _runs(setting) == 3


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'please log in' >&2; exit 7", "failed with 7: please log in"),
        ("echo hello", "printed no ExecCredential"),
    ],
)
def test_a_plugin_that_fails_sends_nothing_and_says_why(setting: Setting, script: str, why: str) -> None:
    assert why in str(_user(_plugin(setting, script)))


def test_a_plugin_that_is_not_there_gives_the_hint(setting: Setting) -> None:
    connection = _plugin(setting, "", command="no-such-login", installHint="Get it from the shelf.")

    assert "no-such-login cannot be run: No such file or directory (Get it from the shelf.)" in str(
        _user(connection)
    )


def test_a_plugin_that_hangs_is_ended_with_all_it_started(setting: Setting) -> None:
    connection = _plugin(setting, f"sleep 300 & echo $! > {setting.folder / 'child'}; wait")

    async def main() -> object:
        runtime = AsyncioRuntime()
        credentials = LiveCredentials(connection, runtime, PluginRunner(runtime, run_within=3.0))
        try:
            return await credentials.present()
        finally:
            await credentials.close()

    assert "took over 3 s" in str(run(main()))
    child = int((setting.folder / "child").read_text())
    assert _ends(child)


def _ends(process: int) -> bool:
    for _ in range(300):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
