"""The cost of a checker that watches this many Nodes: at its start, for each event, in memory."""

import asyncio
import sys
from dataclasses import dataclass

from bench.clients.__main__ import run_client
from bench.scale.load import condition, heartbeat
from bench.scale.stage import Child, Stage

EVENTS = 1_000
TRIES = 3


@dataclass(frozen=True, slots=True)
class Costs:
    nodes: int
    start: float
    """Seconds from nothing until it has evaluated every node."""
    bare_read: float
    """Seconds to read the same Nodes in pages without keeping them."""
    cpu_per_event: float
    heartbeat_decisions: int
    resident: int


async def measure(stage: Stage, nodes: int) -> Costs:
    """The least of several tries counts: any excess is other load on the machine."""
    bare, starts = [], []
    for _ in range(TRIES - 1):
        bare.append(_read_bare(stage))
        with stage.checker() as child:
            starts.append(child.wait_for_start(nodes))
    bare.append(_read_bare(stage))
    with stage.checker() as child:
        starts.append(child.wait_for_start(nodes))
        costs = [await _cpu_of_changes(stage, child, nodes, status) for status in ("True", "False") * TRIES]
        decided = child.ask("cost", "decisions")
        await stage.load.write_all(heartbeat(number, 7) for number in _some(nodes))
        await asyncio.sleep(2)
        beaten = child.ask("cost", "decisions") - decided
        held = child.ask("held", "resident")
    print(f"{nodes:,} Nodes: starts {_seconds(starts)}, bare reads {_seconds(bare)}", flush=True)
    return Costs(nodes, min(starts), min(bare), min(costs), beaten, held)


async def _cpu_of_changes(stage: Stage, child: Child, nodes: int, status: str) -> float:
    """Seconds of CPU for each event that changes a condition."""
    before, some = child.ask("cost", "cpu"), _some(nodes)
    await stage.load.write_all(condition(number, "DiskPressure", status) for number in some)
    await asyncio.sleep(2)
    return float(child.ask("cost", "cpu") - before) / len(some)


def _some(nodes: int) -> range:
    return range(0, nodes, max(1, nodes // EVENTS))


def _read_bare(stage: Stage) -> float:
    kubeconfig = str(stage.plane.kubeconfig)
    return float(
        run_client(stage.cores, sys.executable, "bench.clients.start", "bare", kubeconfig)["seconds"]
    )


def _seconds(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values) + " s"
