"""Kubeconfig files: text in, one Connection out. Pure; the shell reads the files."""

import posixpath
from base64 import b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
from nodemend.kube.kubeconfig_wire import Cluster, Exec, KubeconfigFile, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """The text of one kubeconfig file and the path it was read from, which its relative paths start at."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """A context, and what it names. Relative paths start at the directories. No `user`: none is named."""

    cluster: Cluster
    cluster_directory: str
    user: User | None
    user_directory: str
    user_name: str
    namespace: str


def choose(sources: Sequence[Source], context: str = "") -> Connection:
    """The named context, or the current one. Of several files the first to name a thing wins.

    Raises CredentialsError, with a message for the person who wrote the file.
    """
    files = [(posixpath.dirname(source.path), _parse(source)) for source in sources]
    return connection_of(find_context(files, context))


def find_context(files: Sequence[tuple[str, KubeconfigFile]], context: str = "") -> Chosen:
    """The files with their directories. Raises CredentialsError where one names what none of them has."""
    wanted = context or next((file.current_context for _, file in files if file.current_context), "")
    if not wanted:
        raise CredentialsError("no context is named and no kubeconfig file has a current-context")
    contexts = ((name.name, name.context, "") for _, file in files for name in file.contexts or ())
    chosen, _ = _first(contexts, wanted, "context")
    clusters = (
        (name.name, name.cluster, directory) for directory, file in files for name in file.clusters or ()
    )
    cluster, cluster_directory = _first(clusters, chosen.cluster, f"cluster of context {wanted!r}")
    if not chosen.user:
        return Chosen(cluster, cluster_directory, None, "", "", chosen.namespace)
    users = ((name.name, name.user, directory) for directory, file in files for name in file.users or ())
    user, user_directory = _first(users, chosen.user, f"user of context {wanted!r}")
    return Chosen(cluster, cluster_directory, user, user_directory, chosen.user, chosen.namespace)


def connection_of(chosen: Chosen) -> Connection:
    """Raises CredentialsError for what we do not support, and for what would leak or cannot work."""
    cluster, user, directory = chosen.cluster, chosen.user, chosen.user_directory
    endpoint = _endpoint(cluster, chosen.cluster_directory)
    if user is None:
        return checked(Connection(endpoint, namespace=chosen.namespace))
    _refuse_unsupported(user, chosen.user_name)
    return checked(
        Connection(
            endpoint,
            _bearer(user, directory, cluster, endpoint),
            _client(user, directory, chosen.user_name),
            chosen.namespace,
        )
    )


def _parse(source: Source) -> KubeconfigFile:
    try:
        loaded = yaml.safe_load(source.text)
        return msgspec.convert({} if loaded is None else loaded, KubeconfigFile)
    except Exception as error:
        raise CredentialsError(f"{source.path} is not a kubeconfig: {error}") from error


def _first(named: Iterable[tuple[str, T, str]], wanted: str, what: str) -> tuple[T, str]:
    for name, value, directory in named:
        if name == wanted:
            return value, directory
    raise CredentialsError(f"no kubeconfig file has the {what}: {wanted!r}")


def _endpoint(cluster: Cluster, directory: str) -> Endpoint:
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


def _refuse_unsupported(user: User, name: str) -> None:
    unsupported = {
        "auth-provider (removed from Kubernetes in 1.26; use exec)": user.auth_provider is not None,
        "username (removed from Kubernetes in 1.19)": bool(user.username),
        "as (impersonation)": bool(user.as_),
    }
    for what, is_set in unsupported.items():
        if is_set:
            raise CredentialsError(f"user {name!r} has {what}, which is not supported")


def _client(user: User, directory: str, name: str) -> ClientCertificate | None:
    certificate = _pem(user.client_certificate_data, user.client_certificate, directory, "client-certificate")
    key = _pem(user.client_key_data, user.client_key, directory, "client-key")
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CredentialsError(f"user {name!r} has a client certificate without its key, or the reverse")
    return ClientCertificate(certificate, key)


def _bearer(user: User, directory: str, cluster: Cluster, endpoint: Endpoint) -> Bearer:
    """A file beats a token in the text, and either beats a plugin, as kubectl has it."""
    if user.token_file:
        return TokenFile(_absolute(user.token_file, directory))
    if user.token:
        return StaticToken(user.token)
    if user.exec_ is None:
        return None
    return _plugin(user.exec_, directory, cluster, endpoint)


def _plugin(spec: Exec, directory: str, cluster: Cluster, endpoint: Endpoint) -> ExecPlugin:
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


def _told(cluster: Cluster, endpoint: Endpoint) -> PluginCluster:
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
        except ValueError as error:  # Also for letters that are not ASCII.
            raise CredentialsError(f"{what}-data is not base64: {error}") from error
    return FromFile(_absolute(path, directory)) if path else None


def _absolute(path: str, directory: str) -> str:
    return posixpath.normpath(posixpath.join(directory, path))
