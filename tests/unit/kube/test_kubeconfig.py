"""Kubeconfig files as users and tools write them."""

import base64
from textwrap import dedent

import pytest

from nodemend.kube.credentials import (
    ClientCertificate,
    Connection,
    CredentialsError,
    Endpoint,
    ExecPlugin,
    InlinePem,
    PemFile,
    StaticToken,
    TokenFile,
)
from nodemend.kube.kubeconfig import KubeconfigSource, choose

_PEM = base64.b64encode(b"PEM").decode()


def _config(
    user: str = "{token: t}", cluster: str = '{server: "https://c"}', context: str = ""
) -> KubeconfigSource:
    text = f"""
        apiVersion: v1
        kind: Config
        clusters: [{{name: c, cluster: {cluster}}}]
        users: [{{name: u, user: {user}}}]
        contexts: [{{name: x, context: {{cluster: c, user: u{context}}}}}]
        current-context: x
    """
    return KubeconfigSource("/home/me/.kube/config", dedent(text))


def _choose(
    user: str = "{token: t}", cluster: str = '{server: "https://c"}', context: str = ""
) -> Connection:
    return choose([_config(user, cluster, context)])


def test_the_current_context_names_cluster_user_and_namespace() -> None:
    connection = _choose(context=", namespace: ns")

    assert connection == Connection(Endpoint("https://c"), StaticToken("t"), namespace="ns")


def test_data_beats_a_file_and_a_file_is_found_beside_the_kubeconfig() -> None:
    with_data = _choose(cluster=f"{{server: 'https://c', certificate-authority-data: {_PEM}}}")
    with_file = _choose(cluster="{server: 'https://c', certificate-authority: pki/ca.crt}")
    with_both = _choose(
        cluster=f"{{server: 'https://c', certificate-authority: f, certificate-authority-data: {_PEM}}}"
    )

    assert with_data.endpoint.authority == with_both.endpoint.authority == InlinePem(b"PEM")
    assert with_file.endpoint.authority == PemFile("/home/me/.kube/pki/ca.crt")


def test_a_client_certificate_is_data_or_files() -> None:
    connection = _choose(user=f"{{client-certificate-data: {_PEM}, client-key: /abs/key}}")

    assert connection.client == ClientCertificate(InlinePem(b"PEM"), PemFile("/abs/key"))
    assert connection.bearer is None


def test_a_token_file_beats_a_token_and_a_token_beats_a_plugin() -> None:
    plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: p}"

    assert _choose(user=f"{{tokenFile: tok, token: t, {plugin}}}").bearer == TokenFile("/home/me/.kube/tok")
    assert _choose(user=f"{{token: t, {plugin}}}").bearer == StaticToken("t")


def test_a_plugin_is_read_whole() -> None:
    user = """{exec: {
        apiVersion: client.authentication.k8s.io/v1beta1, command: bin/login, args: [a, b],
        env: [{name: K, value: V}], installHint: "get it", interactiveMode: IfAvailable,
        provideClusterInfo: true}}
    """
    cluster = """{server: "https://c", tls-server-name: s,
        extensions: [{name: client.authentication.k8s.io/exec, extension: {region: north}}]}"""

    connection = _choose(user, cluster)
    plugin = connection.bearer

    assert isinstance(plugin, ExecPlugin)
    assert plugin.command == "/home/me/.kube/bin/login"
    assert (plugin.arguments, plugin.environment, plugin.install_hint) == (
        ("a", "b"),
        (("K", "V"),),
        "get it",
    )
    assert plugin.provide_cluster_info
    assert (connection.endpoint.server, connection.endpoint.server_name) == ("https://c", "s")
    assert plugin.cluster_config is not None
    assert bytes(plugin.cluster_config) == b'{"region":"north"}'


def test_a_bare_command_is_left_to_the_path() -> None:
    plugin = _choose("{exec: {apiVersion: client.authentication.k8s.io/v1, command: login}}").bearer

    assert isinstance(plugin, ExecPlugin)
    assert plugin.command == "login"
    assert not plugin.provide_cluster_info


def test_of_several_files_the_first_to_name_a_thing_wins() -> None:
    first = KubeconfigSource("/a/config", "current-context: y\nusers: [{name: u, user: {token: first}}]")
    second = _config()
    third = KubeconfigSource(
        "/b/config",
        "current-context: z\n"
        "contexts: [{name: y, context: {cluster: other, user: u}}]\n"
        "clusters: [{name: other, cluster: {server: 'https://o', certificate-authority: ca}}]\n",
    )

    assert choose([first, second, third]) == Connection(
        Endpoint("https://o", PemFile("/b/ca")), StaticToken("first")
    )
    assert choose([first, second, third], "x").endpoint.server == "https://c"


def test_an_unverified_cluster_comes_with_a_caution() -> None:
    connection = _choose(cluster="{server: 'https://c', insecure-skip-tls-verify: true}")

    assert not connection.endpoint.verified
    assert len(connection.cautions) == 1


def test_a_context_without_a_user_is_anonymous() -> None:
    text = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
    connection = choose([KubeconfigSource("/a", text), _config()])

    assert (connection.bearer, connection.client) == (None, None)


@pytest.mark.parametrize(
    ("user", "cluster", "why"),
    [
        ("{auth-provider: {name: gcp}}", "{server: 'https://c'}", "auth-provider"),
        ("{username: me, password: pw}", "{server: 'https://c'}", "username"),
        ("{token: t, as: root}", "{server: 'https://c'}", "impersonation"),
        ("{client-key: k}", "{server: 'https://c'}", "without its key, or the reverse"),
        ("{client-key-data: '!', client-certificate: c}", "{server: 'https://c'}", "not base64"),
        ("{token: 5}", "{server: 'https://c'}", "token"),
        ("{token: t}", "{server: 'https://c', proxy-url: 'http://p'}", "proxy-url"),
        ("{token: t}", "{server: 'http://far'}", "not encrypted"),
        ("{token: t}", "{server: c, certificate-authority: a, insecure-skip-tls-verify: true}", "contradict"),
        (
            "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: p}}",
            "{server: c}",
            "v1alpha1",
        ),
        ("{exec: {apiVersion: client.authentication.k8s.io/v1}}", "{server: c}", "no command"),
        (
            "{exec: {apiVersion: client.authentication.k8s.io/v1, command: p, interactiveMode: Always}}",
            "{server: c}",
            "terminal",
        ),
    ],
)
def test_an_unusable_kubeconfig_is_refused_with_a_reason(user: str, cluster: str, why: str) -> None:
    with pytest.raises(CredentialsError, match=why):
        _choose(user, cluster)


@pytest.mark.parametrize(
    ("text", "context", "why"),
    [
        ("{", "", "/f is not a kubeconfig"),
        ("[]", "", "/f is not a kubeconfig"),
        ("", "", "no context is named"),
        ("current-context: x", "", "context: 'x'"),
        ("contexts: [{name: x, context: {cluster: c}}]", "x", "cluster of context 'x': 'c'"),
        (
            "{contexts: [{name: x, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {}}]}",
            "x",
            "user of context 'x': 'u'",
        ),
    ],
)
def test_a_missing_part_is_named(text: str, context: str, why: str) -> None:
    with pytest.raises(CredentialsError, match=why):
        choose([KubeconfigSource("/f", text)], context)
