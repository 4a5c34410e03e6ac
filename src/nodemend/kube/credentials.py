"""Describes a connection to an API server as values: address, trust anchor, credentials. Pure.

Nothing here reads a file or runs a credential plugin (client.authentication.k8s.io). Of a plugin, only the
input and the output are handled here.
"""

import re
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import SplitResult, urlsplit

import msgspec

from nodemend.kube.outcome import DECODE_ERRORS, decoder_of

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints a credential. `cluster_config` is its extension in the kubeconfig."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    cluster_config: msgspec.Raw | None = None


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """A token, a client certificate, or both. Without `expires` it is valid until it is rejected."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None

    def __repr__(self) -> str:
        return f"PluginCredential(expires={self.expires})"


@dataclass(frozen=True, slots=True)
class PluginFailure:
    why: str


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: datetime | None = None
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


def read_output(plugin: ExecPlugin, output: bytes) -> PluginCredential | PluginFailure:
    """The credential in a plugin's standard output. Messages never repeat the output: it is a secret."""
    try:
        said = decoder_of(_ExecCredential).decode(output)
    except DECODE_ERRORS as error:
        return PluginFailure(f"{plugin.command} printed no ExecCredential: {error}")
    if said.kind != "ExecCredential" or said.api_version != plugin.api_version:
        printed, asked = f"{said.api_version} {said.kind}", f"{plugin.api_version} ExecCredential"
        return PluginFailure(f"{plugin.command} printed {printed}, not {asked}")
    status = said.status or _Status()
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        return PluginFailure(f"{plugin.command} printed a client certificate without its key, or the reverse")
    if not status.token and not status.client_certificate_data:
        return PluginFailure(f"{plugin.command} printed neither a token nor a client certificate")
    expires = status.expiration_timestamp
    if expires is not None and expires.tzinfo is None:
        return PluginFailure(f"{plugin.command} printed an expirationTimestamp without a time zone")
    return PluginCredential(
        status.token, status.client_certificate_data.encode(), status.client_key_data.encode(), expires
    )


def written_input(plugin: ExecPlugin, endpoint: "Endpoint", authority: bytes) -> str:
    """The value of KUBERNETES_EXEC_INFO. It states that there is no terminal."""
    spec: dict[str, object] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = _cluster_info(endpoint, authority, plugin.cluster_config)
    body = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(body).decode()


def _cluster_info(endpoint: "Endpoint", authority: bytes, config: msgspec.Raw | None) -> dict[str, object]:
    reported: dict[str, object] = {"server": endpoint.server}
    if endpoint.server_name:
        reported["tls-server-name"] = endpoint.server_name
    if authority:
        reported["certificate-authority-data"] = b64encode(authority).decode()
    if not endpoint.verified:
        reported["insecure-skip-tls-verify"] = True
    if config is not None:
        reported["config"] = config
    return reported


SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"

LONGEST_SERVER = 2048
"""Characters of a server's address."""
_AUTHORITY = re.compile(r"(?:[^@\\]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
"""An optional name and password, a host, an optional port."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class CredentialsError(ValueError):
    """The configuration cannot be used. The message is for its author."""


@dataclass(frozen=True, slots=True)
class InlinePem:
    """PEM text from the configuration itself."""

    pem: bytes


@dataclass(frozen=True, slots=True)
class PemFile:
    """PEM text in a file, which may be replaced while the process runs."""

    path: str


Pem = InlinePem | PemFile


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server, and what proves its identity."""

    server: str
    # None is the system's own store, for servers with a public certificate.
    authority: Pem | None = None
    # The name to find in the certificate if it is not the host of `server`.
    server_name: str = ""
    verified: bool = True

    @property
    def encrypted(self) -> bool:
        return urlsplit(self.server).scheme == "https"


@dataclass(frozen=True, slots=True)
class StaticToken:
    token: str

    def __repr__(self) -> str:
        return "StaticToken(...)"


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token that another process keeps fresh."""

    path: str


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    certificate: Pem
    key: Pem


Bearer = StaticToken | TokenFile | ExecPlugin | None


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything needed to connect to one cluster. `cautions` must be shown to a person."""

    endpoint: Endpoint
    bearer: Bearer = None
    client: ClientCertificate | None = None
    namespace: str = ""
    cautions: tuple[str, ...] = ()


def in_cluster(host: str, port: str, directory: str = SERVICE_ACCOUNT_DIRECTORY) -> Connection:
    """The pod's own service account; the kubelet sets `host` and `port` in the environment."""
    if not host or not port:
        raise CredentialsError(
            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    bracketed = f"[{host}]" if ":" in host else host
    return Connection(
        Endpoint(f"https://{bracketed}:{port}", PemFile(f"{directory}/ca.crt")),
        TokenFile(f"{directory}/token"),
    )


def server_of(text: str) -> SplitResult:
    """The parts of a server's address. Raises CredentialsError if it is invalid."""
    if len(text) > LONGEST_SERVER or not (text.isascii() and text.isprintable()) or " " in text:
        raise CredentialsError(f"server {text[:100]!r} is not an http or https address")
    try:
        parts = urlsplit(text)
        _ = parts.port  # Reading the port validates it.
    except ValueError as error:
        raise CredentialsError(f"server {text!r} is not an http or https address: {error}") from error
    if parts.netloc and not _AUTHORITY.fullmatch(parts.netloc):
        raise CredentialsError(f"server {text!r} is not an http or https address")
    return parts


def checked(connection: Connection) -> Connection:
    """Add the cautions. Raises CredentialsError for a connection that would leak or cannot work."""
    endpoint = connection.endpoint
    parts = server_of(endpoint.server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CredentialsError(f"server {endpoint.server!r} is not an http or https address")
    if not endpoint.encrypted and parts.hostname not in _LOOPBACK:
        raise CredentialsError(
            f"server {endpoint.server!r} is not encrypted; an attacker on the network could steal and use the"
            " credentials"
        )
    if endpoint.verified:
        return connection
    caution = (
        f"insecure-skip-tls-verify is set: {endpoint.server} is not verified, "
        "and an attacker on the network can steal and use these credentials"
    )
    return replace(connection, cautions=(*connection.cautions, caution))
