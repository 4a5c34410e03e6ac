from typing import Any

from nodemend.api.resources import NODE, POD
from tests.unit.simulation.api_server.client import WIDGET, Client, names, version


def three_nodes() -> Client:
    client = Client()
    for name in ("b", "a", "c"):
        client.create(NODE, name)
    return client


def test_pages_are_of_one_moment() -> None:
    client = three_nodes()

    _, first = client.list(NODE, limit="2")
    client.create(NODE, "ab")
    client.delete(NODE, "c")
    _, second = client.list(NODE, limit="2", **{"continue": first["metadata"]["continue"]})

    assert (names(first), first["metadata"]["remainingItemCount"]) == (["a", "b"], 1)
    assert (names(second), version(second)) == (["c"], version(first))
    assert "continue" not in second["metadata"]


def test_a_page_begun_before_a_compaction_has_expired_and_can_be_resumed_inconsistently() -> None:
    client = three_nodes()
    _, first = client.list(NODE, limit="1")
    client.create(NODE, "z")
    client.server.compact()

    status, gone = client.list(NODE, limit="1", **{"continue": first["metadata"]["continue"]})
    _, loose = client.list(NODE, **{"continue": gone["metadata"]["continue"]})

    assert (status, gone["reason"]) == (410, "Expired")
    assert names(loose) == ["b", "c", "z"]


def test_a_list_of_an_exact_version_shows_the_past() -> None:
    client = three_nodes()
    _, before = client.list(NODE)
    client.patch(NODE, "a", change={"metadata": {"labels": {"x": "y"}}})
    client.delete(NODE, "b")

    _, then = client.list(NODE, resourceVersion=version(before), resourceVersionMatch="Exact")

    assert then == before


def test_a_read_that_may_be_old_sees_the_lagging_cache_and_others_do_not() -> None:
    client = three_nodes()
    client.server.lag(NODE, client.server.revision)
    client.patch(NODE, "a", change={"metadata": {"labels": {"x": "y"}}})
    _, fresh = client.get(NODE, "a")

    _, stale = client.get(NODE, "a", resourceVersion="0")
    _, stale_list = client.list(NODE, resourceVersion="0")
    _, fresh_list = client.list(NODE)
    waiting, why = client.get(NODE, "a", resourceVersion=version(fresh))

    assert "labels" not in stale["metadata"]
    assert int(version(stale_list)) < int(version(fresh_list)) == int(version(fresh))
    assert (waiting, why["details"]["retryAfterSeconds"]) == (504, 1)

    client.server.lag(NODE, None)
    assert client.get(NODE, "a", resourceVersion="0")[1] == fresh


def test_a_namespace_is_listed_without_the_other_namespaces() -> None:
    client = Client(namespaces=("default", "default-2", "other"))
    for namespace in ("default", "default-2", "other"):
        client.create(WIDGET, "w", namespace, spec={"size": 1})

    _, inside = client.list(WIDGET, "default")
    _, everywhere = client.list(WIDGET)

    assert [item["metadata"]["namespace"] for item in inside["items"]] == ["default"]
    assert len(everywhere["items"]) == 3


def test_items_of_built_in_kinds_do_not_say_what_they_are() -> None:
    client = three_nodes()
    client.create(WIDGET, "w", "default", spec={"size": 1})
    _, nodes = client.list(NODE)
    _, widgets = client.list(WIDGET, "default")

    assert "kind" not in nodes["items"][0]
    assert widgets["items"][0]["kind"] == "Widget"


def test_contradictions_and_unknown_fields_are_refused() -> None:
    client = Client()

    def refusal(**query: str) -> tuple[int, Any]:
        status, body = client.list(POD, "default", **query)
        return status, body["reason"]

    assert refusal(resourceVersionMatch="Exact") == (422, "Invalid")
    assert refusal(fieldSelector="spec.none=1") == (400, "BadRequest")
    assert refusal(**{"continue": "nonsense"}) == (400, "BadRequest")
    assert refusal(resourceVersion="nonsense") == (400, "BadRequest")


def test_a_list_that_wants_more_than_a_lagging_cache_has_is_refused() -> None:
    client = three_nodes()
    client.server.lag(NODE, client.server.revision)
    made = client.create(NODE, "d")

    refused, _ = client.list(NODE, resourceVersion=version(made), resourceVersionMatch="NotOlderThan")
    client.server.lag(NODE, None)
    served, listed = client.list(NODE, resourceVersion=version(made), resourceVersionMatch="NotOlderThan")

    assert (refused, served, names(listed)) == (504, 200, ["a", "b", "c", "d"])
