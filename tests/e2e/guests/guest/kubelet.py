"""The parts of a kubelet that these pods need: it reports its node, and runs the node's pods."""

import os
import signal
import time

from guest.inside import now, tell
from tests.e2e.guests.guest.api import LOST, Api, Object, RefusedError
from tests.e2e.guests.guest.containers import Containers
from tests.e2e.guests.guest.node_report import NodeReport
from tests.e2e.guests.guest.volumes import Volumes

POLL_INTERVAL = 2.0
REPORTS_EVERY = 10.0
"""Seconds, as kubelets do."""


class Kubelet:
    def __init__(self, api: Api, node: str, address: str) -> None:
        self._api = api
        self._node = node
        self._address = address
        self._running: dict[str, Containers] = {}
        self._volumes = Volumes(api, node)
        self._report = NodeReport(api, node, address)
        self._reported = -REPORTS_EVERY

    def serve(self) -> None:
        """Run one round. A failed action is retried in the next."""
        try:
            if now() - self._reported >= REPORTS_EVERY:
                began = now()
                self._report.send()
                self._reported = began
            self._run_pods()
        except LOST as error:
            tell("LOST", type(error).__name__)
        except RefusedError as error:
            tell("REFUSED", str(error).replace("\n", " "))
        self._start_anew()
        time.sleep(POLL_INTERVAL)

    def ended(self, pid: int) -> None:
        """Handle the end of a process, which may be one of this kubelet's."""
        for containers in self._running.values():
            if containers.pid == pid:
                containers.pid = 0

    # Pods.

    def _run_pods(self) -> None:
        query = f"fieldSelector=spec.nodeName%3D{self._node}"
        pods = {one["metadata"]["uid"]: one for one in self._api.ask("GET", f"/api/v1/pods?{query}")["items"]}
        for uid in self._running.keys() - pods.keys():
            self._kill(uid)
        for uid, pod in pods.items():
            if "deletionTimestamp" in pod["metadata"]:
                self._kill(uid)
                self._api.ask("DELETE", _path(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
            elif uid in self._running:
                self._running[uid].mount()
            elif self._volumes.are_there(pod, pods.values()):
                self._start(uid, pod)

    def _start(self, uid: str, pod: Object) -> None:
        containers = Containers(self._api, pod, self._address)
        containers.mount()
        containers.prepare()
        containers.start()
        self._running[uid] = containers
        conditions = [
            {"type": kind, "status": "True"} for kind in ("Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": "Running", "conditions": conditions, "hostIP": self._address}
        self._api.merge(f"{_path(pod)}/status", {"status": status})

    def _start_anew(self) -> None:
        for containers in self._running.values():
            if not containers.pid:
                containers.start()

    def _kill(self, uid: str) -> None:
        containers = self._running.pop(uid, None)
        if containers is not None and containers.pid:
            os.kill(containers.pid, signal.SIGKILL)


def _path(pod: Object) -> str:
    meta = pod["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
