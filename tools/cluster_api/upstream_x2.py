"""Reproduces a defect of Cluster API v1.13.6: a second failing Machine may stay without a remediation.

With a remediation template, its loop over the unhealthy Machines of a check ends at the first that has a
request already (patchUnhealthyTargets); the order of the list varies. So there are pairs of Machines under
one check each: the first fails and gets its request, then the second fails. Control pairs fail together, and
must all be served, so that the result is not an effect of the setup.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster_api.run import ClusterApi
from controlplane.node_objects import condition
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until

SETTINGS: Final = Settings(scheduler=False)
PAIRS: Final = 12
UNHEALTHY_AFTER: Final = 10
# A check is reconciled at most once in 15 s: what has not come by then waits for some event.
WATCHED: Final = 90.0
FIRST, SECOND, TOGETHER = "first", "second", "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of the second Machines and of those that failed together; names."""

    second: tuple[str, ...]
    left_out: tuple[str, ...]
    """Second Machines that fail, under a check that allows remediation, without a request."""
    unmarked: tuple[str, ...]
    """Names in `left_out` of Machines without even an unhealthy condition."""
    together: tuple[str, ...]
    together_left_out: tuple[str, ...]

    @property
    def shown(self) -> bool:
        return bool(self.left_out) and not self.together_left_out

    def __str__(self) -> str:
        return (
            f"{len(self.left_out)} of {len(self.second)} second Machines were left without a request "
            f"{WATCHED:g} s after their deadline ({len(self.unmarked)} of these not even marked unhealthy); "
            f"of {len(self.together)} that failed together {len(self.together_left_out)} were"
        )


def show(program: Path) -> Outcome:
    """Play it on a control plane in this private network: about three minutes."""
    with ControlPlane(SETTINGS) as plane:
        manager = ClusterApi(plane, program)
        first, second, together = _add_pairs(plane, manager)
        _say(f"{len(first + second + together)} Machines are healthy, under {2 * PAIRS} checks")
        _fail(plane, FIRST)
        _wait_for_requests(manager, first)
        _say(f"the first Machine of {PAIRS} pairs has failed and has its request")
        _fail(plane, SECOND, TOGETHER)
        _say(f"the second Machine of these has failed, and both of {PAIRS} other pairs")
        _watch(manager, second, together)
        return _outcome(manager, second, together)


def _add_pairs(plane: ControlPlane, manager: ClusterApi) -> tuple[list[str], list[str], list[str]]:
    first, second = plane.nodes.add(FIRST, PAIRS), plane.nodes.add(SECOND, PAIRS)
    together = plane.nodes.add(TOGETHER, 2 * PAIRS)
    pairs = [*zip(first, second, strict=True), *zip(together[::2], together[1::2], strict=True)]
    for number, pair in enumerate(pairs):
        manager.add_machines(pair, {"pair": str(number)})
    manager.wait_for_nodes([*first, *second, *together])
    for number in range(len(pairs)):
        manager.add_check(f"pair-{number}", {"pair": str(number)}, timeout=UNHEALTHY_AFTER, most=2)
    for number in range(len(pairs)):
        manager.wait_healthy(f"pair-{number}", 2)
    return first, second, together


def _fail(plane: ControlPlane, *groups: str) -> None:
    """Silence these groups, and wait until their Nodes are Unknown."""
    for group in groups:
        plane.nodes.silence(group)
    names = {name for group in groups for name in plane.nodes.names(group)}

    def unknown() -> bool:
        nodes = [node for node in plane.api.list("/api/v1/nodes") if node["metadata"]["name"] in names]
        return all(condition(node, "Ready") == "Unknown" for node in nodes)

    wait_until(f"{', '.join(groups)} are Unknown", unknown, within=60)


def _wait_for_requests(manager: ClusterApi, machines: list[str]) -> None:
    def served() -> bool:
        return set(machines) <= manager.requests().keys()

    wait_until("they have requests", served, within=120, processes=[manager.process])


def _watch(manager: ClusterApi, second: list[str], together: list[str]) -> None:
    """Let the time pass, and print when a request appears."""
    deadline = time.monotonic() + UNHEALTHY_AFTER
    seen = 0
    while (late := time.monotonic() - deadline) < WATCHED:
        manager.process.check()
        requests = manager.requests().keys()
        served = len(requests & set(second)), len(requests & set(together))
        if sum(served) != seen:
            seen = sum(served)
            _say(f"{late:5.1f} s after the deadline: requests for {served[0]} second, {served[1]} together")
        time.sleep(0.5)


def _outcome(manager: ClusterApi, second: list[str], together: list[str]) -> Outcome:
    requests, machines, checks = manager.requests(), manager.machines(), manager.checks()

    def allowed(name: str) -> bool:
        pair = machines[name]["metadata"]["labels"]["pair"]
        return condition(checks[f"pair-{pair}"], "RemediationAllowed") == "True"

    def left_out(names: list[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in requests and allowed(name))

    missed = left_out(second)
    return Outcome(
        second=tuple(second),
        left_out=missed,
        unmarked=tuple(
            name for name in missed if condition(machines[name], "HealthCheckSucceeded") != "False"
        ),
        together=tuple(together),
        together_left_out=left_out(together),
    )


def _say(text: str) -> None:
    print(text, flush=True)
