"""Kubeconfig files: text in, one Connection out. Pure; the shell reads the files."""

import posixpath
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import yaml

from nodemend.kube.credentials import (
    Bearer,
    ClientCertificate,
    Connection,
    CredentialsError,
    Endpoint,
    FromFile,
    Inline,
    Pem,
    StaticToken,
    TokenFile,
    checked,
)
from nodemend.kube.exec_plugin import GROUP, VERSIONS, ExecPlugin, PluginCluster

T = TypeVar("T")


class _Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[_Extension] | None = None


class _EnvironmentVariable(msgspec.Struct):
    name: str
    value: str


class _Exec(msgspec.Struct, rename="camel"):
    command: str = ""
    api_version: str = ""
    args: list[str] | None = None
    env: list[_EnvironmentVariable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _User(msgspec.Struct, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    as_: str = msgspec.field(name="as", default="")
    exec_: _Exec | None = msgspec.field(name="exec", default=None)
    auth_provider: Any = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: _User


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one kubeconfig file and the path it was read from, which its relative paths start at."""

    path: str
    text: str


def choose(sources: Sequence[Source], context: str = "") -> Connection:
    """The named context, or the current one. Of several files the first to name a thing wins.

    Raises CredentialsError, with a message for the person who wrote the file.
    """
    files = [(posixpath.dirname(source.path), _parse(source)) for source in sources]
    wanted = context or next((file.current_context for _, file in files if file.current_context), "")
    if not wanted:
        raise CredentialsError("no context is named and no kubeconfig file has a current-context")
    contexts = ((name.name, name.context, "") for _, file in files for name in file.contexts or ())
    chosen, _ = _first(contexts, wanted, "context")
    clusters = (
        (name.name, name.cluster, directory) for directory, file in files for name in file.clusters or ()
    )
    cluster, cluster_directory = _first(clusters, chosen.cluster, f"cluster of context {wanted!r}")
    endpoint = _endpoint(cluster, cluster_directory)
    if not chosen.user:
        return checked(Connection(endpoint, namespace=chosen.namespace))
    users = ((name.name, name.user, directory) for directory, file in files for name in file.users or ())
    user, user_directory = _first(users, chosen.user, f"user of context {wanted!r}")
    _refuse_unsupported(user, chosen.user)
    return checked(
        Connection(
            endpoint,
            _bearer(user, user_directory, cluster, endpoint),
            _client(user, user_directory, chosen.user),
            chosen.namespace,
        )
    )


def _parse(source: Source) -> _File:
    try:
        loaded = yaml.safe_load(source.text)
        return msgspec.convert({} if loaded is None else loaded, _File)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise CredentialsError(f"{source.path} is not a kubeconfig: {error}") from error


def _first(named: Iterable[tuple[str, T, str]], wanted: str, what: str) -> tuple[T, str]:
    for name, value, directory in named:
        if name == wanted:
            return value, directory
    raise CredentialsError(f"no kubeconfig file has the {what}: {wanted!r}")


def _endpoint(cluster: _Cluster, directory: str) -> Endpoint:
    if cluster.proxy_url:
        raise CredentialsError(f"proxy-url {cluster.proxy_url!r} is not supported")
    authority = _pem(
        cluster.certificate_authority_data, cluster.certificate_authority, directory, "certificate-authority"
    )
    if cluster.insecure_skip_tls_verify and authority is not None:
        raise CredentialsError("insecure-skip-tls-verify and a certificate-authority contradict each other")
    return Endpoint(
        cluster.server.rstrip("/"), authority, cluster.tls_server_name, not cluster.insecure_skip_tls_verify
    )


def _refuse_unsupported(user: _User, name: str) -> None:
    unsupported = {
        "auth-provider (removed from Kubernetes in 1.26; use exec)": user.auth_provider is not None,
        "username (removed from Kubernetes in 1.19)": bool(user.username),
        "as (impersonation)": bool(user.as_),
    }
    for what, is_set in unsupported.items():
        if is_set:
            raise CredentialsError(f"user {name!r} has {what}, which is not supported")


def _client(user: _User, directory: str, name: str) -> ClientCertificate | None:
    certificate = _pem(user.client_certificate_data, user.client_certificate, directory, "client-certificate")
    key = _pem(user.client_key_data, user.client_key, directory, "client-key")
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CredentialsError(f"user {name!r} has a client certificate without its key, or the reverse")
    return ClientCertificate(certificate, key)


def _bearer(user: _User, directory: str, cluster: _Cluster, endpoint: Endpoint) -> Bearer:
    """A file beats a token in the text, and either beats a plugin, as kubectl has it."""
    if user.token_file:
        return TokenFile(_absolute(user.token_file, directory))
    if user.token:
        return StaticToken(user.token)
    if user.exec_ is None:
        return None
    return _plugin(user.exec_, directory, cluster, endpoint)


def _plugin(spec: _Exec, directory: str, cluster: _Cluster, endpoint: Endpoint) -> ExecPlugin:
    if not spec.command:
        raise CredentialsError("the exec plugin has no command")
    if spec.api_version not in VERSIONS:
        known = " or ".join(VERSIONS)
        raise CredentialsError(f"exec plugin {spec.command!r} wants {spec.api_version!r}; we speak {known}")
    if spec.interactive_mode == "Always":
        raise CredentialsError(f"exec plugin {spec.command!r} wants a terminal, and we have none to give")
    return ExecPlugin(
        api_version=spec.api_version,
        # A bare name is found on the PATH; anything with a slash is a file, from where the kubeconfig is.
        command=_absolute(spec.command, directory) if "/" in spec.command else spec.command,
        arguments=tuple(spec.args or ()),
        environment=tuple((variable.name, variable.value) for variable in spec.env or ()),
        install_hint=spec.install_hint,
        cluster=_told(cluster, endpoint) if spec.provide_cluster_info else None,
    )


def _told(cluster: _Cluster, endpoint: Endpoint) -> PluginCluster:
    extension = next(
        (entry.extension for entry in cluster.extensions or () if entry.name == f"{GROUP}/exec"), None
    )
    config = None if extension is None else msgspec.Raw(msgspec.json.encode(extension))
    return PluginCluster(endpoint.server, endpoint.server_name, endpoint.verified, config)


def _pem(data: str, path: str, directory: str, what: str) -> Pem | None:
    """Text in the configuration beats a file, as kubectl has it."""
    if data:
        try:
            return Inline(b64decode(data, validate=True))
        except Base64Error as error:
            raise CredentialsError(f"{what}-data is not base64: {error}") from error
    return FromFile(_absolute(path, directory)) if path else None


def _absolute(path: str, directory: str) -> str:
    return posixpath.normpath(posixpath.join(directory, path))
