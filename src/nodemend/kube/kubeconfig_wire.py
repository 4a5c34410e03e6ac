"""A kubeconfig as it is written. What we do not know of it is skipped."""

from typing import Any

import msgspec


class Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class Cluster(msgspec.Struct, rename="kebab"):
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


class User(msgspec.Struct, rename="kebab"):
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


class Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct):
    name: str
    cluster: Cluster


class NamedUser(msgspec.Struct):
    name: str
    user: User


class NamedContext(msgspec.Struct):
    name: str
    context: Context


class KubeconfigFile(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
