"""Kubelets that start and end with their machines, and pods that are processes on them."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from controlplane.api import Api, ApiError, Object
from controlplane.node_objects import is_ready
from controlplane.nodes import Nodes
from machine_room.chassis import Chassis
from machine_room.register import Register

PROCESS: Final = "controlplane.nodemend.io/process"
"""On a pod: it is a running process, and must not be reported as stopped."""
_SECONDS_TO_REPORT: Final = 2.0


@dataclass(slots=True)
class Computer:
    """A machine, the node on it, and the cable between it and the cluster."""

    node: str
    group: str
    chassis: Chassis
    cut_in: str = ""
    """The boot in which the cable is cut. Workloads keep running."""
    reported: str = ""
    """The boot of the machine in which its kubelet last started."""
    waking: float = field(default_factory=time.monotonic)

    @property
    def cut(self) -> bool:
        return self.cut_in == self.chassis.boot

    @property
    def speaks(self) -> bool:
        return self.chassis.powered and not self.cut and self.reported == self.chassis.boot


class Kubelets:
    """Call `serve` in rounds. `registers` is the folder of the registers, one for each pod by its name."""

    def __init__(self, api: Api, nodes: Nodes, registers: Path) -> None:
        self.computers: dict[str, Computer] = {}
        self._api = api
        self._nodes = nodes
        self._registers = registers

    def register(self, pod: str) -> Register:
        return Register(self._registers / pod)

    def serve(self) -> None:
        for computer in list(self.computers.values()):
            self._follow_power(computer)
        nodes = {node["metadata"]["name"]: node for node in self._api.list("/api/v1/nodes")}
        pods = self._api.list("/api/v1/namespaces/default/pods")
        for computer in list(self.computers.values()):
            # If it was cut off or powered off since the lists were read, it must not get them.
            if computer.speaks:
                self._keep_awake(computer, nodes.get(computer.node))
                self._run_pods(
                    computer, [pod for pod in pods if pod["spec"].get("nodeName") == computer.node]
                )

    def _follow_power(self, computer: Computer) -> None:
        chassis = computer.chassis
        if not chassis.powered or computer.cut:
            if computer.node not in self._nodes.silent():
                self._nodes.silence(computer.group)
        elif computer.reported != chassis.boot:
            computer.reported, computer.waking = chassis.boot, time.monotonic()
            self._nodes.begin_boot(computer.group)
            self._nodes.restart_containers(computer.node)
        elif computer.node in self._nodes.silent():
            self._nodes.resume(computer.group)

    def _keep_awake(self, computer: Computer, node: Object | None) -> None:
        """See Nodes.wake."""
        now = time.monotonic()
        if node is None or is_ready(node):
            computer.waking = now
        elif now - computer.waking > _SECONDS_TO_REPORT:
            computer.waking = now
            self._nodes.wake([computer.node])

    def _run_pods(self, computer: Computer, pods: list[Object]) -> None:
        memory = computer.chassis.memory
        for pod in pods:
            if "deletionTimestamp" in pod["metadata"]:
                self._stop(memory, pod)
            elif pod["status"].get("phase") == "Running":
                self._start(memory, pod)

    def _start(self, memory: Path, pod: Object) -> None:
        meta = pod["metadata"]
        order, wanted = memory / meta["uid"], memory / "wanted" / meta["uid"]
        # The annotation comes first: there is never an unrecorded process.
        if not wanted.exists() and self._annotate(pod, "true"):
            order.write_text(str(self.register(meta["name"]).file))
            wanted.hardlink_to(order)  # Atomic, since the machine reads it.

    def _stop(self, memory: Path, pod: Object) -> None:
        """Report it as stopped once it has stopped, or if it did not run in this boot."""
        meta = pod["metadata"]
        (memory / "wanted" / meta["uid"]).unlink(missing_ok=True)
        over = (memory / "ended" / meta["uid"]).exists() or not (memory / meta["uid"]).exists()
        if over and PROCESS in meta.get("annotations", {}):
            self._annotate(pod, None)

    def _annotate(self, pod: Object, value: str | None) -> bool:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        try:
            self._api.patch(path, {"metadata": {"uid": meta["uid"], "annotations": {PROCESS: value}}})
        except ApiError as error:
            if error.status not in (404, 409):  # Gone, or another pod of that name.
                raise
            return False
        return True
