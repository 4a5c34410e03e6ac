"""`python -m bench.workload_clusters`: the cost of the shipped checker over many clusters.

The last line has the results; exits 1 if one of them is over its limit.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.process_costs import cpu_of, memory_of
from bench.workload_clusters import objects
from controlplane.process import Process
from controlplane.waiting import wait_until
from installed.programs import program

MOST_BYTES_A_NODE: Final = 2048
MOST_BYTES_A_CLUSTER: Final = 100 * 1024
MOST_BYTES_AT_ONCE: Final = 24 * 1024 * 1024
"""For the concurrent lists, regardless of the number of clusters."""
MOST_IDLE_SHARE: Final = 0.10
_WITHIN: Final = 900.0
_QUIET: Final = 30.0


@dataclass(frozen=True, slots=True)
class Figures:
    """The results of one run of the checker: bytes and seconds."""

    resident: int
    peak: int
    ready_after: float
    cpu: float
    idle_share: float


@contextmanager
def running(command: list[str], log: Path) -> Iterator[Process]:
    """A process that ends with the context, or with this process for any reason."""
    process = Process(command, log=log)
    try:
        yield process
    finally:
        process.end()


def make_certificates(folder: Path) -> None:
    for name, more in (("server", ["-addext", "subjectAltName=IP:127.0.0.1"]), ("client", [])):
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        command += ["-subj", f"/O=system:masters/CN={name}", *more]
        command += ["-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.crt")]
        subprocess.run(command, check=True, capture_output=True, timeout=60)


def measure(folder: Path, *, observations: bool, machines: int) -> Figures:
    """Run until every machine is evaluated; with `looks`, healthy. Then an idle period."""
    switch = "on" if observations else "off"
    flags = [
        f"--kubeconfig={folder / 'kubeconfig'}",
        "--probe-address=127.0.0.1",
        "--probe-port=0",
        "--metrics-address=127.0.0.1",
        "--metrics-port=0",
        "--log-form=json",
        "--log-level=info",
        "--machine-health-checks=on",
        f"--workload-clusters={switch}",
    ]
    log = folder / f"checker-{switch}.log"
    began = time.monotonic()
    with running([str(program("nodemend-checker")), *flags], log) as checker:
        wanted = "healthy" if observations else "unjudged"
        while (counted := count(log, wanted)) < machines:
            if not checker.running or time.monotonic() - began > _WITHIN:
                print(log.read_text()[-3000:])
                raise SystemExit(f"{counted} of {machines} machines are {wanted}")
            time.sleep(1.0)
        ready_after, cpu = time.monotonic() - began, cpu_of(checker.pid)
        time.sleep(_QUIET)
        settled = cpu_of(checker.pid)
        time.sleep(_QUIET)
        idle = (cpu_of(checker.pid) - settled) / _QUIET
        return Figures(*memory_of(checker.pid), ready_after, cpu, idle)


def count(log: Path, state: str) -> int:
    """The number of Machines in a state, from the checker's own metrics."""
    found = re.search(r'"metrics":(\d+)', log.read_text())
    if found is None:
        return 0
    with urllib.request.urlopen(f"http://127.0.0.1:{found[1]}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    values = re.findall(rf'^nodemend_nodes{{.*state="{state}"}} (\S+)$', text, re.MULTILINE)
    return int(sum(map(float, values)))


def serve(servers: ExitStack, folder: Path, name: str, *arguments: int) -> int:
    """The port of a server, which ends with `servers`."""
    command = [sys.executable, "-m", "bench.workload_clusters.server", str(folder), *map(str, arguments)]
    log = folder / f"{name}.log"
    serving = servers.enter_context(running(command, log))
    wait_until(f"{name} listens", lambda: log.read_text().endswith("\n"), within=60.0, processes=[serving])
    return int(log.read_text())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=100, help="of each cluster")
    asked = parser.parse_args()
    machines = asked.clusters * asked.nodes
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_certificates(folder)
        with ExitStack() as servers:
            far = serve(servers, folder, "far", asked.clusters, asked.nodes)
            near = serve(servers, folder, "near", asked.clusters, asked.nodes, far)
            address, authority = f"https://127.0.0.1:{near}", (folder / "server.crt").read_bytes()
            (folder / "kubeconfig").write_text(objects.our_kubeconfig(address, authority))
            without = measure(folder, observations=False, machines=machines)
            looking = measure(folder, observations=True, machines=machines)
    return tell(without, looking, asked.clusters, asked.nodes)


def tell(without: Figures, looking: Figures, clusters: int, nodes: int) -> int:
    cost = looking.resident - without.resident
    most = clusters * (nodes * MOST_BYTES_A_NODE + MOST_BYTES_A_CLUSTER) + MOST_BYTES_AT_ONCE
    for name, summary in (("off", without), ("on", looking)):
        print(
            f"workload clusters {name}: {_mib(summary.resident)} resident, {_mib(summary.peak)} at most; all"
            f" judged after {summary.ready_after:.0f} s and {summary.cpu:.0f} s of CPU;"
            f" then {summary.idle_share:.1%} of a core"
        )
    passed = cost <= most and looking.idle_share <= MOST_IDLE_SHARE
    print(
        f"{'ok' if passed else 'FAILED'}: {clusters} clusters of {nodes} nodes cost {_mib(cost)} (bar"
        f" {_mib(most)}), {cost / clusters / 1024:.0f} KiB a cluster; the checker holds"
        f" {_mib(looking.resident)}; idle {looking.idle_share:.1%} of a core (bar {MOST_IDLE_SHARE:.0%})"
    )
    return 0 if passed else 1


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
