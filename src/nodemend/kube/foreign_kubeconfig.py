"""A kubeconfig that somebody else wrote, such as one in a Secret: text in, one Connection out.

Whoever may write such a text must not thereby run programs as us, read our files, send us through a proxy,
or bring us down. So only what stands in the text itself is taken, and only from a text that is plain.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from nodemend.kube.credentials import Connection, CredentialsError, server_of
from nodemend.kube.json_decoding import unreadable_because
from nodemend.kube.kubeconfig import Chosen, connection_of, find_context
from nodemend.kube.kubeconfig_wire import KubeconfigFile, User

LONGEST: Final = 100_000
"""Characters. Cluster API writes 6,000; some have bundles of authorities."""
DEEPEST: Final = 16

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_foreign_kubeconfig(text: str) -> Connection:
    """Its current context. Raises CredentialsError; what it says repeats no more than names and addresses."""
    try:
        file = msgspec.convert(_load(text) or {}, KubeconfigFile)
    except msgspec.ValidationError as error:
        raise CredentialsError(f"it is no kubeconfig: {unreadable_because(error)}") from error
    chosen = find_context([("", file)])
    for what, is_said in _refused(chosen).items():
        if is_said:
            raise CredentialsError(f"it {what}, which is refused in a kubeconfig of others")
    return connection_of(chosen)


def _refused(chosen: Chosen) -> Mapping[str, bool]:
    cluster, user = chosen.cluster, chosen.user or User()
    server = server_of(cluster.server)
    return {
        "names a program to run (exec)": user.exec_ is not None,
        "names a program to run (auth-provider)": user.auth_provider is not None,
        "names files": bool(
            cluster.certificate_authority or user.client_certificate or user.client_key or user.token_file
        ),
        "names a proxy": bool(cluster.proxy_url),
        # Whoever is on the way could tell us that nodes are dead.
        "skips the verification of its server (insecure-skip-tls-verify)": cluster.insecure_skip_tls_verify,
        "has a server without encryption": server.scheme != "https",
        "has a password in the address of its server": "@" in server.netloc,
    }


def _load(text: str) -> object:
    """What a YAML text says. One that is long, deep or repeats itself costs more to read than it is worth.

    Deep ones do worse: the C library that reads them has a stack of its own.
    """
    if len(text) > LONGEST:
        raise CredentialsError(f"it is longer than {LONGEST} characters")
    try:
        _refuse_unplain(text)
        return yaml.load(text, _LOADER)  # noqa: S506 - one of the safe loaders
    # A number or a date that is none is a plain ValueError there.
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
            # A tag asks for a type: what its constructor raises for a text of another form is not documented.
            raise CredentialsError("it has a YAML tag, which no kubeconfig needs")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise CredentialsError(f"it is nested deeper than {DEEPEST}")
