"""One node falls silent: its request appears at its deadline, and goes when the node is back."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controlplane.api import Api
from controlplane.process import Process
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from installed.manifests import bind, install
from installed.programs import start
from nodemend.api.keys import SYSTEM_NAMESPACE
from tests.checks_e2e.populations import REQUESTS, Population, prepare

SECONDS = 5
POLICY = "/apis/nodemend.io/v1alpha1/remediationpolicies/cluster"
KINDS = ("cluster-api", "openshift", "metal3")
MACHINES_ON = ("machineHealthChecks.enabled=true",)


@dataclass(frozen=True, slots=True)
class Silence:
    """Seconds: how late the request came, and how long it then outlived its reason."""

    late: float
    withdrawn: float
    withdrawn_while_paused: float


def set_up(plane: ControlPlane, policy: dict[str, object]) -> Process:
    """Nodemend and the kinds of others, with the checker running."""
    install_kinds(plane, *KINDS)
    install(plane, *MACHINES_ON)
    prepare(plane.api)
    bind(plane, "may-reboot", SYSTEM_NAMESPACE, "nodemend-checker")
    plane.api.create(
        {
            "apiVersion": "nodemend.io/v1alpha1",
            "kind": "RemediationPolicy",
            "metadata": {"name": "cluster"},
            "spec": {"mode": "Act", "minInterval": "1s", **policy},
        }
    )
    return start(plane, "nodemend-checker", "--machine-health-checks=on")


def fall_silent(population: Population) -> Silence:
    with ControlPlane(Settings(scheduler=False)) as plane:
        checker = set_up(plane, {"settleTime": "1s"})
        api = plane.api
        nodes = [*plane.nodes.add("a", 1), *plane.nodes.add("b", 3)]
        population.settle(api, nodes)
        population.watch_over(api, SECONDS, "60%")
        wait_until("all are seen", partial(seen, api, population, len(nodes)), within=60, processes=[checker])
        # Young trouble: the checker acts only after the API server has answered well for a while.
        time.sleep(25)
        plane.nodes.silence("a")
        unknown_at = _when("the node is Unknown", partial(_is_unknown, api, "a-0"), checker)
        asked_at = _when("a request is there", partial(_is_asked, api, "a-0"), checker)
        plane.nodes.resume("a")
        back_at = _when("the node is back", partial(_is_ready, api, "a-0"), checker)
        gone_at = _when("the request is gone", partial(_nobody_asked, api), checker)
        plane.nodes.silence("a")
        _when("a second request is there", partial(_is_asked, api, "a-0"), checker)
        api.patch(POLICY, {"spec": {"pause": {"reason": "a test"}}})
        time.sleep(2)
        plane.nodes.resume("a")
        again_at = _when("the node is back again", partial(_is_ready, api, "a-0"), checker)
        ended_at = _when("the second request is gone", partial(_nobody_asked, api), checker)
    return Silence(asked_at - unknown_at - SECONDS, gone_at - back_at, ended_at - again_at)


def _when(what: str, is_so: Callable[[], bool], checker: Process) -> float:
    wait_until(what, is_so, within=60, processes=[checker])
    return time.monotonic()


def seen(api: Api, population: Population, count: int) -> bool:
    status = api.get(population.check).get("status", {})
    return count in (status.get("expectedMachines"), status.get("targets"))


def _ready(api: Api, node: str) -> str:
    conditions = api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
    return next(str(one["status"]) for one in conditions if one["type"] == "Ready")


def _is_unknown(api: Api, node: str) -> bool:
    return _ready(api, node) == "Unknown"


def _is_ready(api: Api, node: str) -> bool:
    return _ready(api, node) == "True"


def asked(api: Api) -> list[str]:
    return [one["metadata"]["name"] for one in api.list(REQUESTS)]


def _is_asked(api: Api, node: str) -> bool:
    return asked(api) == [node]


def _nobody_asked(api: Api) -> bool:
    return asked(api) == []
