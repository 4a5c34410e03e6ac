"""`python -m bench.scale.upstream NODES`: Cluster API's own manager and Nodemend's checker with the same real
load.

The same Machines under the same check, one manager after the other: the cost of heartbeats of the Nodes, and
the delay from a deadline to the request for a remediation. In a private network, as the manager opens its
webhooks on all interfaces.
"""

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from bench.clients.node_generator import node_name
from bench.process_costs import cpu_of, memory_of
from bench.scale.load import Load, heartbeat, load_on, turned
from cluster_api import private_network
from cluster_api.manifests import REMEDIATION
from cluster_api.run import CHECKS, REQUESTS, ClusterApi, prepare
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE

LABELS: Final = {"pool": "workers"}
CHECK: Final = "workers"
CLAIM: Final = {"cluster.x-k8s.io/watch-filter": "nodemend"}
TIMEOUT: Final = 10
BEATS_A_SECOND: Final = 100
SETTLES: Final = 20.0
"""Seconds after the last heartbeat: Cluster API reconciles a check once in 15."""
FAILURES: Final = 8
MAX_POLLS: Final = 15
ABOUT_AS_MUCH: Final = 0.9


@dataclass(frozen=True, slots=True)
class Costs:
    who: str
    cpu_per_thousand: float
    resident: int
    late: tuple[float, ...]

    def __str__(self) -> str:
        least, middle, most = self.late[0], self.late[len(self.late) // 2], self.late[-1]
        return (
            f"{self.who}: {self.cpu_per_thousand:.2f} s of CPU for 1,000 heartbeats,"
            f" {self.resident / 1e6:.0f} MB, {least:.2f} to {most:.2f} s after the deadline"
            f" (median {middle:.2f})"
        )


async def measure(who: str, process: Process, plane: ControlPlane, load: Load, nodes: int) -> Costs:
    """The idle CPU time is subtracted: the lesser of two measurements."""
    await _calm_down(process)
    lasts = nodes / BEATS_A_SECOND + SETTLES
    before = await _cpu_while(process, asyncio.sleep(lasts))
    busy = await _cpu_while(process, _beat(load, nodes))
    idle = min(before, await _cpu_while(process, asyncio.sleep(lasts)))
    late = sorted([await _fail(plane, load, process, number) for number in range(FAILURES)])
    return Costs(who, (busy - idle) / nodes * 1000, memory_of(process.pid)[0], tuple(late))


async def _calm_down(process: Process) -> None:
    """Wait until its cost no longer falls: at its start a manager writes to a thousand Machines."""
    before = math.inf
    for _ in range(MAX_POLLS):
        now = await _cpu_while(process, asyncio.sleep(SETTLES))
        if now > before * ABOUT_AS_MUCH:
            return
        before = now
    raise RuntimeError("it does not calm down")


async def _cpu_while(process: Process, work: Awaitable[None]) -> float:
    before = cpu_of(process.pid)
    await work
    return cpu_of(process.pid) - before


async def _beat(load: Load, nodes: int) -> None:
    began = time.monotonic()
    for number in range(nodes):
        await load.write(heartbeat(number, int(began) % 3600)[1])
        await asyncio.sleep(max(0.0, began + number / BEATS_A_SECOND - time.monotonic()))
    await asyncio.sleep(SETTLES)


async def _fail(plane: ControlPlane, load: Load, process: Process, number: int) -> float:
    """Seconds from the deadline of one Node until there is a request for its Machine."""
    path = f"{REQUESTS}/{node_name(number)}"

    def is_there() -> bool:
        return plane.api.find(path) is not None

    def is_gone() -> bool:
        return plane.api.find(path) is None

    failed = await load.write(turned(number, "Ready", "Unknown")[1])
    await asyncio.sleep(TIMEOUT - 0.5)
    wait_until("it is asked for", is_there, within=60, processes=[process])
    late = time.monotonic() - failed - TIMEOUT
    await load.write(turned(number, "Ready", "True")[1])
    wait_until("it is withdrawn", is_gone, within=60, processes=[process])
    return late


@contextmanager
def ours(plane: ControlPlane) -> Iterator[Process]:
    """Nodemend's checker, which serves the check and reads the Cluster's nodes."""
    kinds = ["metal3remediations", "metal3remediationtemplates"]
    use = ["get", "list", "watch", "create", "delete"]
    rule = {"apiGroups": [REMEDIATION.partition("/")[0]], "resources": kinds, "verbs": use}
    header = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    plane.api.create({**header, "metadata": {"name": "may-remediate"}, "rules": [rule]})
    bind(plane, "may-remediate", SYSTEM_NAMESPACE, "nodemend-checker")
    policy = {"mode": "Act", "minInterval": "1s", "settleTime": "1s"}
    kind = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
    plane.api.create({**kind, "metadata": {"name": "cluster"}, "spec": policy})
    plane.api.patch(f"{CHECKS}/{CHECK}", {"metadata": {"labels": CLAIM}})
    checker = start(plane, "nodemend-checker", "--machine-health-checks=on")
    try:
        yield checker
    finally:
        checker.end()


async def compare(program: Path, nodes: int) -> int:
    with ControlPlane(API_SERVER_ALONE) as plane:
        manager = ClusterApi(plane, program)
        install(plane, "machineHealthChecks.enabled=true")
        async with load_on(plane.kubeconfig) as load:
            await load.make_nodes(range(nodes))
            names = [node_name(number) for number in range(nodes)]
            manager.add_machines(names, LABELS)
            manager.wait_for_nodes(names, within=600)
            manager.add_check(CHECK, LABELS, timeout=TIMEOUT, most=nodes // 10)
            manager.wait_healthy(CHECK, nodes, within=300)
            theirs = await measure("Cluster API's manager", manager.process, plane, load, nodes)
            print(theirs, flush=True)
            manager.process.end()
            with ours(plane) as checker:
                counted = partial(_counts, plane, nodes)
                wait_until("the checker counts", counted, within=120, processes=[checker])
                mine = await measure("our checker", checker, plane, load, nodes)
            print(mine, flush=True)
    better = mine.cpu_per_thousand <= theirs.cpu_per_thousand and mine.late[-1] <= theirs.late[-1]
    ratio = mine.cpu_per_thousand / theirs.cpu_per_thousand
    print(
        f"scale-upstream: {nodes:,} Machines: heartbeats cost {ratio:.2f} times the CPU that they cost"
        f" Cluster API's manager; at most {mine.late[-1]:.2f} s after the deadline, where it takes"
        f" {theirs.late[-1]:.2f} s"
    )
    return 0 if better else 1


def _counts(plane: ControlPlane, nodes: int) -> bool:
    managers = plane.api.get(f"{CHECKS}/{CHECK}")["metadata"].get("managedFields", ())
    by_us = any(one["manager"].startswith("nodemend") for one in managers)
    status = plane.api.get(f"{CHECKS}/{CHECK}").get("status", {})
    return by_us and status.get("currentHealthy") == nodes


def main(nodes: int) -> int:
    program = prepare(API_SERVER_ALONE)
    private_network.enter_network()
    return asyncio.run(compare(program, nodes))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
