"""The Machine and check kinds that an API server serves, and the controller that serves the checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.kube.request import Request
from nodemend.records.machine import CLUSTER_API, OPENSHIFT
from nodemend.records.served_kinds import PROVIDER, ServedKinds, find_served_kinds
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import Piece, ScriptedTransport

CHECKS = "machinehealthchecks"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machinehealthchecks.cluster.x-k8s.io"
PLURALS = {"Machine": "machines", "MachineHealthCheck": CHECKS, "Cluster": "clusters"}
FLAT = {well_known.FLAT: "true"}


def status(code: int) -> ApiResponse:
    return ApiResponse(code, msgspec.json.encode({"kind": "Status", "code": code, "message": "no"}))


@dataclass
class ApiServer:
    """`serves` are kinds by version. `instead` are replies by suffix of the path."""

    serves: Mapping[str, tuple[str, ...]]
    labels: Mapping[str, str] = field(default_factory=dict)
    instead: Mapping[str, Reply] = field(default_factory=dict)

    def reply(self, request: Request) -> Reply | list[Piece]:
        for end, reply in self.instead.items():
            if request.path.endswith(end):
                return reply
        if request.path == DEFINITION:
            return ApiResponse(200, msgspec.json.encode({"metadata": {"labels": dict(self.labels)}}))
        version = request.path.removeprefix("/apis/")
        if version in self.serves:
            kinds = [{"name": PLURALS[k], "kind": k, "namespaced": True} for k in self.serves[version]]
            return ApiResponse(200, msgspec.json.encode({"resources": kinds}))
        return (
            ApiResponse(200, b'{"items": []}') if version.rpartition("/")[0] in self.serves else status(404)
        )

    def found(self) -> ServedKinds | None:
        scheduler = Scheduler(1)
        process = SimulatedProcess(scheduler, "p", HostClock())
        client = ApiClient(ScriptedTransport(process, self.reply), process)
        found: list[ServedKinds | None] = []

        async def observation() -> None:
            found.append(await find_served_kinds(client, process.monotonic() + 5))

        process.spawn(observation(), "look")
        scheduler.run(10.0)
        return found[0]


def only_claimed(server: ApiServer, group: str = CLUSTER_API) -> bool:
    found = server.found()
    assert found is not None
    return found.checks[group].only_claimed


OURS = {"cluster.x-k8s.io/v1beta1": ("MachineHealthCheck",), "cluster.x-k8s.io/v1alpha3": ()}


def test_the_newest_served_version_is_used() -> None:
    both = ("Machine", "Cluster", "MachineHealthCheck")
    found = ApiServer({"cluster.x-k8s.io/v1beta1": both, "cluster.x-k8s.io/v1beta2": both}).found()
    assert found is not None
    assert found.machines[CLUSTER_API].machines.version == "v1beta2"
    assert found.checks[CLUSTER_API].checks.version == "v1beta2"
    assert OPENSHIFT not in found.machines


def test_all_checks_of_nodemend_s_own_definition_are_served() -> None:
    assert not only_claimed(ApiServer(OURS, FLAT))


@pytest.mark.parametrize("labels", [{}, {well_known.FLAT: "false"}, FLAT | {PROVIDER: "cluster-api"}])
def test_checks_of_any_other_definition_are_served_only_if_claimed(labels: dict[str, str]) -> None:
    assert only_claimed(ApiServer(OURS, labels))


def test_where_cluster_api_s_own_version_is_served_our_label_says_nothing() -> None:
    """Another installer may apply its definition over Nodemend's and leave the label."""
    assert only_claimed(ApiServer(OURS | {"cluster.x-k8s.io/v1beta2": ("MachineHealthCheck",)}, FLAT))


@pytest.mark.parametrize("code", [403, 404])
def test_a_definition_that_may_not_be_read_is_not_served(code: int) -> None:
    assert only_claimed(ApiServer(OURS, FLAT, {DEFINITION: status(code)}))


def test_a_kind_that_may_not_be_listed_counts_as_absent() -> None:
    found = ApiServer(OURS, FLAT, {CHECKS: status(403)}).found()
    assert found is not None
    assert found.checks == {}


@pytest.mark.parametrize(
    "instead",
    [
        {DEFINITION: status(429)},
        {DEFINITION: status(500)},
        {DEFINITION: Unanswered("reset")},
        {f"v1beta1/{CHECKS}": status(429)},
        {"cluster.x-k8s.io/v1beta1": status(503)},
    ],
)
def test_an_error_of_the_api_server_changes_nothing(instead: dict[str, Reply]) -> None:
    assert ApiServer(OURS, FLAT, instead).found() is None
