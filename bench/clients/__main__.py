"""`python -m bench.clients sample|normal|full`: Nodemend's client beside a lower bound and other clients, in
one run.

Rounds of Nodemend's client and of the others alternate, and the best of all rounds counts, lap by lap: that
reduces the influence of other load on the machine. Servers are pinned to one core and clients to another. The
last line has the results; exits 1 if one of them is over its limit.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.clients.environments import python_of
from bench.clients.node_generator import HEARTBEATS
from bench.clients.real_nodes import create_nodes
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from exit_status import exit_status

ROOT = Path(__file__).parents[2]
PACKAGE = "bench.clients"

OTHER_CLIENTS = ("lightkube", "kubernetes", "kopf", "kr8s")
STARTS = ("bare", "list", "stream")

MOST_TIMES_FLOOR = 1.5
MOST_BYTES_A_NODE = 2048
MOST_TIMES_BARE_READ = 1.3
_LONGEST_RUN_SECONDS = 900


@dataclass(frozen=True, slots=True)
class Size:
    """The sizes of a run. `other_nodes` are fewer if the slowest client would take minutes."""

    watch_nodes: int
    other_client_nodes: int
    real_nodes: int
    records: int
    rounds: int


SIZES = {
    "sample": Size(watch_nodes=4_000, other_client_nodes=200, real_nodes=2_000, records=20_000, rounds=8),
    "normal": Size(
        watch_nodes=10_000, other_client_nodes=1_000, real_nodes=10_000, records=100_000, rounds=10
    ),
    "full": Size(
        watch_nodes=10_000, other_client_nodes=10_000, real_nodes=100_000, records=100_000, rounds=10
    ),
}

Result = dict[str, Any]


@dataclass
class Cores:
    """One core for servers, the last one for clients; the same if there is only one."""

    available: list[int] = field(default_factory=lambda: sorted(os.sched_getaffinity(0)))

    @property
    def server(self) -> int:
        return self.available[0]

    @property
    def client(self) -> int:
        return self.available[-1]


def run_client(cores: Cores, python: Path | str, *arguments: str) -> Result:
    """One run of one program, in a separate process."""
    command = ["taskset", "-c", str(cores.client), str(python), "-m", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=_LONGEST_RUN_SECONDS, check=False
    )
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            result: Result = json.loads(line.removeprefix("RESULT "))
            return result
    raise RuntimeError(f"{' '.join(arguments)} gave no result: {done.stderr[-2000:]}")


@contextmanager
def node_server(cores: Cores, nodes: int) -> Iterator[str]:
    """The port of a server of synthetic Nodes, which runs until exit."""
    command = [sys.executable, "-m", f"{PACKAGE}.node_server", str(nodes), str(cores.server)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(timeout=30)


def compare_watches(cores: Cores, size: Size) -> dict[str, list[Result]]:
    results: dict[str, list[Result]] = defaultdict(list)
    with node_server(cores, size.watch_nodes) as port:
        for _ in range(size.rounds):
            for program in ("floor", "own_client"):
                result = run_client(cores, sys.executable, f"{PACKAGE}.{program}", port)
                results[result["client"]].append(result)
    with node_server(cores, size.other_client_nodes) as port:
        for conflict in OTHER_CLIENTS:
            results[conflict].append(
                run_client(cores, python_of(conflict), f"{PACKAGE}.other_{conflict}", port)
            )
    return results


def compare_starts(cores: Cores, size: Size) -> dict[str, list[Result]]:
    results: dict[str, list[Result]] = defaultdict(list)
    # Processes started from here inherit the servers' core.
    os.sched_setaffinity(0, {cores.server})
    try:
        with ControlPlane(API_SERVER_ALONE) as plane:
            os.sched_setaffinity(0, {cores.client})
            asyncio.run(create_nodes(plane.kubeconfig, size.real_nodes))
            for _ in range(size.rounds):
                for mode in STARTS:
                    result = run_client(
                        cores, sys.executable, f"{PACKAGE}.start", mode, str(plane.kubeconfig)
                    )
                    assert mode == "bare" or result["cached"] == size.real_nodes, result
                    results[mode].append(result)
    finally:
        os.sched_setaffinity(0, cores.available)
    return results


def best_laps(results: list[Result], laps: str) -> list[float]:
    """The best of all rounds for each lap, in seconds.

    Other load on the machine only adds to a lap, and hits different laps in different rounds.
    """
    rounds = [[end - begin for begin, end in pairwise([0.0, *run[laps]])] for run in results]
    return [min(of_each) for of_each in zip(*rounds, strict=False)]


def cleanest(results: list[Result], laps: str) -> float:
    """Seconds of a run put together from its best laps."""
    return sum(best_laps(results, laps))


def cleanest_us_per_event(results: list[Result]) -> float:
    return cleanest(results, "cpu_laps") / int(results[0]["events"]) * 1e6


def print_phases(results: dict[str, list[Result]]) -> None:
    """The first laps of a watch are Nodes added, the rest are heartbeats."""
    floor, ours = (best_laps(results[client], "cpu_laps") for client in ("floor", "nodemend"))
    added = len(floor) // (HEARTBEATS + 1)
    for phase, laps in (("added", slice(0, added)), ("heartbeats", slice(added + 1, -1))):
        print(f"{phase}: {sum(ours[laps]) / sum(floor[laps]):.2f} times the floor")


def least(results: list[Result], figure: str) -> float:
    return min(float(result[figure]) for result in results)


def print_watches(results: dict[str, list[Result]]) -> None:
    floor = cleanest_us_per_event(results["floor"])
    print(f"{'client':<12}{'CPU/event':>12}{'x floor':>10}{'events':>10}{'MB/10,000':>12}{'longest GC':>12}")
    for client, runs in sorted(results.items(), key=lambda named: cleanest_us_per_event(named[1])):
        cpu = cleanest_us_per_event(runs)
        kept = least(runs, "cache_bytes") / max(runs[0]["cached"], 1) / 100 if runs[0]["cached"] else 0.0
        print(
            f"{client:<12}{cpu:>9.1f} us{cpu / floor:>10.2f}{runs[0]['events']:>10}{kept:>12.1f}"
            f"{least(runs, 'longest_gc_ms'):>9.1f} ms"
        )


def main(size: Size) -> int:
    # A higher priority, if permitted: waiting for a core is not a property of a client.
    with suppress(PermissionError):
        os.nice(-15)
    cores = Cores()
    watches = compare_watches(cores, size)
    print_watches(watches)
    print_phases(watches)
    records = run_client(cores, sys.executable, f"{PACKAGE}.records", str(size.records))
    starts = compare_starts(cores, size)
    for mode in STARTS:
        runs = starts[mode]
        print(
            f"start, {size.real_nodes} real Nodes, {mode}: {cleanest(runs, 'laps'):.2f} s, "
            f"CPU {least(runs, 'cpu_seconds'):.2f} s, peak {least(runs, 'peak_bytes') / 1e6:.0f} MB"
        )
    times_floor = cleanest_us_per_event(watches["nodemend"]) / cleanest_us_per_event(watches["floor"])
    bytes_a_node = records["cache_bytes"] / records["cached"]
    bare = cleanest(starts["bare"], "laps")
    times_bare = cleanest(starts["list"], "laps") / bare
    times_bare_streamed = cleanest(starts["stream"], "laps") / bare
    # Every Node was added, and the last one: all else that came were heartbeats.
    heartbeat_wakes = max(int(run["wakes"]) - int(run["cached"]) for run in watches["nodemend"])
    print(
        f"bench-clients: {times_floor:.2f} times the floor a watch event (bar {MOST_TIMES_FLOOR}); "
        f"{bytes_a_node:.0f} bytes a Node of {records['cached']} (bar {MOST_BYTES_A_NODE}); "
        f"start with {size.real_nodes} real Nodes {times_bare:.2f} times the bare paged read "
        f"(bar {MOST_TIMES_BARE_READ}; {times_bare_streamed:.2f} as a stream); "
        f"{heartbeat_wakes} reconciles woken by heartbeats"
    )
    return exit_status(
        wrong=bytes_a_node > MOST_BYTES_A_NODE or heartbeat_wakes > 0,
        late=times_floor > MOST_TIMES_FLOOR or times_bare > MOST_TIMES_BARE_READ,
    )


if __name__ == "__main__":
    sys.exit(main(SIZES[sys.argv[1] if len(sys.argv) > 1 else "normal"]))
