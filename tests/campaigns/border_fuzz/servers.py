"""Input from API servers, other clusters and kubeconfigs."""

import json
from collections.abc import Callable
from typing import Final

import msgspec
import yaml
from yarl import URL

from nodemend.api.upstream_types import Lease
from nodemend.cli.simulate.input import DocumentsError, read_documents
from nodemend.kube.credentials import Connection, CredentialsError
from nodemend.kube.http_transport import read_http_date, read_retry_after
from nodemend.kube.kubeconfig import KubeconfigSource, choose, read_foreign_kubeconfig
from nodemend.kube.leader_election import understand
from nodemend.kube.outcome import (
    LONGEST_MESSAGE,
    ApiResponse,
    LeaseFailed,
    Ok,
    read_outcome,
    read_status,
    write_outcome,
)
from nodemend.kube.reflector import (
    CloseStream,
    OpenStream,
    ReadStream,
    Reflector,
    SendPage,
    Sleep,
    StreamOpened,
)
from nodemend.records.node import (
    LONGEST_LABELS,
    LONGEST_TEXT,
    MOST_CONDITIONS,
    MOST_LABELS,
    NodeRecord,
    NodeWire,
    foreign_nodes,
    node_records,
)
from tests.campaigns.peer_fuzz import seeds
from tests.campaigns.peer_fuzz.targets import Target, wants

_DAY: Final = 86400.0
_KUBECONFIG: Final = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
    "clusters": [
        {"name": "k", "cluster": {"server": "https://192.0.2.1:6443", "certificate-authority-data": "UEVN"}}
    ],
    "users": [{"name": "u", "user": {"token": "abc"}}],
}
KUBECONFIGS: Final = (json.dumps(_KUBECONFIG).encode(), yaml.safe_dump(_KUBECONFIG).encode())
NODE: Final = {
    "metadata": {
        "name": "n1",
        "uid": "u1",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"kubernetes.io/hostname": "n1", "zone": "a"},
        "annotations": {"nodemend.io/exclude": "true"},
    },
    "spec": {"providerID": "metal3://a/b/c", "taints": [{"key": "k", "effect": "NoSchedule", "value": "v"}]},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "r", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        ],
        "nodeInfo": {"bootID": seeds.BOOT_ID, "systemUUID": "3b0c54a8-7c9e-4a3f-8f7b-0a4d8f7f5e11"},
    },
}
_PAGE: Final = {"metadata": {"resourceVersion": "9", "continue": ""}, "items": [NODE]}
PAGES: Final = tuple(
    json.dumps(one, separators=(",", ":")).encode()
    for one in (_PAGE, {**_PAGE, "metadata": {"resourceVersion": "9", "continue": "more"}})
)
LINES: Final = tuple(
    json.dumps({"type": kind, "object": about}).encode() + b"\n"
    for kind, about in (
        ("ADDED", NODE),
        ("MODIFIED", NODE),
        ("DELETED", NODE),
        ("BOOKMARK", {"metadata": {"resourceVersion": "10"}}),
        ("ERROR", {"code": 410, "reason": "Expired", "message": "too old"}),
    )
)
_FAILURE: Final = {
    "kind": "Status",
    "code": 429,
    "reason": "TooManyRequests",
    "message": "slow down",
    "details": {"retryAfterSeconds": 3, "causes": [{"reason": "x"}]},
}
DATES: Final = (b"Sun, 06 Nov 1994 08:49:37 GMT", b"120", b"Tue, 31 Dec 9999 23:59:59 GMT")


def foreign_kubeconfig(data: bytes) -> str:
    return _connected(lambda: read_foreign_kubeconfig(data.decode("utf-8", "replace")), foreign=True)


def own_kubeconfig(data: bytes) -> str:
    """A user's own file may take time: long and deep ones are skipped."""
    if len(data) > 20_000 or data.count(b"[") + data.count(b"{") > 200:
        return "refused"
    source = KubeconfigSource("/home/anna/.kube/config", data.decode("utf-8", "replace"))
    return _connected(lambda: choose([source]), foreign=False)


def _connected(read: Callable[[], Connection], *, foreign: bool) -> str:
    try:
        connection = read()
    except CredentialsError:
        return "refused"
    url = URL(f"{connection.endpoint.server}/api/v1/nodes", encoded=True)
    wants(url.host and len(connection.endpoint.server) <= 2048, "a server without a host or an end")
    if foreign:
        wants(url.scheme == "https" and url.user is None, "another way than TLS")
    return "accepted"


def headers(data: bytes) -> str:
    text = data.decode("latin-1")
    moment = read_http_date(text)
    wants(moment is None or 0 <= moment <= 253402300799, "a moment out of range")
    waits = [read_retry_after(text, now) for now in (None, 0.0, 253402300799.0)]
    wants(all(wait is None or 0 <= wait <= _DAY for wait in waits), "a wait without end")
    return "refused" if moment is None and waits == [None] * 3 else "accepted"


def reply(data: bytes) -> str:
    """A reply to a read, to a write and to an election, with every class of status."""
    outcomes = []
    for status in (200, 201, 404, 409, 410, 429, 500):
        answer = ApiResponse(status, data)
        read, written = read_outcome(answer, Lease), write_outcome(answer, Lease)
        outcomes.append(isinstance(read, Ok))
        for said in (read, written):
            wants(len(getattr(said, "message", "")) <= LONGEST_MESSAGE, "a message without a bound")
            wait = getattr(said, "retry_after", None)
            wants(wait is None or 0 <= wait <= _DAY, "a wait without end")
        news = understand(answer)
        wants(not isinstance(news, LeaseFailed) or 0 <= news.retry_after <= _DAY, "a patience without end")
    reported = read_status(data)
    wants(len(reported.message) <= LONGEST_MESSAGE, "a message without a bound")
    return "accepted" if any(outcomes) else "refused"


def list_page(data: bytes) -> str:
    """A page of another cluster's Nodes."""
    reflector = Reflector(foreign_nodes(node_records(("nodemend.io/exclude",))), chance=lambda: 0.5)
    reflector.start(0.0)
    command = reflector.step(ApiResponse(200, data), 1.0).command
    wants(isinstance(command, SendPage | OpenStream | Sleep), f"{type(command).__name__} after a page")
    if isinstance(command, SendPage):
        wants(len(command.request.target) <= 70_000 * 4, "a request without an end")
        reflector.catch_up()
        command = reflector.step(ApiResponse(200, PAGES[0]), 2.0).command
        wants(isinstance(command, SendPage | OpenStream | Sleep), f"{type(command).__name__} after two pages")
    return _bounded(reflector)


def watch_lines(data: bytes) -> str:
    """A chunk of another cluster's watch, cut anywhere."""
    reflector = Reflector(foreign_nodes(node_records()), chance=lambda: 0.5)
    reflector.start(0.0)
    reflector.step(ApiResponse(200, PAGES[0]), 1.0)
    reflector.step(StreamOpened(), 1.0)
    middle = len(data) // 2
    for piece in (data[:middle], data[middle:] + b"\n"):
        if piece:
            command = reflector.step(piece, 2.0).command
            wants(isinstance(command, ReadStream | CloseStream), f"{type(command).__name__} after a line")
            if isinstance(command, CloseStream):
                return "refused"
    return _bounded(reflector)


def _bounded(reflector: Reflector[NodeWire, NodeRecord]) -> str:
    for record in reflector.cache.all():
        wants(len(record.name) <= 253 and len(record.uid) <= 63, "a name without a bound")
        wants(len(record.label_keys) <= MOST_LABELS, "labels without number")
        wants(sum(map(len, record.label_keys + record.label_values)) <= LONGEST_LABELS, "labels without end")
        wants(len(record.conditions) <= MOST_CONDITIONS, "conditions without number")
        wants(all(len(one.type) <= LONGEST_TEXT for one in record.conditions), "a condition without end")
        wants(len(record.boot_id) <= 128 and len(record.provider_id) <= LONGEST_TEXT, "an ID without end")
        msgspec.json.encode(record)
    return "accepted" if len(reflector.cache) and not reflector.unreadable else "refused"


def documents(data: bytes) -> str:
    """A file for `kubectl mend simulate`."""
    try:
        return "accepted" if read_documents(data) else "refused"
    except DocumentsError:
        return "refused"


_YAML: Final = ("turned", "rewritten", "yaml_tail")
BORDERS: Final = (
    Target("foreign kubeconfig", KUBECONFIGS, foreign_kubeconfig, ways=_YAML),
    Target("own kubeconfig", KUBECONFIGS, own_kubeconfig, ways=_YAML),
    Target("Date and Retry-After", DATES, headers, ways=("turned", "plain_text")),
    Target("reply", (*seeds.LEASES, json.dumps(_FAILURE).encode()), reply),
    Target("page of Nodes", PAGES, list_page),
    Target("watch lines", LINES, watch_lines, ways=("turned", "rewritten", "lines")),
    Target(
        "snapshot file", (*PAGES, yaml.safe_dump({"kind": "Node", **NODE}).encode()), documents, ways=_YAML
    ),
)
