"""Hostile nodes write arbitrary values on their Leases, under the shipped policies; real agents go on."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from controlplane.api import Api, ApiError
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from installed.manifests import install
from installed.programs import start
from nodemend.agent.watchdog.records_io import read_lease
from nodemend.api.agent import AgentReport, WatchdogReport
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT
from nodemend.protocol.feed_lease import FeedLease
from tests.e2e.agent_nodes.agent_node import LEASES, AgentNode
from tests.e2e.refusals.agent_cluster import pods_token
from tests.unit.agent.certificates import Authority

pytestmark = [pytest.mark.real, pytest.mark.nightly]

HONEST = ("n1", "n2", "n3", "n4")
OUTAGE = 50.0
"""Seconds: longer than a feed lease, so that only peers' answers keep nodes alive."""
ESCAPED = '"\\u0061ddress":'
"""The same key for every JSON parser, and a different text for a policy."""
HOSTILE = {
    "evil-1": '"address":"[]@"',
    "evil-2": f'{ESCAPED}"[]@"',
    "evil-3": '"address":"[::::]:1"',
    "evil-4": '"address":"localhost:1"',
}


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane(Settings(controller_manager=False, scheduler=False)) as plane:
        install(plane, "selfFencing.enabled=true")
        yield plane


class HostileNode:
    """A node that renews as an agent does, with one field of its choice.

    Every zone has a peer in every list.
    """

    def __init__(self, plane: ControlPlane, name: str, field: str) -> None:
        zone = {"topology.kubernetes.io/zone": name}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": zone}}
        self._uid = plane.api.create(node)["metadata"]["uid"]
        self._name, self._field = name, field
        self._api: Api = plane.client_with(pods_token(plane, name))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def _annotations(self, number: int) -> dict[str, Any]:
        report = AgentReport(
            node_uid=self._uid,
            boot_id="e1",
            sequence=number,
            acknowledged=number - 1,
            steady_since=1,
            feed_lease=35.0,
            contact_age=15.0,
            watchdog=WatchdogReport(class_="hardware", effective=10.0),
        )
        text = msgspec.json.encode(report).decode()
        return {AGENT_REPORT: text.replace("{", "{" + self._field + ",", 1)}

    def _lease(self) -> dict[str, Any]:
        metadata = {"name": self._name, "namespace": AGENT_NAMESPACE, "annotations": self._annotations(2)}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}

    def may_write(self) -> bool:
        try:
            self._api.request("POST", f"{LEASES}?dryRun=All", self._lease())
        except ApiError as error:
            if "must be HOST:PORT or empty" in str(error):
                return False
            raise
        return True

    def write(self) -> None:
        self._api.create(self._lease())
        self._thread.start()

    def _renew(self) -> None:
        number = 3
        while not self._over.wait(5.0):
            try:
                self._api.patch(
                    f"{LEASES}/{self._name}", {"metadata": {"annotations": self._annotations(number)}}
                )
                number += 1
            except (ApiError, OSError):
                continue  # The server is unreachable.

    def end(self) -> None:
        self._over.set()


def fed_for(node: AgentNode) -> float:
    found = read_lease(str(node.folder / "agent" / "lease"))
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return found.until / 1e9 - now if isinstance(found, FeedLease) else 0.0


def peers_of(node: AgentNode) -> set[str]:
    lists: Any = node.report().get("peers", [])
    return set(lists[0]) if len(lists) == 1 else set()


@pytest.mark.attack("S1")
def test_no_agent_dies_of_another_nodes_address_while_the_api_server_is_away(
    plane: ControlPlane, tmp_path: Path
) -> None:
    (tmp_path / "ca").mkdir()
    authority = Authority(tmp_path / "ca")
    with ExitStack() as owned:
        nodes = [AgentNode(plane, name, tmp_path / name, authority) for name in HONEST]
        for node in nodes:
            owned.callback(node.end)
            node.start()
        hostile = {name: HostileNode(plane, name, field) for name, field in HOSTILE.items()}
        # An API server applies new policies some time after storing them.
        wait_until("the policy refuses", lambda: not hostile["evil-1"].may_write(), within=60.0)
        for name in ("evil-2", "evil-3", "evil-4"):
            owned.callback(hostile[name].end)
            hostile[name].write()
        start(plane, "nodemend-remediator", "--self-fencing=on")
        wait_until(
            "all have the peers that can be asked",
            lambda: all(peers_of(one) == {*HONEST, "evil-4"} - {one.name} for one in nodes),
            within=150,
        )

        plane.pause("kube-apiserver")
        until = time.monotonic() + OUTAGE
        least = {node.name: 99.0 for node in nodes}
        while time.monotonic() < until:
            time.sleep(0.5)
            for node in nodes:
                assert node.process is not None
                assert node.process.running, node.said
                least[node.name] = min(least[node.name], fed_for(node))
        plane.resume("kube-apiserver")

        assert min(least.values()) > 0, least
