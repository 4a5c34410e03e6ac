"""Credential plugins (client.authentication.k8s.io): what they are given, what they give back. Pure."""

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime

import msgspec

from nodemend.kube.json_decoding import UNREADABLE, decoder_of

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")


@dataclass(frozen=True, slots=True)
class PluginCluster:
    """What a plugin that asked is told of the cluster. `config` is its own extension in the kubeconfig."""

    server: str
    server_name: str
    verified: bool
    config: msgspec.Raw | None


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A command that prints a credential. `cluster` is None when it did not ask."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    install_hint: str = ""
    cluster: PluginCluster | None = None


@dataclass(frozen=True, slots=True)
class PluginCredential:
    """What a plugin gave: a token, a client certificate, or both. No `expires` is until it is rejected."""

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
    """The credential in a plugin's standard output. The output itself is never repeated: it is a secret."""
    try:
        said = decoder_of(_ExecCredential).decode(output)
    except UNREADABLE as error:
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


def written_input(plugin: ExecPlugin, authority: bytes) -> str:
    """The value of KUBERNETES_EXEC_INFO. We have no terminal to offer, and say so."""
    spec: dict[str, object] = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = _told(plugin.cluster, authority)
    body = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(body).decode()


def _told(cluster: PluginCluster, authority: bytes) -> dict[str, object]:
    told: dict[str, object] = {"server": cluster.server}
    if cluster.server_name:
        told["tls-server-name"] = cluster.server_name
    if authority:
        told["certificate-authority-data"] = b64encode(authority).decode()
    if not cluster.verified:
        told["insecure-skip-tls-verify"] = True
    if cluster.config is not None:
        told["config"] = cluster.config
    return told
