"""A loopback API server with synthetic Nodes, as fast as one core can send them.

It serves the requests of each client's start (discovery, an empty list) and then the same watch to all: every
Node added, heartbeats of every Node, a last event. One HTTP chunk per event, as a kube-apiserver flushes
them.

`python -m bench.clients.node_server NODES CORE` prints its port.
"""

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from bench.clients.node_generator import HEARTBEATS, LAST, make_node, watch_line

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_DRAIN_ABOVE_BYTES = 1 << 20
_STALE_SECONDS = 600


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(body), body)


def make_stream(nodes: int) -> list[bytes]:
    """All lines of a watch: `nodes` added, HEARTBEATS of each, and one Node named LAST.

    A Node is added once and reports every five minutes: a real watch has few other events.
    """
    last = make_node(0, (HEARTBEATS + 2) * nodes)
    last["metadata"] |= {"name": LAST, "uid": LAST}
    return [
        *(_chunk(watch_line("ADDED", make_node(number, nodes + number))) for number in range(nodes)),
        *(
            _chunk(watch_line("MODIFIED", make_node(number, (beat + 1) * nodes + number, beat)))
            for beat in range(1, HEARTBEATS + 1)
            for number in range(nodes)
        ),
        _chunk(watch_line("ADDED", last)),
    ]


def _resources(group_version: str, *named: tuple[str, str, bool]) -> dict[str, Any]:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": [
            {
                "name": plural,
                "singularName": kind.lower(),
                "kind": kind,
                "namespaced": namespaced,
                "verbs": _VERBS,
            }
            for plural, kind, namespaced in named
        ],
    }


_EXTENSIONS = "apiextensions.k8s.io"
_DISCOVERY: dict[str, dict[str, Any]] = {
    "/version": {"major": "1", "minor": "35", "gitVersion": "v1.35.4"},
    "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": _EXTENSIONS,
                "versions": [{"groupVersion": f"{_EXTENSIONS}/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": f"{_EXTENSIONS}/v1", "version": "v1"},
            }
        ],
    },
    "/api/v1": _resources(
        "v1", ("nodes", "Node", False), ("namespaces", "Namespace", False), ("events", "Event", True)
    ),
    f"/apis/{_EXTENSIONS}/v1": _resources(
        f"{_EXTENSIONS}/v1", ("customresourcedefinitions", "CustomResourceDefinition", False)
    ),
}
_LISTS = {
    "/api/v1/nodes": "NodeList",
    "/api/v1/namespaces": "NamespaceList",
    f"/apis/{_EXTENSIONS}/v1/customresourcedefinitions": "CustomResourceDefinitionList",
}


class NodeServer:
    """Answers requests one after the other on each connection."""

    def __init__(self, stream: list[bytes]) -> None:
        self._stream = stream

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                target = urlsplit(head.split(b" ", 2)[1].decode())
                path = target.path.rstrip("/")
                if "true" in parse_qs(target.query).get("watch", [""])[0].lower().replace("1", "true"):
                    await self._watch(path, writer)
                else:
                    writer.write(_answer(path, head))
                    await writer.drain()
        writer.close()

    async def _watch(self, path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for chunk in self._stream if path.endswith("/nodes") else ():
            writer.write(chunk)
            if writer.transport.get_write_buffer_size() > _DRAIN_ABOVE_BYTES:
                await writer.drain()
        await writer.drain()
        await asyncio.sleep(_STALE_SECONDS)


def _answer(path: str, head: bytes) -> bytes:
    if b"apidiscovery.k8s.io" in head:
        status, body = 406, {"kind": "Status", "code": 406, "status": "Failure"}
    elif path in _DISCOVERY:
        status, body = 200, _DISCOVERY[path]
    elif path in _LISTS:
        version = {"resourceVersion": "1"}
        status, body = 200, {"kind": _LISTS[path], "apiVersion": "v1", "metadata": version, "items": []}
    else:
        status, body = 404, {"kind": "Status", "code": 404, "reason": "NotFound", "status": "Failure"}
    text = json.dumps(body).encode()
    return b"HTTP/1.1 %d Answer\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        status,
        len(text),
        text,
    )


async def main(nodes: int, core: int) -> None:
    os.sched_setaffinity(0, {core})
    server = await asyncio.start_server(NodeServer(make_stream(nodes)).serve, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    # The campaign holds the standard input open; at its end the server exits.
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
