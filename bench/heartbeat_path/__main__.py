"""`python -m bench.heartbeat_path [HEARTBEATS]`: the cost of a heartbeat in the shipped checker, beside a
bare watch.

Both watch the Nodes of one real API server over TLS, in separate processes and at the same time: each
heartbeat reaches both. Their idle CPU time is measured before and after, and subtracted. The last line has
the ratio; exits 1 if it is over its limit.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bench.process_costs import cpu_of
from bench.scale.load import Load, heartbeat, load_on
from controlplane.api import Object
from controlplane.run import ADMIN, ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from exit_status import exit_status
from installed.manifests import install
from installed.programs import start

MOST_TIMES_BARE: Final = 1.5
HEARTBEATS: Final = 20_000
NODES: Final = 500
A_SECOND: Final = 300
"""Heartbeats: those of 90,000 Nodes whose kubelets report every five minutes."""
IDLE: Final = 15.0
CHECK: Final = "all-nodes"


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds: during the heartbeats, and in the same time without any."""

    busy: float
    idle: float

    def each(self, heartbeats: int) -> float:
        return (self.busy - self.idle) / heartbeats


@contextmanager
def bare_watch(plane: ControlPlane) -> Iterator[int]:
    """Its process ID, once its stream is open."""
    with tempfile.NamedTemporaryFile("w") as token:
        token.write(plane.users[ADMIN].token)
        token.flush()
        command = [sys.executable, "-m", "bench.heartbeat_path.bare_watch"]
        command += [str(plane.port), str(plane.ca), token.name]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                if process.stdout.readline() != "open\n":
                    raise RuntimeError("the bare watch did not open")
                yield process.pid
            finally:
                process.terminate()


async def measure(load: Load, heartbeats: int, *processes: int) -> list[Cost]:
    before = await _rates(asyncio.sleep(IDLE), *processes)
    began = time.monotonic()
    used = [cpu_of(one) for one in processes]
    await _send(load, heartbeats)
    busy = [cpu_of(one) - earlier for one, earlier in zip(processes, used, strict=True)]
    lasted = time.monotonic() - began
    after = await _rates(asyncio.sleep(IDLE), *processes)
    idle = [(one + other) / 2 * lasted for one, other in zip(before, after, strict=True)]
    return [Cost(*one) for one in zip(busy, idle, strict=True)]


async def _rates(work: Awaitable[None], *processes: int) -> list[float]:
    """CPU seconds per second, of each process."""
    began, used = time.monotonic(), [cpu_of(one) for one in processes]
    await work
    lasted = time.monotonic() - began
    return [(cpu_of(one) - earlier) / lasted for one, earlier in zip(processes, used, strict=True)]


async def _send(load: Load, heartbeats: int) -> None:
    """Evenly over time, so that they arrive one by one as those of many kubelets do."""
    began = time.monotonic()
    for first in range(0, heartbeats, A_SECOND // 10):
        some = range(first, min(first + A_SECOND // 10, heartbeats))
        await load.write_all(heartbeat(number % NODES, number // NODES + 1) for number in some)
        await asyncio.sleep(max(0.0, began + some.stop / A_SECOND - time.monotonic()))
    await asyncio.sleep(1.0)


def _check() -> Object:
    version = "nodemend.io/v1alpha1"
    template = {"apiVersion": version, "kind": "ManualRemediationTemplate", "name": "a", "namespace": "b"}
    return {
        "apiVersion": version,
        "kind": "NodeHealthCheck",
        "metadata": {"name": CHECK},
        "spec": {
            "selector": {},
            "thresholds": [{"type": "Ready", "status": "Unknown", "period": "300s"}],
            "remedies": [{"template": template}],
        },
    }


def _counts(plane: ControlPlane) -> bool:
    path = f"/apis/nodemend.io/v1alpha1/nodehealthchecks/{CHECK}"
    status: Object = plane.api.get(path).get("status", {})
    return bool(status.get("targets") == NODES)


async def compare(heartbeats: int) -> int:
    with ControlPlane(API_SERVER_ALONE) as plane:
        install(plane)
        async with load_on(plane.kubeconfig) as load:
            await load.make_nodes(range(NODES))
            plane.api.create(_check())
            checker = start(plane, "nodemend-checker")
            wait_until("the checker counts", lambda: _counts(plane), within=120, processes=[checker])
            with bare_watch(plane) as bare:
                ours, floor = await measure(load, heartbeats, checker.pid, bare)
    times = ours.each(heartbeats) / floor.each(heartbeats)
    for name, cost in (("the checker", ours), ("a bare watch", floor)):
        each = cost.each(heartbeats) * 1e6
        print(f"{name}: {each:.0f} us of CPU a heartbeat; {cost.idle:.2f} of {cost.busy:.2f} s were idle")
    print(
        f"heartbeat-path: {times:.2f} times a bare TLS watch with the same decoding,"
        f" {heartbeats:,} heartbeats (bar {MOST_TIMES_BARE})"
    )
    return exit_status(wrong=False, late=times > MOST_TIMES_BARE)


if __name__ == "__main__":
    sys.exit(asyncio.run(compare(int(sys.argv[1]) if len(sys.argv) > 1 else HEARTBEATS)))
