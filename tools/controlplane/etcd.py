"""The store: etcd's process, and the few calls that tests make on it past the API server."""

import base64
import http.client
import json
import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane import commands
from controlplane.ports import LOOPBACK, free_port, on_free_port
from controlplane.process import Process
from controlplane.settings import Settings
from controlplane.waiting import wait_until

SECONDS_PER_CALL = 10.0


@dataclass(frozen=True, slots=True)
class Stored:
    """One key's value, as of the revision of its last change."""

    value: bytes
    revision: int


class Etcd:
    """A running etcd, used through the JSON gateway on its client port."""

    def __init__(self, process: Process, port: int, peer_port: int, data: Path) -> None:
        self.process = process
        self.port = port
        self.data = data
        self.peer = f"http://{LOOPBACK}:{peer_port}"

    @classmethod
    def start(cls, program: Path, settings: Settings, folder: Path) -> "Etcd":
        """Start it on free ports and wait until it answers. Raises ProcessEndedError or TimeoutError."""

        def start_on(port: int) -> Etcd:
            # A unique name: if another etcd takes the port, its reply has another name.
            data = folder / f"etcd-{secrets.token_hex(4)}"
            peer_port = free_port()
            flags = commands.etcd(settings, data, port=port, peer_port=peer_port)
            etcd = cls(Process([program, *flags], log=folder / "etcd.log"), port, peer_port, data)
            with ExitStack() as on_failure:
                on_failure.callback(etcd.process.end)
                wait_until("etcd answers", etcd.answers, within=30, processes=[etcd.process])
                on_failure.pop_all()
            return etcd

        return on_free_port(start_on)

    def answers(self) -> bool:
        try:
            members = self._call("/v3/cluster/member/list", {})["members"]
        except (OSError, http.client.HTTPException):
            return False
        return any(member.get("name") == self.data.name for member in members)

    def snapshot(self, prefix: str) -> dict[str, Stored]:
        """All keys under `prefix`, with their values."""
        return {
            _decoded(kv["key"]).decode(): Stored(_decoded(kv.get("value", "")), int(kv["mod_revision"]))
            for kv in self._range(prefix, keys_only=False)
        }

    def keys(self, prefix: str) -> set[str]:
        return {_decoded(kv["key"]).decode() for kv in self._range(prefix, keys_only=True)}

    def change(self, *, put: dict[str, bytes], delete: set[str]) -> None:
        """Put and delete keys, all in one transaction."""
        puts = [
            {"request_put": {"key": _coded(key.encode()), "value": _coded(value)}}
            for key, value in put.items()
        ]
        deletes = [{"request_delete_range": {"key": _coded(key.encode())}} for key in sorted(delete)]
        if puts or deletes:
            self._call("/v3/kv/txn", {"success": [*puts, *deletes]})

    def compact(self) -> int:
        """Forget every revision before the current one, which is returned."""
        seen = self._call("/v3/kv/range", {"key": _coded(b"/"), "count_only": True})
        revision = int(seen["header"]["revision"])
        self._call("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return revision

    def _range(self, prefix: str, *, keys_only: bool) -> list[dict[str, str]]:
        begin = prefix.encode()
        end = begin[:-1] + bytes([begin[-1] + 1])
        query = {"key": _coded(begin), "range_end": _coded(end), "keys_only": keys_only}
        found: list[dict[str, str]] = self._call("/v3/kv/range", query).get("kvs", [])
        return found

    def _call(self, path: str, body: object) -> Any:
        """Raises OSError when etcd does not answer, HTTPException when it refuses."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=SECONDS_PER_CALL)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise http.client.HTTPException(f"etcd: {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)


def _coded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)
