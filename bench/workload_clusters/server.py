"""An HTTPS server that plays a management cluster, or every workload cluster, which are paths below it.

`python -m bench.workload_clusters.server FOLDER CLUSTERS NODES [PORT]` prints its port. FOLDER has the
certificates; PORT is that of the server which plays the workload clusters.
"""

import asyncio
import json
import re
import ssl
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from bench.workload_clusters import objects
from bench.workload_clusters.objects import Object

BOOKMARK_EVERY: Final = 45.0
_PIECE: Final = 64 * 1024
_GROUP: Final = f"/apis/{objects.CLUSTER_API}"
_OURS: Final = "/apis/nodemend.io/v1alpha1"
_FAR: Final = re.compile(r"/clusters/(\d+)/api/v1/nodes")
_SECRET: Final = re.compile(rf"/api/v1/namespaces/{objects.NAMESPACE}/secrets/([^/]+)-kubeconfig")
_BOOKMARK: Final = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1"}}}\n'
_KINDS: Final = (
    ("machines", "Machine"),
    ("machinehealthchecks", "MachineHealthCheck"),
    ("clusters", "Cluster"),
)

Lister = Callable[[int, int], Iterator[Object]]
"""Objects from one place up to another."""


class World:
    """The objects, created when they are requested."""

    def __init__(self, folder: Path, clusters: int, nodes: int, far: int) -> None:
        self._far = far
        self._nodes = nodes
        self._authority = (folder / "server.crt").read_bytes()
        self._client = (folder / "client.crt").read_bytes(), (folder / "client.key").read_bytes()
        self._leases: dict[str, Object] = {}
        self._version = 1
        self._lists: dict[str, tuple[int, Lister]] = {
            f"{_GROUP}/machines": (clusters * nodes, self._machines),
            f"{_GROUP}/clusters": (clusters, lambda a, b: map(objects.a_cluster, range(a, b))),
            f"{_GROUP}/machinehealthchecks": (clusters, lambda a, b: map(objects.a_check, range(a, b))),
            f"{_OURS}/remediationpolicies": (1, lambda _a, _b: iter((objects.a_policy(),))),
        }

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Object]:
        if "/leases" in path:
            return self._lease(method, path, json.loads(body or b"{}"))
        if method != "GET":
            return 200, {}
        if far := _FAR.fullmatch(path):
            return 200, _page(objects.nodes_of(int(far[1]), self._nodes))
        if secret := _SECRET.fullmatch(path):
            number = int(secret[1].rpartition("-")[2])
            server = f"https://127.0.0.1:{self._far}/clusters/{number}"
            return 200, objects.a_secret(secret[1], server, self._authority, self._client)
        if "limit" in query:
            return 200, self._list(path, query)
        if path == _GROUP:
            kinds = [{"name": plural, "kind": kind, "namespaced": True} for plural, kind in _KINDS]
            return 200, {"resources": kinds}
        if path == f"{_OURS}/remediationpolicies/cluster":
            return 200, objects.a_policy()
        return 404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": path}

    def _machines(self, first: int, last: int) -> Iterator[Object]:
        return (objects.a_machine(number, self._nodes) for number in range(first, last))

    def _list(self, path: str, query: dict[str, list[str]]) -> Object:
        """Any unknown resource has an empty list."""
        total, lister = self._lists.get(path, (0, lambda _a, _b: iter(())))
        first = int(query.get("continue", ["0"])[0])
        last = min(first + int(query.get("limit", [str(total)])[0]), total)
        return _page(lister(first, last), str(last) if last < total else "")

    def _lease(self, method: str, path: str, said: Object) -> tuple[int, Object]:
        """The only object that the checker changes."""
        name = path.rpartition("/")[2]
        if method == "POST":
            name, known = said["metadata"]["name"], {}
        elif name not in self._leases:
            return 404, {"kind": "Status", "code": 404, "reason": "NotFound"}
        else:
            known = self._leases[name]
        if method != "GET":
            self._version += 1
            known = _merged(known, said)
            known["metadata"] |= {"resourceVersion": str(self._version), "uid": f"lease-{name}"}
            self._leases[name] = known
        return 201 if method == "POST" else 200, known


def _merged(old: Any, change: Any) -> Any:
    if not isinstance(old, dict) or not isinstance(change, dict):
        return change
    kept = {key: value for key, value in old.items() if key not in change}
    changed = {key: _merged(old.get(key), value) for key, value in change.items() if value is not None}
    return kept | changed


def _page(items: Iterator[Object], follow: str = "") -> Object:
    return {"metadata": {"resourceVersion": "1", "continue": follow}, "items": list(items)}


async def _serve(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, target, _ = head.split(" ", 2)
            length = re.search(r"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1])) if length else b""
            address = urlsplit(target)
            query = parse_qs(address.query)
            if "watch" in query:
                await _watch(writer, query)
                continue
            status, found = world.answer(method, address.path, query, body)
            text = json.dumps(found).encode()
            writer.write(b"HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n" % (status, len(text)))
            for place in range(0, len(text), _PIECE):
                writer.write(text[place : place + _PIECE])
                await writer.drain()
    writer.transport.abort()


async def _watch(writer: asyncio.StreamWriter, query: dict[str, list[str]]) -> None:
    """There are no events except bookmarks. Streaming lists are refused, as by an older server."""
    if "sendInitialEvents" in query:
        writer.write(b"HTTP/1.1 422 -\r\nContent-Length: 2\r\n\r\n{}")
        return
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    left = float(query["timeoutSeconds"][0])
    while left > 0:
        writer.write(b"%x\r\n%b\r\n" % (len(_BOOKMARK), _BOOKMARK))
        await writer.drain()
        await asyncio.sleep(min(BOOKMARK_EVERY, left))
        left -= BOOKMARK_EVERY
    writer.write(b"0\r\n\r\n")


async def main(folder: Path, clusters: int, nodes: int, far: int) -> None:
    world = World(folder, clusters, nodes, far)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.crt", folder / "server.key")
    tls.load_verify_locations(folder / "client.crt")
    tls.verify_mode = ssl.CERT_OPTIONAL

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
        return _serve(world, reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    clusters, nodes, *port = (int(argument) for argument in sys.argv[2:])
    asyncio.run(main(Path(sys.argv[1]), clusters, nodes, port[0] if port else 0))
