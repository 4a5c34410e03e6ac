from typing import Any

from nodemend.api.resources import NODE
from tests.unit.simulation.api_server.client import WIDGET, Client, names


def owned_by(*owners: Any, blocks: bool = False) -> dict[str, Any]:
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
        }
        for owner in owners
    ]
    return {"ownerReferences": references}


def collect(client: Client) -> int:
    return sum(iter(client.server.collect_garbage, 0))


def test_what_has_lost_all_its_owners_goes() -> None:
    client = Client()
    one, other = client.create(NODE, "one"), client.create(NODE, "other")
    client.create(WIDGET, "of-one", "default", metadata=owned_by(one), spec={"size": 1})
    client.create(WIDGET, "of-both", "default", metadata=owned_by(one, other), spec={"size": 1})
    client.create(WIDGET, "of-none", "default", spec={"size": 1})
    client.delete(NODE, "one")

    collect(client)
    _, left = client.list(WIDGET, "default")

    assert names(left) == ["of-both", "of-none"]
    assert [one["name"] for one in left["items"][0]["metadata"]["ownerReferences"]] == ["other"]


def test_an_owner_of_the_same_name_is_another_owner() -> None:
    client = Client()
    first = client.create(NODE, "n")
    client.create(WIDGET, "w", "default", metadata=owned_by(first), spec={"size": 1})
    client.delete(NODE, "n")
    client.create(NODE, "n")

    collect(client)

    assert client.get(WIDGET, "w", "default")[0] == 404


def test_a_foreground_deletion_waits_for_what_blocks_it() -> None:
    client = Client()
    owner = client.create(WIDGET, "owner", "default", spec={"size": 1})
    metadata = {**owned_by(owner, blocks=True), "finalizers": ["a.io/b"]}
    client.create(WIDGET, "held", "default", metadata=metadata, spec={"size": 1})
    client.delete(WIDGET, "owner", "default", {"propagationPolicy": "Foreground"})

    collect(client)
    assert client.get(WIDGET, "owner", "default")[0] == 200
    assert "deletionTimestamp" in client.get(WIDGET, "held", "default")[1]["metadata"]

    client.patch(WIDGET, "held", "default", change={"metadata": {"finalizers": None}})
    collect(client)
    assert client.get(WIDGET, "owner", "default")[0] == 404


def test_orphans_are_left_without_their_owner() -> None:
    client = Client()
    owner = client.create(WIDGET, "owner", "default", spec={"size": 1})
    client.create(WIDGET, "child", "default", metadata=owned_by(owner), spec={"size": 1})
    client.delete(WIDGET, "owner", "default", {"propagationPolicy": "Orphan"})

    collect(client)

    assert client.get(WIDGET, "owner", "default")[0] == 404
    assert "ownerReferences" not in client.get(WIDGET, "child", "default")[1]["metadata"]
