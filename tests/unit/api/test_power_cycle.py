"""Allowed power cycle settings, by the schema of a remediation and by that of its template."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.api.resources import METAL3_REMEDIATION, METAL3_REMEDIATION_TEMPLATE, Resource
from nodemend.kube.request import Method, Request, collection_path, item_path
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOTH = pytest.mark.parametrize(
    "resource", [METAL3_REMEDIATION, METAL3_REMEDIATION_TEMPLATE], ids=lambda resource: resource.kind
)


def new_server() -> SimulatedApiServer:
    definitions = [definition_of(custom) for custom in CUSTOM_RESOURCES]
    return SimulatedApiServer(lambda: NOON, definitions=definitions)


def create(
    resource: Resource, spec: dict[str, Any], server: SimulatedApiServer | None = None
) -> tuple[int, dict[str, Any]]:
    """Create it, and return the status code and the message."""
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "m-1"},
        "spec": {"template": {"spec": spec}} if resource is METAL3_REMEDIATION_TEMPLATE else spec,
    }
    path = collection_path(resource, "default")
    request = Request(Method.POST, path, (), msgspec.json.encode(body))
    answer = (server or new_server()).handle(request, ADMIN)
    return answer.status, msgspec.json.decode(answer.body)


@BOTH
def test_a_missing_value_has_its_default(resource: Resource) -> None:
    status, made = create(resource, {})

    assert status == 201
    spec = made["spec"]["template"]["spec"] if resource is METAL3_REMEDIATION_TEMPLATE else made["spec"]
    assert spec == {
        "strategy": "escalate",
        "deleteAfterRetries": 3,
        "powerOffTimeoutSeconds": 300,
        "powerOnTimeoutSeconds": 600,
        "releaseBy": "out-of-service-taint",
    }


@BOTH
@pytest.mark.parametrize(
    "spec",
    [
        {"strategy": "escalate"},
        {"strategy": "retry"},
        {"deleteAfterRetries": 0},
        {"deleteAfterRetries": 1},
        {"deleteAfterRetries": 100},
        {"powerOffTimeoutSeconds": 30},
        {"powerOffTimeoutSeconds": 86_400},
        {"powerOnTimeoutSeconds": 60},
        {"powerOnTimeoutSeconds": 101},
        {"powerOnTimeoutSeconds": 86_400},
    ],
    ids=str,
)
def test_it_is_taken(resource: Resource, spec: dict[str, Any]) -> None:
    assert create(resource, spec)[0] == 201


@BOTH
@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"strategy": "Reboot"}, 'supported values: "escalate", "retry"'),
        ({"strategy": ""}, 'supported values: "escalate", "retry"'),
        ({"strategy": {"type": "Reboot", "retryLimit": 1}}, "must be of type string"),
        ({"deleteAfterRetries": -1}, "should be greater than or equal to 0"),
        ({"deleteAfterRetries": 101}, "should be less than or equal to 100"),
        ({"powerOffTimeoutSeconds": 0}, "should be greater than or equal to 30"),
        ({"powerOffTimeoutSeconds": -1}, "should be greater than or equal to 30"),
        ({"powerOffTimeoutSeconds": 86_401}, "should be less than or equal to 86400"),
        ({"powerOnTimeoutSeconds": 0}, "should be greater than or equal to 60"),
        ({"powerOnTimeoutSeconds": -1}, "should be greater than or equal to 60"),
        ({"powerOnTimeoutSeconds": 59}, "should be greater than or equal to 60"),
        ({"powerOnTimeoutSeconds": 86_401}, "should be less than or equal to 86400"),
    ],
    ids=str,
)
def test_it_is_refused(resource: Resource, spec: dict[str, Any], says: str) -> None:
    status, refusal = create(resource, spec)

    assert status == 422
    assert says in refusal["message"]


@pytest.mark.parametrize("phase", [*Metal3RemediationPhase, "test"])
def test_a_phase_is_one_that_there_is(phase: str) -> None:
    server = new_server()
    _, made = create(METAL3_REMEDIATION, {}, server)
    path = item_path(METAL3_REMEDIATION, "m-1", "default", "status")
    body = msgspec.json.encode({**made, "status": {"phase": phase}})
    answer = server.handle(Request(Method.PUT, path, (), body), ADMIN)

    assert answer.status == (422 if phase == "test" else 200)
