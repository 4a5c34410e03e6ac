"""Turns the text of kubeconfig files into one Connection. Pure; credentials_io reads the files.

Unknown fields are skipped.

A foreign kubeconfig, such as one in a Secret, is restricted further. Its author must not be able to run
programs as Nodemend, read its files, route it through a proxy, or crash it. So only values in the text itself
are used, and only if the text is plain.
"""

import posixpath
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
import yaml

from nodemend.kube.credentials import (
    GROUP,
    VERSIONS,
    Bearer,
    ClientCertificate,
    Connection,
    CredentialsError,
    Endpoint,
    ExecPlugin,
    InlinePem,
    Pem,
    PemFile,
    StaticToken,
    TokenFile,
    checked,
    server_of,
)
from nodemend.kube.outcome import unreadable_because


class Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class KubeconfigCluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[Extension] | None = None


class EnvironmentVariable(msgspec.Struct):
    name: str
    value: str


class Exec(msgspec.Struct, rename="camel"):
    command: str = ""
    api_version: str = ""
    args: list[str] | None = None
    env: list[EnvironmentVariable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class KubeconfigUser(msgspec.Struct, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    as_: str = msgspec.field(name="as", default="")
    exec_: Exec | None = msgspec.field(name="exec", default=None)
    auth_provider: Any = None


class KubeconfigContext(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct):
    name: str
    cluster: KubeconfigCluster


class NamedUser(msgspec.Struct):
    name: str
    user: KubeconfigUser


class NamedContext(msgspec.Struct):
    name: str
    context: KubeconfigContext


class KubeconfigFile(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class KubeconfigSource:
    """The text of one kubeconfig file and its path, to which its relative paths refer."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class SelectedContext:
    """A context and what it names. Relative paths start at the directories. `user` may be empty."""

    cluster: KubeconfigCluster
    cluster_directory: str
    user: KubeconfigUser
    user_directory: str
    user_name: str
    namespace: str


def choose(sources: Sequence[KubeconfigSource], context: str = "") -> Connection:
    """The connection of the named or current context. If several files define a name, the first wins.

    Raises CredentialsError with a message for the author of the file.
    """
    files = [(posixpath.dirname(source.path), _parse(source)) for source in sources]
    return connection_of(find_context(files, context))


def find_context(files: Sequence[tuple[str, KubeconfigFile]], context: str = "") -> SelectedContext:
    """`files` have their directories. Raises CredentialsError for a name that no file defines."""
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
        return SelectedContext(cluster, cluster_directory, KubeconfigUser(), "", "", chosen.namespace)
    users = ((name.name, name.user, directory) for directory, file in files for name in file.users or ())
    user, user_directory = _first(users, chosen.user, f"user of context {wanted!r}")
    return SelectedContext(cluster, cluster_directory, user, user_directory, chosen.user, chosen.namespace)


def connection_of(chosen: SelectedContext) -> Connection:
    """Raises CredentialsError for unsupported settings, and for those that would leak or cannot work."""
    cluster, user, directory = chosen.cluster, chosen.user, chosen.user_directory
    endpoint = _endpoint(cluster, chosen.cluster_directory)
    _refuse_unsupported(user, chosen.user_name)
    return checked(
        Connection(
            endpoint,
            _bearer(user, directory, cluster),
            _client(user, directory, chosen.user_name),
            chosen.namespace,
        )
    )


def _parse(source: KubeconfigSource) -> KubeconfigFile:
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


def _endpoint(cluster: KubeconfigCluster, directory: str) -> Endpoint:
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


def _refuse_unsupported(user: KubeconfigUser, name: str) -> None:
    unsupported = {
        "auth-provider (removed from Kubernetes in 1.26; use exec)": user.auth_provider is not None,
        "username (removed from Kubernetes in 1.19)": bool(user.username),
        "as (impersonation)": bool(user.as_),
    }
    for what, is_set in unsupported.items():
        if is_set:
            raise CredentialsError(f"user {name!r} has {what}, which is not supported")


def _client(user: KubeconfigUser, directory: str, name: str) -> ClientCertificate | None:
    certificate = _pem(user.client_certificate_data, user.client_certificate, directory, "client-certificate")
    key = _pem(user.client_key_data, user.client_key, directory, "client-key")
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise CredentialsError(f"user {name!r} has a client certificate without its key, or the reverse")
    return ClientCertificate(certificate, key)


def _bearer(user: KubeconfigUser, directory: str, cluster: KubeconfigCluster) -> Bearer:
    """A token file wins over an inline token, and either wins over a plugin, as in kubectl."""
    if user.token_file:
        return TokenFile(_absolute(user.token_file, directory))
    if user.token:
        return StaticToken(user.token)
    if user.exec_ is None:
        return None
    return _plugin(user.exec_, directory, cluster)


def _plugin(spec: Exec, directory: str, cluster: KubeconfigCluster) -> ExecPlugin:
    if not spec.command:
        raise CredentialsError("the exec plugin has no command")
    if spec.api_version not in VERSIONS:
        known = " or ".join(VERSIONS)
        raise CredentialsError(f"exec plugin {spec.command!r} wants {spec.api_version!r}; supported: {known}")
    if spec.interactive_mode == "Always":
        raise CredentialsError(f"exec plugin {spec.command!r} wants a terminal, and a controller has none")
    return ExecPlugin(
        api_version=spec.api_version,
        # A bare name is found on the PATH; a name with a slash is a file, relative to the kubeconfig.
        command=_absolute(spec.command, directory) if "/" in spec.command else spec.command,
        arguments=tuple(spec.args or ()),
        environment=tuple((variable.name, variable.value) for variable in spec.env or ()),
        install_hint=spec.install_hint,
        provide_cluster_info=spec.provide_cluster_info,
        cluster_config=_plugin_config(cluster) if spec.provide_cluster_info else None,
    )


def _plugin_config(cluster: KubeconfigCluster) -> msgspec.Raw | None:
    extension = next(
        (entry.extension for entry in cluster.extensions or () if entry.name == f"{GROUP}/exec"), None
    )
    return None if extension is None else msgspec.Raw(msgspec.json.encode(extension))


def _pem(data: str, path: str, directory: str, what: str) -> Pem | None:
    """Inline data wins over a file, as in kubectl."""
    if data:
        try:
            return InlinePem(b64decode(data, validate=True))
        except ValueError as error:  # Also for non-ASCII characters.
            raise CredentialsError(f"{what}-data is not base64: {error}") from error
    return PemFile(_absolute(path, directory)) if path else None


def _absolute(path: str, directory: str) -> str:
    return posixpath.normpath(posixpath.join(directory, path))


LONGEST: Final = 100_000
"""Characters. Cluster API writes 6,000; some have bundles of authorities."""
DEEPEST: Final = 16

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_foreign_kubeconfig(text: str) -> Connection:
    """Its current context. Raises CredentialsError, whose message repeats only names and addresses."""
    try:
        file = msgspec.convert(_load(text) or {}, KubeconfigFile)
    except msgspec.ValidationError as error:
        raise CredentialsError(f"it is no kubeconfig: {unreadable_because(error)}") from error
    chosen = find_context([("", file)])
    for what, is_said in _refused(chosen).items():
        if is_said:
            raise CredentialsError(f"it {what}, which is refused in a kubeconfig of others")
    return connection_of(chosen)


def _refused(chosen: SelectedContext) -> Mapping[str, bool]:
    cluster, user = chosen.cluster, chosen.user
    server = server_of(cluster.server)
    return {
        "names a program to run (exec)": user.exec_ is not None,
        "names a program to run (auth-provider)": user.auth_provider is not None,
        "names files": bool(
            cluster.certificate_authority or user.client_certificate or user.client_key or user.token_file
        ),
        "names a proxy": bool(cluster.proxy_url),
        # An attacker on the network path could report that nodes are dead.
        "skips the verification of its server (insecure-skip-tls-verify)": cluster.insecure_skip_tls_verify,
        "has a server without encryption": server.scheme != "https",
        "has a password in the address of its server": "@" in server.netloc,
    }


def _load(text: str) -> object:
    """Parse a YAML text. Refuse one that is long, deep or repetitive: it costs more than it is worth.

    A deep text has a second risk: the C library that reads it has a separate stack.
    """
    if len(text) > LONGEST:
        raise CredentialsError(f"it is longer than {LONGEST} characters")
    try:
        _refuse_unplain(text)
        return yaml.load(text, _LOADER)  # noqa: S506 - one of the safe loaders
    # The loader raises a plain ValueError for an invalid number or date.
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, CredentialsError):
            raise
        # The message of the error would show the text.
        raise CredentialsError("it is no YAML") from None


def _refuse_unplain(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, _LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise CredentialsError("it repeats itself by aliases")
        if getattr(event, "tag", None) is not None:
            # A tag requests a type, and the errors of its constructor for text of another form are not
            # documented.
            raise CredentialsError("it has a YAML tag, which no kubeconfig needs")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise CredentialsError(f"it is nested deeper than {DEEPEST}")
