"""The cost of the shipped remediator with this many Nodes: peak memory, start-up time, requests.

All features that read all Nodes are on: power cycles and self-fencing.
"""

import os
import re
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.process_costs import memory_of
from bench.scale.stage import Stage
from controlplane.ports import LOOPBACK, free_port
from controlplane.process import Process
from controlplane.waiting import wait_until
from installed.programs import start

SETTINGS: Final = ("powerCycle.enabled=true", "selfFencing.enabled=true")
"""Settings of the chart."""
FLAGS: Final = ("--power-cycle=on", "--self-fencing=on")
WATCHED_FOR: Final = 30.0
"""Seconds after it has listed all Nodes: it leads by then, and its sweeps have run more than once."""
_SERIES: Final = re.compile(r"^nodemend_api_requests_total\{(.+)\} (\S+)$", re.MULTILINE)
_NODES_SYNCED: Final = re.compile(r'^nodemend_cache_staleness_seconds\{resource="nodes"\} \d', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RemediatorCosts:
    nodes: int
    start: float
    """Seconds from nothing until it has listed all Nodes."""
    peak: int
    resident: int
    requests: int
    lists_of_nodes: int
    """Requests: one for each page."""


def measure_remediator(stage: Stage, nodes: int) -> RemediatorCosts:
    port, began = free_port(), time.monotonic()
    process = start(stage.plane, "nodemend-remediator", *FLAGS, f"--metrics-port={port}")
    try:
        os.sched_setaffinity(process.pid, {stage.cores.client})
        wait_until("it has listed all Nodes", partial(_has_synced, port), within=300, processes=[process])
        took = time.monotonic() - began
        time.sleep(WATCHED_FOR)
        return _costs(process, port, nodes, took)
    finally:
        process.end()


def _costs(process: Process, port: int, nodes: int, took: float) -> RemediatorCosts:
    requests = Counter[str]()
    for labels, value in _SERIES.findall(_scrape(port)):
        named = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        requests[f"{named['verb']} {named['resource']}"] += int(float(value))
    resident, peak = memory_of(process.pid)
    most = ", ".join(f"{times} {what}" for what, times in requests.most_common(5))
    print(
        f"{nodes:,} Nodes: the remediator has listed them after {took:.2f} s, then asked: {most}", flush=True
    )
    return RemediatorCosts(nodes, took, peak, resident, requests.total(), requests["list nodes"])


def _has_synced(port: int) -> bool:
    return _NODES_SYNCED.search(_scrape(port)) is not None


def _scrape(port: int) -> str:
    """The metrics; empty before it answers."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=5.0) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""
