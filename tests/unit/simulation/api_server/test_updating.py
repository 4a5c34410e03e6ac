from typing import Any

import pytest

from nodemend.api.resources import LEASE, NODE
from nodemend.kube.request import Method, item_path
from tests.unit.simulation.api_server.client import WIDGET, Client, version

OTHER = "11111111-2222-4333-8444-555555555555"


def widget() -> tuple[Client, Any]:
    client = Client()
    return client, client.create(WIDGET, "w", "default", spec={"size": 1})


def test_a_stale_version_is_a_conflict_and_changes_nothing() -> None:
    client, made = widget()
    client.patch(WIDGET, "w", "default", change={"spec": {"size": 2}})
    change = {"metadata": {"resourceVersion": version(made)}, "spec": {"size": 3}}

    status, why = client.patch(WIDGET, "w", "default", change=change)

    assert (status, why["reason"]) == (409, "Conflict")
    assert client.get(WIDGET, "w", "default")[1]["spec"]["size"] == 2


def test_another_uid_is_invalid_through_the_object_and_unnoticed_through_its_status() -> None:
    client, _ = widget()

    through_object, _ = client.patch(WIDGET, "w", "default", change={"metadata": {"uid": OTHER}})
    through_status, _ = client.patch(
        WIDGET, "w", "default", change={"metadata": {"uid": OTHER}, "status": {"epoch": 1}}, part="status"
    )

    assert (through_object, through_status) == (422, 200)


def test_another_uid_in_a_put_is_a_conflict() -> None:
    client, made = widget()
    body = {**made, "metadata": {**made["metadata"], "uid": OTHER}}

    assert client.ask(Method.PUT, item_path(WIDGET, "w", "default"), body)[0] == 409


def test_generation_counts_changes_of_the_spec_alone() -> None:
    client, made = widget()

    def generation(**change: Any) -> int:
        part = "status" if "status" in change else ""
        _, changed = client.patch(WIDGET, "w", "default", change=change, part=part)
        return int(changed["metadata"]["generation"])

    assert made["metadata"]["generation"] == 1
    assert generation(metadata={"labels": {"a": "b"}}) == 1
    assert generation(status={"epoch": 1}) == 1
    assert generation(spec={"size": 1}) == 1
    assert generation(spec={"size": 2}) == 2


def test_each_endpoint_changes_its_own_part() -> None:
    client, _ = widget()

    client.patch(WIDGET, "w", "default", change={"spec": {"size": 2}, "status": {"epoch": 9}})
    _, changed = client.patch(
        WIDGET, "w", "default", change={"spec": {"size": 3}, "status": {"epoch": 1}}, part="status"
    )

    assert (changed["spec"]["size"], changed["status"]) == (2, {"epoch": 1})


def test_a_write_without_effect_keeps_the_version() -> None:
    client, made = widget()

    _, same = client.patch(WIDGET, "w", "default", change={"spec": {"size": 1, "unknown": 1}})

    assert same == made


@pytest.mark.parametrize(("resource", "namespace", "code"), [(LEASE, "default", 201), (NODE, "", 404)])
def test_some_kinds_are_created_by_a_put(resource: Any, namespace: str, code: int) -> None:
    body = {"metadata": {"name": "x"}, "spec": {}}

    assert Client().ask(Method.PUT, item_path(resource, "x", namespace), body)[0] == code


def test_a_put_of_a_custom_object_names_its_version() -> None:
    client, made = widget()
    metadata = {key: value for key, value in made["metadata"].items() if key != "resourceVersion"}

    status, why = client.ask(Method.PUT, item_path(WIDGET, "w", "default"), {**made, "metadata": metadata})

    assert (status, why["details"]["causes"][0]["field"]) == (422, "metadata.resourceVersion")


def test_old_versions_are_never_touched() -> None:
    client, _ = widget()
    path = "widgets.example.com/default/w"
    first = client.server.export()[path]
    client.server.lag(WIDGET, client.server.revision)
    client.patch(WIDGET, "w", "default", change={"spec": {"size": 2}, "metadata": {"labels": {"a": "b"}}})
    client.patch(WIDGET, "w", "default", change={"status": {"epoch": 1}}, part="status")

    _, stale = client.get(WIDGET, "w", "default", resourceVersion="0")

    assert client.server.export()[path] != first
    assert stale["spec"] == {"size": 1, "mode": "Off"}
    assert "labels" not in stale["metadata"]
