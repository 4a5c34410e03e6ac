"""Keeps credentials fresh: reads files again, runs plugins again, remakes the TLS context after a change.

A credential plugin has one run at a time, with a time limit. Its credentials are kept until they expire or
the server rejects them.
"""

import asyncio
import os
import signal
import ssl
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from nodemend.kube.credentials import (
    Connection,
    CredentialsError,
    Endpoint,
    ExecPlugin,
    InlinePem,
    Pem,
    PemFile,
    PluginCredential,
    PluginFailure,
    StaticToken,
    TokenFile,
    checked,
    in_cluster,
    read_output,
    written_input,
)
from nodemend.kube.ports import Runtime

_LONGEST_RUN_SECONDS = 30.0
_LONGEST_OUTPUT_BYTES = 1024 * 1024
# A plugin that just ran is not run again for every request that fails meanwhile.
_REST_SECONDS = 5.0
_EXPIRY_MARGIN = timedelta(seconds=10)


class PluginRunner:
    """The credential of one plugin."""

    def __init__(self, runtime: Runtime, *, run_within: float = _LONGEST_RUN_SECONDS) -> None:
        self._runtime = runtime
        self._run_within = run_within
        self._last: PluginCredential | PluginFailure | None = None
        self._ran_at = float("-inf")
        self._doubted = False
        self._running: asyncio.Task[PluginCredential | PluginFailure] | None = None

    def invalidate(self) -> None:
        """The server rejected the credential: run the plugin again."""
        self._doubted = True

    async def credential(self, plugin: ExecPlugin, reported: str) -> PluginCredential | PluginFailure:
        """The last credential of the plugin, or a new one if the last has expired or was rejected.

        A cancelled caller does not end the run: the next caller waits for the same run.
        """
        if self._running is None:
            if self._last is not None and not self._is_spent(self._last):
                return self._last
            run = self._keep(plugin, reported)
            self._running = asyncio.get_running_loop().create_task(run, name=f"plugin {plugin.command}")
        return await asyncio.shield(self._running)

    async def close(self) -> None:
        """Cancel a run that is in progress."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _keep(self, plugin: ExecPlugin, reported: str) -> PluginCredential | PluginFailure:
        try:
            self._last = await self._run(plugin, reported)
        finally:
            self._running = None
        self._ran_at = self._runtime.monotonic()
        self._doubted = False
        return self._last

    def _is_spent(self, last: PluginCredential | PluginFailure) -> bool:
        rested = self._runtime.monotonic() >= self._ran_at + _REST_SECONDS
        if isinstance(last, PluginFailure) or self._doubted:
            return rested
        return last.expires is not None and self._runtime.wall() >= last.expires - _EXPIRY_MARGIN and rested

    async def _run(self, plugin: ExecPlugin, reported: str) -> PluginCredential | PluginFailure:
        environment = {**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": reported}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = f" ({plugin.install_hint.strip()})" if plugin.install_hint else ""
            return PluginFailure(f"credential plugin {plugin.command} cannot be run: {error.strerror}{hint}")
        try:
            async with asyncio.timeout(self._run_within):
                output, complaint = await asyncio.gather(_read(process.stdout), _read(process.stderr))
                code = await process.wait()
        except TimeoutError:
            return PluginFailure(f"credential plugin {plugin.command} took over {self._run_within:g} s")
        finally:
            _end(process)
            await process.wait()
        if code != 0:
            said = complaint.decode(errors="replace").strip()[-500:]
            return PluginFailure(f"credential plugin {plugin.command} failed with {code}: {said}")
        return read_output(plugin, output)


async def _read(pipe: asyncio.StreamReader | None) -> bytes:
    """Read to the end, keeping no more than the limit."""
    kept = bytearray()
    while pipe is not None and (piece := await pipe.read(65536)):
        kept += piece[: _LONGEST_OUTPUT_BYTES - len(kept)]
    return bytes(kept)


def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the plugin and all processes that it started: it leads its own session."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


_READ_AGAIN_AFTER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RequestIdentity:
    """Credentials of one request: Authorization value ("" for none) and TLS context (None: plain HTTP)."""

    authorization: str
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:
        return "RequestIdentity(...)"


@dataclass(frozen=True, slots=True)
class NoRequestIdentity:
    """There are no credentials to present: they could not be read or created."""

    why: str


@dataclass(frozen=True, slots=True)
class _Material:
    """All inputs of the presented credentials; equal material gives equal credentials."""

    token: str
    authority: bytes | None
    certificate: bytes
    key: bytes


class LiveCredentials:
    """The credentials of one connection. Files are read each minute and after a rejection.

    If a file cannot be read for a while (during its replacement), the content read before stays in use.
    """

    def __init__(self, connection: Connection, runtime: Runtime, plugins: PluginRunner | None = None) -> None:
        self._connection = checked(connection)
        self._runtime = runtime
        self._plugins = plugins or PluginRunner(runtime)
        self._read_again_at = float("-inf")
        self._made: tuple[_Material, RequestIdentity] | None = None

    @property
    def server(self) -> str:
        return self._connection.endpoint.server

    @property
    def server_name(self) -> str:
        return self._connection.endpoint.server_name

    async def present(self) -> RequestIdentity | NoRequestIdentity:
        given = await self._from_plugin()
        if isinstance(given, PluginFailure):
            return NoRequestIdentity(given.why)
        now = self._runtime.monotonic()
        if self._made is None or now >= self._read_again_at or self._replaced(given):
            try:
                self._make(given)
            except (OSError, ValueError) as error:
                if self._made is None or self._replaced(given):
                    return NoRequestIdentity(f"credentials: {error}")
            self._read_again_at = now + _READ_AGAIN_AFTER_SECONDS
        return self._made[1] if self._made else NoRequestIdentity("credentials: nothing was read")

    def reject(self, presented: RequestIdentity) -> None:
        """Read again if `presented` is still in use: a late rejection of an older token proves nothing."""
        if self._made is not None and self._made[1] is presented:
            self._read_again_at = float("-inf")
            self._plugins.invalidate()

    async def close(self) -> None:
        await self._plugins.close()

    async def _from_plugin(self) -> PluginCredential | PluginFailure:
        plugin = self._connection.bearer
        if not isinstance(plugin, ExecPlugin):
            return PluginCredential()
        try:
            authority = self._read_authority() if plugin.provide_cluster_info else b""
        except OSError as error:
            return PluginFailure(f"certificate authority: {error}")
        reported = written_input(plugin, self._connection.endpoint, authority or b"")
        return await self._plugins.credential(plugin, reported)

    def _replaced(self, given: PluginCredential) -> bool:
        """True if the plugin returned other credentials than the ones in use."""
        if not isinstance(self._connection.bearer, ExecPlugin) or self._made is None:
            return False
        used = self._made[0]
        return given.token != used.token or (
            bool(given.certificate) and given.certificate != used.certificate
        )

    def _make(self, given: PluginCredential) -> None:
        material = self._gather(given)
        if self._made is not None and self._made[0] == material:
            return
        endpoint = self._connection.endpoint
        tls = tls_context(endpoint, material.authority, material.certificate, material.key)
        authorization = f"Bearer {material.token}" if material.token else ""
        self._made = (material, RequestIdentity(authorization, tls))

    def _gather(self, given: PluginCredential) -> _Material:
        certificate, key = given.certificate, given.key
        client = self._connection.client
        if client is not None and not certificate:
            certificate, key = _read_pem(client.certificate), _read_pem(client.key)
        return _Material(_sendable(self._token(given)), self._read_authority(), certificate, key)

    def _read_authority(self) -> bytes | None:
        authority = self._connection.endpoint.authority
        return None if authority is None else _read_pem(authority)

    def _token(self, given: PluginCredential) -> str:
        match self._connection.bearer:
            case StaticToken(token):
                return token
            case TokenFile(path):
                return _read_token(path)
            case ExecPlugin():
                return given.token
            case None:
                return ""


def tls_context(
    endpoint: Endpoint, authority: bytes | None, certificate: bytes, key: bytes
) -> ssl.SSLContext | None:
    """A TLS context that trusts only this authority, or the system's store if `authority` is None.

    None for an endpoint without TLS. Raises OSError (ssl.SSLError is one) or ValueError for an invalid
    certificate or key.
    """
    if not endpoint.encrypted:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Like Go: any certificate that is named as authority is a trust anchor, self-signed or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not endpoint.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is not None:
        # Bundles may label their certificates in any language; only the base64 parts matter.
        context.load_verify_locations(cadata=authority.decode("ascii", errors="ignore"))
    else:
        context.load_default_certs()
    if certificate:
        _load_client_certificate(context, certificate, key)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # Python's OpenSSL reads these only from files. Use a file in memory if the system supports it: a pod has
    # no writable folder, and a key must not be on a disk.
    with _memory_file() or tempfile.NamedTemporaryFile(prefix="nodemend-") as file:
        file.write(certificate.rstrip() + b"\n" + key)
        file.flush()
        name = f"/proc/self/fd/{file.fileno()}" if isinstance(file.name, int) else file.name
        # Without a password callback OpenSSL would ask the terminal for the password of an encrypted key.
        context.load_cert_chain(name, password=lambda: "")


def _memory_file() -> BinaryIO | None:
    """An anonymous file in memory; None if the system does not support it (macOS)."""
    create = getattr(os, "memfd_create", None)
    return None if create is None else os.fdopen(create("nodemend"), "wb")


def _read_pem(pem: Pem) -> bytes:
    match pem:
        case InlinePem(text):
            return text
        case PemFile(path):
            return Path(path).read_bytes()


def _read_token(path: str) -> str:
    token = Path(path).read_text(encoding="utf-8").strip()
    if not token:
        raise CredentialsError(f"{path} holds no token")
    return token


def _sendable(token: str) -> str:
    """Refuse a token that is not one printable value in a header. The message does not repeat the token."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialsError("the token has characters that no token has")
    return token


def find_connection(environment: Mapping[str, str], kubeconfig: str = "", context: str = "") -> Connection:
    """Find the API server and the credentials for it.

    The first of these counts: the named kubeconfig, $KUBECONFIG, the pod's own service account,
    ~/.kube/config. A named context skips the service account. Raises CredentialsError with a message for
    people.
    """
    if kubeconfig:
        return _chosen([kubeconfig], context, must_exist=True)
    if paths := [path for path in environment.get("KUBECONFIG", "").split(":") if path]:
        return _chosen(paths, context, must_exist=False)
    if environment.get("KUBERNETES_SERVICE_HOST") and not context:
        host, port = environment["KUBERNETES_SERVICE_HOST"], environment.get("KUBERNETES_SERVICE_PORT", "")
        return in_cluster(host, port)
    home = Path(environment.get("HOME") or "/") / ".kube" / "config"
    return _chosen([str(home)], context, must_exist=False)


def _chosen(paths: list[str], context: str, *, must_exist: bool) -> Connection:
    """Choose from the files that exist, in order. Like kubectl, a list may name missing files."""
    # An agent has no kubeconfig, and no megabyte to spare for YAML.
    from nodemend.kube.kubeconfig import KubeconfigSource, choose  # noqa: PLC0415

    sources = []
    for path in paths:
        try:
            absolute = Path(path).absolute()
            sources.append(KubeconfigSource(str(absolute), absolute.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            if must_exist:
                raise CredentialsError(f"no kubeconfig at {path}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise CredentialsError(f"kubeconfig {path} cannot be read: {error}") from error
    if not sources:
        raise CredentialsError(f"no kubeconfig: none of {', '.join(paths)} exists, and this is no pod")
    return choose(sources, context)
