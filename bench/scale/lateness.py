"""The delay of a checker that watches this many Nodes in reacting to an event."""

import asyncio
import math
import time
from typing import Any

from bench.clients.node_generator import node_name
from bench.scale.load import Load, condition
from bench.scale.stage import Stage
from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.guard.evaluator import CALM_NEEDED

DEADLINES = 110
PERIOD = 5.0
APART = 1.1
"""Seconds between two deadlines: more than the start interval, and enough to observe the last change."""
AFTER_DEADLINE = 0.1
"""Seconds from a deadline to the bare creation that it is compared with."""
MOST_AT_ONCE = 10_000
REMEDIATIONS = "/apis/nodemend.io/v1alpha1/namespaces/default/manualremediations"


def thresholds(seconds: float) -> dict[str, Any]:
    threshold = {"type": "Ready", "status": "Unknown", "period": f"{seconds:.0f}s", "acceptShortPeriod": True}
    return {"thresholds": [threshold]}


async def storm(stage: Stage, nodes: int) -> float:
    """Seconds from a failure until the checker has evaluated it, for the last of very many at once."""
    failing = range(min(MOST_AT_ONCE, nodes * 6 // 10))
    with stage.checker() as child:
        child.wait_for_start(nodes)
        answered = await stage.load.write_all(condition(number, "Ready", "Unknown") for number in failing)
        await asyncio.sleep(5)
        judged = child.ask("judged", "judged")
        await stage.load.write_all(condition(number, "Ready", "True") for number in failing)
        await asyncio.sleep(2)
    late = sorted(judged.get(name, math.inf) - at for name, at in answered.items())
    middle, last = late[len(late) // 2], late[-1]
    print(f"{len(failing):,} fail at once: judged after {middle:.2f} s, the last {last:.2f} s", flush=True)
    return float(last)


async def deadlines(stage: Stage, nodes: int) -> tuple[float, float]:
    """p99 of the time from a deadline to its remediation, and of a bare creation, in seconds.

    A deadline counts from the API server's acceptance of the failure, though the checker's own clock starts
    when it observes it. One bare creation is between any two deadlines, so both have the same load.
    """
    stage.plane.api.patch("/apis/nodemend.io/v1alpha1/nodehealthchecks/all", {"spec": thresholds(PERIOD)})
    creations: list[float] = []
    with stage.checker() as child:
        child.wait_for_start(nodes)
        await asyncio.sleep(CALM_NEEDED + 5)
        async with asyncio.TaskGroup() as going:
            failing = going.create_task(_fail_in_turn(stage.load))
            going.create_task(_create_in_turn(stage.load, creations))
        await asyncio.sleep(PERIOD + 2 * APART)
        begun = child.ask("begun", "begun")
        failed = failing.result()
    there = {one["metadata"]["name"] for one in stage.plane.api.list(REMEDIATIONS)}
    if missing := failed.keys() - (there & begun.keys()):
        raise RuntimeError(f"nothing was begun for {sorted(missing)}")
    late = [begun[name] - at - PERIOD for name, at in failed.items()]
    print(f"late by {_spread(late)}, bare creations take {_spread(creations)}", flush=True)
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
    return sorted(values)[math.ceil(len(values) * 0.99) - 1]
