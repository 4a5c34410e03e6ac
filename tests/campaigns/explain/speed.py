"""The cost of `kubectl mend simulate` on a large snapshot, from the start of the program to its end.

It has one thread that never waits: with a free core its duration is its CPU time. The limit applies to the
CPU time, so that other load on the machine does not matter.
"""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.clients.node_generator import make_node
from tests.unit.cli.simulate.clusters import Object, check, policy

NODES: Final = 5_000
TRIES: Final = 5
"""The best run counts, since others may include load of the machine."""
RACKS: Final = "topology.example.org/rack"
STORM: Final = ("--fail", "*:60%@2m", "--heal", "*:95%@20m", "--for", "4h")
"""A storm of 3,000 nodes that ends, and leaves 150 in as many racks, which take hours to remediate."""
_WITHIN: Final = 120.0
_PROGRAM: Final = "import sys; from nodemend.cli.main import main; sys.exit(main())"


def write_snapshot(file: Path) -> None:
    """Write it as kubectl prints it: fields in order of their names, much white space, no managed fields."""
    items: list[Object] = [make_node(number) for number in range(NODES)]
    for node in items:
        node["metadata"].pop("managedFields", None)
    items += [check("all", maxUnhealthy="100%"), policy(failureDomains={"key": RACKS})]
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}
    file.write_text(json.dumps(listed, sort_keys=True, indent=4))


@dataclass(frozen=True, order=True)
class Cost:
    """Seconds: CPU time, and wall-clock time."""

    cpu: float
    wall: float


def best_cost(folder: Path) -> Cost:
    """Raises AssertionError if the output cannot be correct."""
    snapshot = folder / "snapshot.json"
    write_snapshot(snapshot)
    # Installed programs are compiled, and so is this one: by the first run, which does not count.
    compiled = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    compiled.pop("PYTHONDONTWRITEBYTECODE", None)
    _check(json.loads(_run(snapshot, compiled, "-o", "json")))
    return min(_cost(snapshot, compiled) for _ in range(TRIES))


def _cost(snapshot: Path, environment: dict[str, str]) -> Cost:
    began, used = time.monotonic(), _cpu_of_children()
    _run(snapshot, environment)
    return Cost(_cpu_of_children() - used, time.monotonic() - began)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(snapshot: Path, environment: dict[str, str], *more: str) -> str:
    command = [sys.executable, "-c", _PROGRAM, "simulate", "--snapshot", str(snapshot), *STORM, *more]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=_WITHIN
    ).stdout


def _check(view: dict[str, Any]) -> None:
    totals = view["totals"]
    assert (totals["failed"], totals["unhealthy"]) == (3_000, 3_000)
    assert 0 < totals["remediated"] == totals["begun"] <= 150
    assert totals["mostAtOnce"] <= view["given"]["rules"]["mostAtOnce"] == 10
