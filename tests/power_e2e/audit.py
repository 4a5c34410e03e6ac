"""What our programs really wrote, and when, by the API server's own log."""

import json
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from nodemend.api import keys

_REMEDIATOR: Final = "nodemend-remediator"


@dataclass(frozen=True, slots=True)
class Written:
    """By the remediator, with success."""

    began: float
    """When the API server had received the request: it took effect later than that."""
    verb: str
    resource: str
    name: str
    body: Any


class Audit:
    """Of one control plane. May be asked from several threads."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._read = 0
        self._writes: list[Written] = []

    def releases(self, node: str, since: float) -> list[float]:
        """When our taint was asked for on a node."""
        return [
            write.began
            for write in self.writes(since)
            if write.resource == "nodes" and write.name == node and _has_our_taint(write.body)
        ]

    def writes(self, since: float) -> list[Written]:
        with self._lock, self._file.open("rb") as log:
            log.seek(self._read)
            while (line := log.readline()).endswith(b"\n"):
                self._read += len(line)
                self._take(json.loads(line))
            return [write for write in self._writes if write.began >= since]

    def _take(self, entry: dict[str, Any]) -> None:
        # Who could not be authenticated, as where the server was too busy for it, has no name.
        if not entry["user"].get("username", "").endswith(f":{_REMEDIATOR}"):
            return
        code = entry.get("responseStatus", {}).get("code", 0)
        if entry["stage"] == "ResponseComplete" and entry["verb"] in _WRITES and 200 <= code < 300:
            about = entry.get("objectRef", {})
            began = datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
            found = Written(
                began,
                entry["verb"],
                about.get("resource", ""),
                about.get("name", ""),
                entry.get("requestObject"),
            )
            self._writes.append(found)


_WRITES: Final = ("create", "update", "patch", "delete")


def _has_our_taint(body: Any) -> bool:
    taints = (body or {}).get("spec", {}).get("taints") or ()
    return any(
        taint.get("key") == keys.OUT_OF_SERVICE and taint.get("value") == keys.OUR_TAINT_VALUE
        for taint in taints
    )
