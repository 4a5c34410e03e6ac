"""A server that knows Leases by their path, compare-and-swap, and nothing else."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from nodemend.api.agent import Marker
from nodemend.api.well_known import MARKER
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.network import ServedWatch


@dataclass
class LeaseServer:
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    revision: int = 10
    reads: list[str] = field(default_factory=list)
    renewals: int = 0

    def handle(self, request: Request) -> ApiResponse:
        if request.method is Method.POST:
            made = msgspec.json.decode(request.body)
            return self._store(made["metadata"]["name"], made, 201)
        name = request.path.rpartition("/")[2]
        lease = self.leases.get(name)
        if request.method is Method.GET:
            self.reads.append(name)
        if lease is None:
            return ApiResponse(404, b"")
        if request.method is Method.GET:
            return ApiResponse(200, msgspec.json.encode(lease))
        patch = msgspec.json.decode(request.body)
        if patch["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"]:
            return ApiResponse(409, b"")
        self.renewals += 1
        annotations = lease["metadata"]["annotations"] | patch["metadata"]["annotations"]
        return self._store(name, {"metadata": {"annotations": annotations}, "spec": patch["spec"]}, 200)

    def mark(self, name: str, marker: Marker) -> None:
        annotations = self.leases[name]["metadata"]["annotations"]
        self.annotate(name, annotations | {MARKER: msgspec.json.encode(marker).decode()})

    def annotate(self, name: str, annotations: dict[str, str]) -> None:
        self._store(name, {"metadata": {"annotations": annotations}, "spec": {}}, 200)

    def _store(self, name: str, lease: dict[str, Any], status: int) -> ApiResponse:
        self.revision += 1
        annotations = lease["metadata"].get("annotations", {})
        lease["metadata"] = {
            "name": name,
            "uid": f"lease-{name}",
            "resourceVersion": str(self.revision),
            "annotations": annotations,
        }
        self.leases[name] = lease
        return ApiResponse(status, msgspec.json.encode(lease))

    def watch(self, request: Request) -> ServedWatch | ApiResponse:
        raise NotImplementedError
