"""The operator's writes to the host."""

from dataclasses import dataclass
from typing import Any, Final

from nodemend.api.resources import BARE_METAL_HOST
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request, item_path
from simulation.cluster.direct import Direct, Object
from simulation.scheduler import Scheduler

NAME: Final = "host-1"
NAMESPACE: Final = "default"
_PATH: Final = item_path(BARE_METAL_HOST, NAME, NAMESPACE)
_STATUS: Final = ("errorCount", "errorType", "operationalStatus", "poweredOn")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One write of the operator. `set` has the recorded fields that it changed, None for a removed one."""

    at: float
    set: dict[str, Any]
    saved: bool
    """True for a write of the status, regardless of whether a watcher could see it."""


class RecordedStates:
    """Observes the operator's writes. After a write of another client, `stop_watching` has to be called."""

    def __init__(self, scheduler: Scheduler, api: Direct) -> None:
        self.seen: list[Sighting] = []
        self._scheduler = scheduler
        self._api = api
        self._before: dict[str, Any] = {}

    def witness(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        if request.path in {_PATH, f"{_PATH}/status"}:
            self.note(saved=request.path.endswith("/status"))

    def note(self, *, saved: bool) -> None:
        now = fields(self._api.get(BARE_METAL_HOST, NAME, NAMESPACE))
        changed = {
            name: now.get(name) for name in self._before | now if self._before.get(name) != now.get(name)
        }
        if now.get("object") == "gone":
            changed = {"object": "gone"}
        self._before = now
        if changed or saved:
            self.seen.append(Sighting(self._scheduler.now, changed, saved))

    def stop_watching(self) -> None:
        self._before = fields(self._api.get(BARE_METAL_HOST, NAME, NAMESPACE))

    def since(self, begun: int) -> list[Sighting]:
        return self.seen[begun:]


def fields(host: Object | None) -> dict[str, Any]:
    """The recorded fields, by their names in the recording."""
    if host is None:
        return {"object": "gone"}
    metadata, status = host["metadata"], host.get("status", {})
    found = {"spec.online": host["spec"].get("online")}
    found |= {f"annotation[{name}]": value for name, value in metadata.get("annotations", {}).items()}
    if metadata.get("finalizers"):
        found["metadata.finalizers"] = ", ".join(metadata["finalizers"])
    found |= {f"status.{name}": status[name] for name in _STATUS if name in status}
    if "errorMessage" in status:
        found["status.errorMessage"] = "nonempty" if status["errorMessage"] else ""
    if "provisioning" in status:
        found["status.provisioning.state"] = status["provisioning"]["state"]
    for one in status.get("conditions", ()):
        found[f"condition[{one['type']}]"] = f"{one['status']}/{one['reason']}"
    return found
