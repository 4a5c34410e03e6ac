"""`python -m bench.scale sample|normal|full`: the checker with few and with many real Nodes, in one run."""

import asyncio
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bench.clients.__main__ import Cores, run_client
from bench.clients.node_generator import node_name
from bench.scale.load import Load, condition, heartbeat, load_on
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from installed.manifests import install
from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    MANUAL_REMEDIATION_TEMPLATE,
    NODE_HEALTH_CHECK,
    REMEDIATION_POLICY,
)
from nodemend.controllers.checking.guarding import CALM_NEEDED

FEW = 1_000
EVENTS = 1_000
TRIES = 3
DEADLINES = 110
PERIOD = 5.0
APART = 1.1
"""Seconds between two deadlines: more than the pace, and what one has changed is known before the next."""
AFTER_DEADLINE = 0.1
"""Seconds from a deadline to the bare creation that it is compared with."""
LONG = 300.0
"""So that a storm is over before its first deadline."""

MOST_TIMES_FEW = 1.3
MOST_TIMES_BARE_READ = 1.3
MOST_SECONDS_TO_VERDICT = 1.0
MOST_TIMES_CREATE = 3.0
MOST_BYTES_A_NODE = 2048
REMEDIATIONS = "/apis/nodemend.io/v1alpha1/namespaces/default/manualremediations"
SIZES = {"sample": 3_000, "normal": 10_000, "full": 100_000}


@dataclass(frozen=True, slots=True)
class Costs:
    """Of a checker that watches so many nodes."""

    nodes: int
    start: float
    times_bare_read: float
    cpu_per_event: float
    heartbeat_decisions: int
    resident: int


class Child:
    """The checker's process, and what it tells."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.told: dict[str, Any] = {}

    def wait_for(self, key: str, value: object = None) -> Any:
        """What it says next of that; of `value`, if that is given."""
        assert self._process.stdout is not None
        while key not in self.told or value not in (None, self.told.get("targets")):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the checker ended before it told of {key}")
            self.told |= msgspec.json.decode(line)
        return self.told.pop(key)

    def ask(self, what: str, key: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self.wait_for(key)


@contextmanager
def checker(cores: Cores, kubeconfig: Path) -> Iterator[Child]:
    command = ["taskset", "-c", str(cores.client), sys.executable, "-m", "bench.scale.watched_checker"]
    with subprocess.Popen(
        [*command, str(kubeconfig)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Child(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)


async def measure(cores: Cores, plane: ControlPlane, load: Load, nodes: int) -> Costs:
    """Of several tries the least counts: all else is what the machine did besides."""
    bare, starts = [], []
    for _ in range(TRIES - 1):
        bare.append(_bare_read(cores, plane))
        with checker(cores, plane.kubeconfig) as child:
            starts.append(_started(child, nodes))
    bare.append(_bare_read(cores, plane))
    with checker(cores, plane.kubeconfig) as child:
        starts.append(_started(child, nodes))
        costs = [await _cpu_of_changes(child, load, nodes, status) for status in ("True", "False") * TRIES]
        decided = child.ask("cost", "decisions")
        await load.write_all(heartbeat(number, 7) for number in _some(nodes))
        await asyncio.sleep(2)
        beaten = child.ask("cost", "decisions") - decided
        held = child.ask("held", "resident")
    return Costs(nodes, min(starts), min(starts) / min(bare), min(costs), beaten, held)


async def _cpu_of_changes(child: Child, load: Load, nodes: int, status: str) -> float:
    """Seconds of CPU for each event that changes a condition."""
    before, some = child.ask("cost", "cpu"), _some(nodes)
    await load.write_all(condition(number, "DiskPressure", status) for number in some)
    await asyncio.sleep(2)
    return float(child.ask("cost", "cpu") - before) / len(some)


def _some(nodes: int) -> range:
    return range(0, nodes, max(1, nodes // EVENTS))


def _bare_read(cores: Cores, plane: ControlPlane) -> float:
    result = run_client(cores, sys.executable, "bench.clients.start", "bare", str(plane.kubeconfig))
    return float(result["seconds"])


def _started(child: Child, nodes: int) -> float:
    """Seconds until it decides; that it waits to lead in between is not its work."""
    began = child.wait_for("began")
    synced = child.wait_for("synced")
    leads = child.wait_for("leads")
    decides = child.wait_for("decides")
    child.wait_for("counted", nodes)
    return float(synced - began + decides - max(leads, synced))


async def storm(cores: Cores, plane: ControlPlane, load: Load, nodes: int) -> float:
    """Seconds from the failure that closes the guard until the checker has judged it."""
    failing = min(10_000, nodes * 6 // 10)
    with checker(cores, plane.kubeconfig) as child:
        _started(child, nodes)
        answered = await load.write_all(condition(number, "Ready", "Unknown") for number in range(failing))
        await asyncio.sleep(5)
        judged = child.ask("judged", "judged")
        await load.write_all(condition(number, "Ready", "True") for number in range(failing))
        await asyncio.sleep(2)
    late = sorted(judged.get(name, math.inf) - at for name, at in answered.items())
    print(f"{failing:,} fail at once: judged after {late[len(late) // 2]:.2f} s, the last {late[-1]:.2f} s")
    return float(late[-1])


async def deadlines(cores: Cores, plane: ControlPlane, load: Load, nodes: int) -> tuple[float, float]:
    """p99 of the time from a deadline to its remediation, and of a bare creation, in seconds.

    A deadline is counted from when the API server had taken the failure, though the checker's own clock
    begins when it sees it. Of the creations one falls between any two deadlines: both meet the same machine.
    """
    plane.api.patch("/apis/nodemend.io/v1alpha1/nodehealthchecks/all", {"spec": _thresholds(PERIOD)})
    creations: list[float] = []
    with checker(cores, plane.kubeconfig) as child:
        _started(child, nodes)
        await asyncio.sleep(CALM_NEEDED + 5)
        async with asyncio.TaskGroup() as going:
            failing = going.create_task(_fail_in_turn(load))
            going.create_task(_create_in_turn(load, creations))
        await asyncio.sleep(PERIOD + 2 * APART)
        begun = child.ask("begun", "begun")
        failed = failing.result()
    there = {one["metadata"]["name"] for one in plane.api.list(REMEDIATIONS)}
    if missing := failed.keys() - (there & begun.keys()):
        raise RuntimeError(f"nothing was begun for {sorted(missing)}")
    late = [begun[name] - at - PERIOD for name, at in failed.items()]
    print(f"late by {_spread(late)}, bare creations take {_spread(creations)}")
    return _p99(late), _p99(creations)


async def _fail_in_turn(load: Load) -> dict[str, float]:
    failed = {}
    for number in range(DEADLINES):
        failed[node_name(number)] = await load.write(condition(number, "Ready", "Unknown")[1])
        await asyncio.sleep(APART)
    return failed


async def _create_in_turn(load: Load, creations: list[float]) -> None:
    await asyncio.sleep(PERIOD + AFTER_DEADLINE)
    for number in range(DEADLINES):
        began = time.monotonic()
        body = {"metadata": {"name": f"bare-{number}"}, "spec": {}}
        creations.append(await load.make(MANUAL_REMEDIATION, body, "default") - began)
        await asyncio.sleep(APART)


def _spread(values: list[float]) -> str:
    middle = sorted(values)[len(values) // 2]
    return f"{middle * 1e3:.1f} ms (median) to {max(values) * 1e3:.1f} ms"


def _p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, math.ceil(len(values) * 0.99) - 1)]


def _thresholds(seconds: float) -> dict[str, Any]:
    threshold = {"type": "Ready", "status": "Unknown", "period": f"{seconds:.0f}s", "acceptShortPeriod": True}
    return {"thresholds": [threshold]}


async def set_up(load: Load) -> None:
    template = {"metadata": {"name": "call"}, "spec": {"template": {"spec": {}}}}
    await load.make(MANUAL_REMEDIATION_TEMPLATE, template, "default")
    policy = {
        "mode": "Act",
        "minInterval": "1s",
        "settleTime": "1s",
        "maxConcurrent": 1000,
        "maxConcurrentPercent": 100,
    }
    await load.make(REMEDIATION_POLICY, {"metadata": {"name": "cluster"}, "spec": policy})
    reference = {
        "apiVersion": MANUAL_REMEDIATION_TEMPLATE.api_version,
        "kind": MANUAL_REMEDIATION_TEMPLATE.kind,
        "name": "call",
        "namespace": "default",
    }
    spec = {"selector": {}, "remedies": [{"template": reference}], **_thresholds(LONG)}
    await load.make(NODE_HEALTH_CHECK, {"metadata": {"name": "all"}, "spec": spec})


async def run_all(size: str) -> int:
    cores, many = Cores(), SIZES[size]
    os.sched_setaffinity(0, {cores.server})
    with ControlPlane(API_SERVER_ALONE) as plane:
        os.sched_setaffinity(0, set(cores.available))
        install(plane)
        async with load_on(plane.kubeconfig) as load:
            await set_up(load)
            await load.make_nodes(range(FEW))
            few = await measure(cores, plane, load, FEW)
            print(few)
            await load.make_nodes(range(FEW, many))
            all_ = await measure(cores, plane, load, many)
            print(all_)
            verdict = await storm(cores, plane, load, many)
            late, created = await deadlines(cores, plane, load, many)
    return report(few, all_, verdict, late, created)


def report(few: Costs, many: Costs, verdict: float, late: float, created: float) -> int:
    times_few = many.cpu_per_event / few.cpu_per_event
    a_node = (many.resident - few.resident) / (many.nodes - few.nodes)
    print(
        f"scale: {many.nodes:,} Nodes: CPU an event {times_few:.2f} times that with {few.nodes:,}"
        f" (bar {MOST_TIMES_FEW}); {many.heartbeat_decisions} decisions by heartbeats; verdict on a storm"
        f" after {verdict:.2f} s (bar {MOST_SECONDS_TO_VERDICT:.0f} s); {a_node:.0f} bytes a Node"
        f" (bar {MOST_BYTES_A_NODE}); start {many.times_bare_read:.2f} times the bare read"
        f" (bar {MOST_TIMES_BARE_READ}); from deadline to remediation p99 {late * 1e3:.0f} ms,"
        f" {late / created:.1f} times a bare create (bar {MOST_TIMES_CREATE:.0f})"
    )
    within = (
        times_few <= MOST_TIMES_FEW
        and few.heartbeat_decisions == many.heartbeat_decisions == 0
        and verdict <= MOST_SECONDS_TO_VERDICT
        and a_node <= MOST_BYTES_A_NODE
        and many.times_bare_read <= MOST_TIMES_BARE_READ
        and late <= MOST_TIMES_CREATE * created
    )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(run_all(sys.argv[1] if len(sys.argv) > 1 else "normal")))
