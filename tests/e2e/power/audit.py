"""Writes of Nodemend's programs with their times, from the API server's audit log."""

import json
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from nodemend.api import well_known

_REMEDIATOR: Final = "nodemend-remediator"


@dataclass(frozen=True, slots=True)
class Written:
    """A successful write of the remediator."""

    began: float
    """The time at which the API server had received the request, which is before it took effect."""
    verb: str
    resource: str
    name: str
    body: Any


class Audit:
    """The audit log of one control plane. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._read = 0
        self._writes: list[Written] = []

    def releases(self, node: str, since: float) -> list[float]:
        """The times at which Nodemend's taint was requested on a node."""
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
        # A request that could not be authenticated, for example because the server was too busy, has no user
        # name.
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
        taint.get("key") == well_known.OUT_OF_SERVICE and taint.get("value") == well_known.OUR_TAINT_VALUE
        for taint in taints
    )
