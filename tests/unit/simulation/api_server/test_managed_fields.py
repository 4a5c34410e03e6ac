from typing import Any

from nodemend.api.resources import LEASE, NODE
from tests.unit.simulation.api_server.client import WIDGET, Client


def owners(object_: Any) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in object_["metadata"]["managedFields"]}


def times(object_: Any) -> dict[str, str]:
    return {entry["manager"]: entry.get("time", "") for entry in object_["metadata"]["managedFields"]}


def test_who_changes_a_field_owns_it_from_then_on() -> None:
    client = Client()
    client.create(LEASE, "a", "default", spec={"holderIdentity": "x", "leaseDurationSeconds": 5})

    _, changed = client.patch(LEASE, "a", "default", change={"spec": {"holderIdentity": "y"}}, by="other")

    assert owners(changed) == {
        "me": {"f:spec": {"f:leaseDurationSeconds": {}}},
        "other": {"f:spec": {"f:holderIdentity": {}}},
    }


def test_the_time_of_an_owner_moves_only_when_it_changes_something() -> None:
    client = Client()
    client.create(WIDGET, "w", "default", spec={"size": 1})
    client.later(seconds=10)

    _, same = client.patch(WIDGET, "w", "default", change={"spec": {"size": 1}})
    _, moved = client.patch(WIDGET, "w", "default", change={"spec": {"size": 2}})

    assert times(same) == {"me": "2026-01-01T12:00:00Z"}
    assert times(moved) == {"me": "2026-01-01T12:00:10Z"}


def test_a_status_is_owned_apart_from_the_rest() -> None:
    client = Client()
    client.create(WIDGET, "w", "default", spec={"size": 1})

    _, changed = client.patch(WIDGET, "w", "default", change={"status": {"epoch": 1}}, part="status")

    entries = changed["metadata"]["managedFields"]
    assert [(entry.get("subresource", ""), entry["fieldsV1"].keys()) for entry in entries] == [
        ("", {"f:spec"}),
        ("status", {"f:status"}),
    ]


def test_more_than_ten_updaters_are_thrown_together() -> None:
    client = Client()
    client.create(NODE, "n", metadata={"labels": {"app": "a"}})
    changed: Any = None
    for number in range(12):
        client.later(seconds=1)
        label = {"metadata": {"labels": {f"l{number}": "x"}}}
        _, changed = client.patch(NODE, "n", change=label, by=f"m{number:02}")

    assert len(owners(changed)) == 10
    assert owners(changed)["ancient-changes"]["f:metadata"]["f:labels"].keys() >= {"f:l0", "f:l1"}


def test_an_apply_takes_fields_only_by_force_and_releases_those_it_no_longer_names() -> None:
    client = Client()
    client.create(WIDGET, "w", "default", spec={"size": 1, "tags": ["mine"]})

    refused, why = client.apply(WIDGET, "w", "default", fields={"spec": {"size": 2}}, by="applier")
    taken, _ = client.apply(
        WIDGET, "w", "default", fields={"spec": {"size": 2, "tags": ["its"]}}, by="applier", force=True
    )
    _, less = client.apply(WIDGET, "w", "default", fields={"spec": {"size": 2}}, by="applier")

    assert (refused, why["reason"], why["details"]["causes"][0]["field"]) == (409, "Conflict", ".spec.size")
    assert taken == 200
    assert less["spec"]["tags"] == ["mine"]
    assert owners(less)["applier"] == {"f:spec": {"f:size": {}}}
