"""`python -m bench.scale sample|normal|full [steady]`: the controllers with few and with many real Nodes.

All in one run, so that results can be compared. `steady` leaves out results that depend on the machine's load
at one moment: the start is then shown without a limit, and deadlines are not timed.
"""

import asyncio
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.clients.__main__ import Cores
from bench.scale.costs import Costs, measure
from bench.scale.lateness import deadlines, storm, thresholds
from bench.scale.load import Load, load_on
from bench.scale.remediator import SETTINGS, RemediatorCosts, measure_remediator
from bench.scale.stage import Stage
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from exit_status import exit_status
from installed.manifests import install
from nodemend.api.resources import MANUAL_REMEDIATION_TEMPLATE, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.kube.client import PAGE_SIZE

FEW = 1_000
SIZES = {"sample": 3_000, "normal": 10_000, "full": 100_000}
REMEDIATOR_PEAK = (100, 2_430)
"""MB without Nodes, and bytes for each: 15 % more than the 298 MB measured for 100,000."""
ONE_LIST = (1.15, 3)
"""Times its pages, and a few more: the proof of admission policies reads single Nodes now and then."""
LONG = 300.0
"""Seconds: a storm is over before its first deadline."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measurement and its limit. Exceeding it fails the run only if it is `held`."""

    words: str
    value: float
    most: float
    held: bool = True
    timed: bool = False
    """True if other load on the machine increases it."""

    @property
    def missed(self) -> bool:
        return self.held and self.value > self.most

    def __str__(self) -> str:
        return f"{self.words} (bar {self.most:g}{'' if self.held else ', not held here'})"


def summary_of(few: Costs, many: Costs, verdict: float, *, start_held: bool) -> Iterator[Figure]:
    times_few = many.cpu_per_event / few.cpu_per_event
    yield Figure(f"CPU an event {times_few:.2f} times that with {few.nodes:,}", times_few, 1.3, timed=True)
    by_heartbeats = few.heartbeat_decisions + many.heartbeat_decisions
    yield Figure(f"{by_heartbeats} decisions by heartbeats", by_heartbeats, 0)
    yield Figure(f"verdict on a storm after {verdict:.2f} s", verdict, 1, timed=True)
    a_node = (many.resident - few.resident) / (many.nodes - few.nodes)
    yield Figure(f"{a_node:.0f} bytes a Node", a_node, 2048)
    times_bare = many.start / many.bare_read
    yield Figure(f"start {times_bare:.2f} times the bare read", times_bare, 1.3, start_held, timed=True)


def remediator_summary(few: RemediatorCosts, many: RemediatorCosts) -> Iterator[Figure]:
    bare, each = REMEDIATOR_PEAK
    a_node = (many.peak - few.peak) / (many.nodes - few.nodes)
    words = f"remediator {many.peak / 1e6:.0f} MB at its peak, {a_node:.0f} bytes a Node"
    yield Figure(words, many.peak / 1e6, bare + each * many.nodes / 1e6)
    times, more = ONE_LIST
    words = f"{many.requests} requests, {many.lists_of_nodes} of them for lists of Nodes"
    yield Figure(words, many.lists_of_nodes, math.ceil(many.nodes / PAGE_SIZE) * times + more)


def lateness_of(late: float, created: float) -> Figure:
    words = f"from deadline to remediation p99 {late * 1e3:.0f} ms, {late / created:.1f} times a bare create"
    return Figure(words, late / created, 3, timed=True)


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
    spec = {"selector": {}, "remedies": [{"template": reference}], **thresholds(LONG)}
    await load.make(NODE_HEALTH_CHECK, {"metadata": {"name": "all"}, "spec": spec})


async def run_all(nodes: int, *, steady: bool) -> int:
    cores = Cores()
    os.sched_setaffinity(0, {cores.server})
    with ControlPlane(API_SERVER_ALONE) as plane:
        os.sched_setaffinity(0, set(cores.available))
        install(plane, *SETTINGS)
        async with load_on(plane.kubeconfig) as load:
            stage = Stage(cores, plane, load)
            await set_up(load)
            await load.make_nodes(range(FEW))
            few, few_remedied = await measure(stage, FEW), measure_remediator(stage, FEW)
            await load.make_nodes(range(FEW, nodes))
            many = await measure(stage, nodes)
            summary = list(summary_of(few, many, await storm(stage, nodes), start_held=not steady))
            summary += remediator_summary(few_remedied, measure_remediator(stage, nodes))
            if not steady:
                summary.append(lateness_of(*await deadlines(stage, nodes)))
    print(f"scale: {nodes:,} Nodes: {'; '.join(map(str, summary))}")
    missed = [figure for figure in summary if figure.missed]
    return exit_status(wrong=not all(one.timed for one in missed), late=bool(missed))


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case [size] if size in SIZES:
            return asyncio.run(run_all(SIZES[size], steady=False))
        case [size, "steady"] if size in SIZES:
            return asyncio.run(run_all(SIZES[size], steady=True))
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
