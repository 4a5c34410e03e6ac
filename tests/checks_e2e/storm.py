"""Most nodes turn Unknown at once: nothing is asked for; afterwards only what is still sick is."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from controlplane.api import Api
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from tests.checks_e2e.populations import Population, provider_id
from tests.checks_e2e.silence import asked, seen, set_up

SECONDS = 15
HANDS = 8
"""Threads that play the node lifecycle controller."""


@dataclass(frozen=True, slots=True)
class Storm:
    """Of `total` nodes `failed` did; `asked` requests came meanwhile, `stale` ones afterwards."""

    total: int
    failed: int
    asked: int
    stale: int
    closed_after: float
    """Seconds from the first failure until the check says that it holds."""


def rage(population: Population, total: int) -> Storm:
    names = [f"n-{number:04}" for number in range(total)]
    failed = names[: total * 6 // 10]
    with ControlPlane(API_SERVER_ALONE) as plane:
        api = plane.api
        checker = set_up(plane, {"settleTime": "5s"})
        _all(api, names, _make)
        population.settle(api, names)
        population.watch_over(api, SECONDS, "40%")
        wait_until("all are seen", partial(seen, api, population, total), within=180, processes=[checker])
        time.sleep(25)
        began = time.monotonic()
        _all(api, failed, partial(_report, status="Unknown"))
        wait_until("the check holds", partial(_holds, api, population), within=60, processes=[checker])
        closed_after = time.monotonic() - began
        time.sleep(SECONDS + 10)
        during = len(asked(api))
        _all(api, failed[1:], partial(_report, status="True"))
        wait_until(
            "the one that is left is asked for", lambda: bool(asked(api)), within=90, processes=[checker]
        )
        time.sleep(10)
        stale = len(set(asked(api)) - {failed[0]})
    return Storm(total, len(failed), during, stale, closed_after)


def _all(api: Api, names: Sequence[str], do: object) -> None:
    if not callable(do):
        raise TypeError(do)
    with ThreadPoolExecutor(HANDS) as hands:
        list(hands.map(partial(do, api), names))


def _make(api: Api, name: str) -> None:
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    api.create(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"providerID": provider_id(name)}}
    )
    _report(api, name, status="True")


def _report(api: Api, name: str, *, status: str) -> None:
    ready = {"type": "Ready", "status": status, "reason": "Played", "message": ""}
    api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [ready]}})


def _holds(api: Api, population: Population) -> bool:
    conditions = api.get(population.check).get("status", {}).get("conditions", ())
    shown = {one["type"]: one["status"] for one in conditions}
    return shown.get("RemediationAllowed") == "False"
