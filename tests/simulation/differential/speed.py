"""Measures requests per second of the simulated server on one core, in processor time.

    python -m tests.simulation.differential.speed

The last line is the result: gets and patches in equal parts. A loop of additions is timed as well, to compare
machines and to detect other load on this one.
"""

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain

from nodemend.api.resources import LEASE, NODE
from nodemend.kube.request import Content, Method, Request, create, get, item_path
from simulation.api_server.server import SimulatedApiServer
from simulation.api_server.watching import SimulatedWatch

NODES = 100
REQUESTS = 20_000
WANTED = 30_000
NAMESPACE = "kube-node-lease"


class World:
    """A hundred nodes and their Leases, and a clock that advances with every request."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.server = SimulatedApiServer(lambda: self.now)
        for number in range(NODES):
            name = f"n{number}"
            conditions = [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}]
            node = {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "zone": "a"}},
                "status": {"conditions": conditions, "capacity": {"cpu": "4", "memory": "8Gi"}},
            }
            spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": _stamp(0)}
            self.server.handle(create(NODE, node, manager="kubelet"))
            self.server.handle(
                create(LEASE, {"metadata": {"name": name}, "spec": spec}, NAMESPACE, manager="kubelet")
            )

    def rate(self, requests: Sequence[Request]) -> float:
        self.server.compact()
        begun = time.process_time()
        for request in requests:
            self.now += timedelta(milliseconds=10)
            status = self.server.handle(request).status
            if status != 200:
                raise RuntimeError(f"{request}: {status}")
        return len(requests) / (time.process_time() - begun)


def _stamp(number: int) -> str:
    return f"2026-01-01T00:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z"


def read(number: int) -> Request:
    return get(NODE, f"n{number % NODES}")


def renew(number: int) -> Request:
    path = item_path(LEASE, f"n{number % NODES}", NAMESPACE)
    body = b'{"spec":{"renewTime":"%s"}}' % _stamp(number).encode()
    return Request(Method.PATCH, path, (("fieldManager", "kubelet"),), body, Content.MERGE_PATCH)


def report_status(number: int) -> Request:
    path = item_path(NODE, f"n{number % NODES}", "", "status")
    condition = b'{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-01T%02d:%02d:%02dZ"}'
    beat = condition % (number // 3600 % 24, number // 60 % 60, number % 60)
    body = b'{"status":{"conditions":[%s,{"type":"MemoryPressure","status":"False"}]}}' % beat
    return Request(Method.PATCH, path, (("fieldManager", "kubelet"),), body, Content.MERGE_PATCH)


def additions() -> float:
    """Return additions per second, in millions."""
    begun, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number
    return 5 / (time.process_time() - begun)


def main() -> int:
    world = World()
    rows = {
        "get of a node": world.rate([read(number) for number in range(REQUESTS)]),
        "patch of a lease": world.rate([renew(number) for number in range(REQUESTS)]),
        "patch of a node's status": world.rate([report_status(number) for number in range(REQUESTS)]),
    }
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    query = (("watch", "true"), ("resourceVersion", str(world.server.revision)))
    watches = [world.server.watch(Request(Method.GET, leases, query)) for _ in range(3)]
    rows["patch of a lease, three watches"] = world.rate([renew(number + 7) for number in range(REQUESTS)])
    lines = 0
    for watch in watches:
        if isinstance(watch, SimulatedWatch):
            lines += len(watch.take())
            watch.close()
    mixed = list(chain.from_iterable((read(number), renew(number + 13)) for number in range(REQUESTS // 2)))
    rows["get and patch"] = world.rate(mixed)
    for name, rate in rows.items():
        sys.stdout.write(f"{rate:12,.0f} a second: {name}\n")
    sys.stdout.write(f"{lines:12,} lines taken by the watches\n")
    sys.stdout.write(f"{additions():12.1f} million additions a second, in a plain loop\n")
    sys.stdout.write(f"speed: {rows['get and patch']:,.0f} requests a second\n")
    return 0 if rows["get and patch"] >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
