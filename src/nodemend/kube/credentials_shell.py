"""Credentials kept fresh: files read again, plugins run again, TLS made anew when any of it changed."""

import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nodemend.kube.credentials import (
    Connection,
    CredentialsError,
    Endpoint,
    FromFile,
    Inline,
    Pem,
    StaticToken,
    TokenFile,
    checked,
    in_cluster,
)
from nodemend.kube.exec_plugin import ExecPlugin, PluginCredential, PluginFailure, written_input
from nodemend.kube.http_shell import Presented, Unpresentable
from nodemend.kube.plugin_shell import PluginRunner
from nodemend.kube.ports import Runtime

_READ_AGAIN_AFTER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Material:
    """Everything that went into what we present; equal material makes equal presentations."""

    token: str
    authority: bytes | None
    certificate: bytes
    key: bytes


class LiveCredentials:
    """The Credentials of one connection. Files are read each minute and after a rejection.

    A file that cannot be read for a while (it is being replaced) leaves what was read before in use.
    """

    def __init__(self, connection: Connection, runtime: Runtime, plugins: PluginRunner | None = None) -> None:
        self._connection = checked(connection)
        self._runtime = runtime
        self._plugins = plugins or PluginRunner(runtime)
        self._read_again_at = float("-inf")
        self._made: tuple[_Material, Presented] | None = None

    @property
    def server(self) -> str:
        return self._connection.endpoint.server

    @property
    def server_name(self) -> str:
        return self._connection.endpoint.server_name

    async def present(self) -> Presented | Unpresentable:
        given = await self._from_plugin()
        if isinstance(given, PluginFailure):
            return Unpresentable(given.why)
        now = self._runtime.monotonic()
        if self._made is None or now >= self._read_again_at or self._replaced(given):
            try:
                self._make(given)
            except (OSError, ValueError) as error:
                if self._made is None or self._replaced(given):
                    return Unpresentable(f"credentials: {error}")
            self._read_again_at = now + _READ_AGAIN_AFTER_SECONDS
        return self._made[1] if self._made else Unpresentable("credentials: nothing was read")

    def reject(self, presented: Presented) -> None:
        """Only what is still in use can be doubted: a late rejection of an older token says nothing."""
        if self._made is not None and self._made[1] is presented:
            self._read_again_at = float("-inf")
            self._plugins.doubt()

    async def close(self) -> None:
        await self._plugins.close()

    async def _from_plugin(self) -> PluginCredential | PluginFailure:
        plugin = self._connection.bearer
        if not isinstance(plugin, ExecPlugin):
            return PluginCredential()
        try:
            authority = self._read_authority() if plugin.cluster is not None else b""
        except OSError as error:
            return PluginFailure(f"certificate authority: {error}")
        return await self._plugins.credential(plugin, written_input(plugin, authority or b""))

    def _replaced(self, given: PluginCredential) -> bool:
        """Whether the plugin gave something other than what is in use."""
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
        self._made = (material, Presented(authorization, tls))

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
    """TLS that trusts this authority and nothing else; the system's store where it is None.

    Raises OSError (ssl.SSLError is one) or ValueError for what is no certificate or no key.
    """
    if not endpoint.encrypted:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # As Go has it: whatever certificate is named as authority is an anchor, self-signed or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not endpoint.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is not None:
        # Bundles may name their certificates in any language; only what is base64 matters.
        context.load_verify_locations(cadata=authority.decode("ascii", errors="ignore"))
    else:
        context.load_default_certs()
    if certificate:
        _load_client_certificate(context, certificate, key)
    return context


def _load_client_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # OpenSSL as Python has it reads these from files only. Ours is in memory where the system can do that: a
    # pod has no folder that it may write to, and a key belongs on no disk.
    with _memory_file() or tempfile.NamedTemporaryFile(prefix="nodemend-") as file:
        file.write(certificate.rstrip() + b"\n" + key)
        file.flush()
        name = f"/proc/self/fd/{file.fileno()}" if isinstance(file.name, int) else file.name
        # Without an answer of ours OpenSSL would ask the terminal for the password of an encrypted key.
        context.load_cert_chain(name, password=lambda: "")


def _memory_file() -> BinaryIO | None:
    """A file that has no name in any folder; None where the system has none such (macOS)."""
    create = getattr(os, "memfd_create", None)
    return None if create is None else os.fdopen(create("nodemend"), "wb")


def _read_pem(pem: Pem) -> bytes:
    match pem:
        case Inline(text):
            return text
        case FromFile(path):
            return Path(path).read_bytes()


def _read_token(path: str) -> str:
    token = Path(path).read_text(encoding="utf-8").strip()
    if not token:
        raise CredentialsError(f"{path} holds no token")
    return token


def _sendable(token: str) -> str:
    """Refuse what would not be one word in a header. The token itself is not repeated."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialsError("the token has characters that no token has")
    return token


def find_connection(environment: Mapping[str, str], kubeconfig: str = "", context: str = "") -> Connection:
    """How to reach the cluster: by a named kubeconfig, else by $KUBECONFIG, else by the pod's own account,
    else by ~/.kube/config.

    Raises CredentialsError, with a message for a person.
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
    """By the files that exist, in order; as kubectl, a list may name some that do not."""
    # An agent has none, and no megabyte for YAML.
    from nodemend.kube.kubeconfig import Source, choose  # noqa: PLC0415

    sources = []
    for path in paths:
        try:
            absolute = Path(path).absolute()
            sources.append(Source(str(absolute), absolute.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            if must_exist:
                raise CredentialsError(f"no kubeconfig at {path}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise CredentialsError(f"kubeconfig {path} cannot be read: {error}") from error
    if not sources:
        raise CredentialsError(f"no kubeconfig: none of {', '.join(paths)} exists, and this is no pod")
    return choose(sources, context)
