"""Where an API server is, how we know it, and how it knows us. Values only; nothing here reads a file."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from nodemend.kube.exec_plugin import ExecPlugin

SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"

LONGEST_SERVER = 2048
"""Characters of an address."""
_AUTHORITY = re.compile(r"(?:[^@\\]*@)?(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
"""Perhaps a name and a password, a host, perhaps a port."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class CredentialsError(ValueError):
    """The configuration cannot be used as it stands. The message is for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class Inline:
    """PEM text that stood in the configuration itself."""

    pem: bytes


@dataclass(frozen=True, slots=True)
class FromFile:
    """PEM text in a file, which may be replaced while we run."""

    path: str


Pem = Inline | FromFile


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The server, and what proves that it is the one we mean."""

    server: str
    # None is the system's own store, for servers with a public certificate.
    authority: Pem | None = None
    # The name to find in the certificate where it is not the host of `server`.
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
    """A token that somebody else keeps fresh."""

    path: str


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    certificate: Pem
    key: Pem


Bearer = StaticToken | TokenFile | ExecPlugin | None


@dataclass(frozen=True, slots=True)
class Connection:
    """All that is needed to speak to one cluster. `cautions` must be shown to a person, not swallowed."""

    endpoint: Endpoint
    bearer: Bearer = None
    client: ClientCertificate | None = None
    namespace: str = ""
    cautions: tuple[str, ...] = ()


def in_cluster(host: str, port: str, directory: str = SERVICE_ACCOUNT_DIRECTORY) -> Connection:
    """The pod's own service account; `host` and `port` as the kubelet put them in the environment."""
    if not host or not port:
        raise CredentialsError(
            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    bracketed = f"[{host}]" if ":" in host else host
    return Connection(
        Endpoint(f"https://{bracketed}:{port}", FromFile(f"{directory}/ca.crt")),
        TokenFile(f"{directory}/token"),
    )


def server_of(text: str) -> SplitResult:
    """The parts of a server's address. Raises CredentialsError for one that is none."""
    if len(text) > LONGEST_SERVER or not (text.isascii() and text.isprintable()) or " " in text:
        raise CredentialsError(f"server {text[:100]!r} is not an http or https address")
    try:
        parts = urlsplit(text)
        _ = parts.port  # Only asking for it tells whether it is one.
    except ValueError as error:
        raise CredentialsError(f"server {text!r} is not an http or https address: {error}") from error
    if parts.netloc and not _AUTHORITY.fullmatch(parts.netloc):
        raise CredentialsError(f"server {text!r} is not an http or https address")
    return parts


def checked(connection: Connection) -> Connection:
    """The connection with its cautions. Raises CredentialsError for one that would leak or cannot work."""
    endpoint = connection.endpoint
    parts = server_of(endpoint.server)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise CredentialsError(f"server {endpoint.server!r} is not an http or https address")
    if not endpoint.encrypted and parts.hostname not in _LOOPBACK:
        raise CredentialsError(
            f"server {endpoint.server!r} is not encrypted; anybody on the way could act as us"
        )
    if endpoint.verified:
        return connection
    caution = (
        f"insecure-skip-tls-verify is set: {endpoint.server} is not verified, "
        "and anybody on the way to it can act with these credentials"
    )
    return Connection(
        endpoint, connection.bearer, connection.client, connection.namespace, (*connection.cautions, caution)
    )
