import random

from nodemend.api.resources import LEASE, NODE, POD
from nodemend.kube.request import Method, Request
from tests.unit.simulation.api_server.client import WIDGET, Client, reported


def scribble(client: Client, seed: int) -> list[list[tuple[str, str]]]:
    """A few hundred writes, and what three watches saw of them."""
    chance = random.Random(seed)
    watches = [client.watch(resource, resourceVersion="0") for resource in (NODE, LEASE, WIDGET)]
    for _ in range(300):
        client.later(seconds=chance.random())
        resource, namespace = chance.choice(((NODE, ""), (LEASE, "default"), (WIDGET, "default")))
        name, value = chance.choice("abc"), chance.randrange(5)
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": name, "labels": {"v": str(value)}},
            **({"spec": {"size": value + 1}} if resource is WIDGET else {}),
        }
        path = f"/api/v1/nodes/{name}" if resource is NODE else ""
        match chance.randrange(4):
            case 0:
                client.delete(resource, name, namespace)
            case 1 if path:
                client.ask(Method.PUT, path, body)
            case _:
                client.apply(resource, name, namespace, fields=body, by=chance.choice("xy"), force=True)
    return [reported(watch) for watch in watches]


def test_the_same_calls_give_the_same_bytes() -> None:
    one, other, third = Client(), Client(), Client()

    seen = scribble(one, 7), scribble(other, 7), scribble(third, 8)

    assert seen[0] == seen[1] != seen[2]
    assert one.server.export() == other.server.export() != third.server.export()


def test_what_watches_saw_adds_up_to_what_is_there() -> None:
    client = Client()
    seen = scribble(client, 3)

    present: set[tuple[int, str]] = set()
    for number, events in enumerate(seen):
        for kind, name in events:
            (present.discard if kind == "DELETED" else present.add)((number, name))

    there = {
        (number, item["metadata"]["name"])
        for number, resource in enumerate((NODE, LEASE, WIDGET))
        for item in client.list(resource)[1]["items"]
    }
    assert present == there


def test_paths_that_are_not_served_are_not_found() -> None:
    client = Client()

    for path in ("/api/v1/none", "/apis/none/v1/nodes", "/api/v1/nodes/a/none", "/api/v1/pods/a", "/"):
        request_path = path
        answer = client.server.handle(_get(request_path))
        assert (answer.status, answer.body) == (404, b"404 page not found\n"), path


def _get(path: str) -> Request:
    return Request(Method.GET, path)


def test_a_collection_is_deleted_as_far_as_it_is_selected() -> None:
    client = Client()
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        client.create(NODE, name, metadata={"labels": {"app": app}})

    _, deleted = client.ask(Method.DELETE, "/api/v1/nodes", query={"labelSelector": "app=x"})

    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in client.list(NODE)[1]["items"]] == ["b"]


def test_a_scheduler_binds_a_pod_once() -> None:
    client = Client()
    client.create(POD, "p", "default", spec={"containers": [{"name": "c", "image": "i"}]})
    path = "/api/v1/namespaces/default/pods/p/binding"
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}

    first, _ = client.ask(Method.POST, path, body)
    second, _ = client.ask(Method.POST, path, body)

    assert (first, second) == (201, 409)
    assert client.get(POD, "p", "default")[1]["spec"]["nodeName"] == "n1"


def test_answers_bear_the_servers_time() -> None:
    client = Client()
    client.later(seconds=1.7)

    answer = client.server.handle(_get("/api/v1/nodes"))

    assert answer.server_time == float(int(client.now.timestamp()))


def test_history_is_forgotten_after_one_to_two_intervals() -> None:
    client = Client()
    made = client.create(NODE, "a")
    client.create(NODE, "b")
    exact = {"resourceVersion": made["metadata"]["resourceVersion"], "resourceVersionMatch": "Exact"}

    statuses = []
    for _ in range(3):
        client.later(minutes=5)
        client.server.tick()
        statuses.append(client.list(NODE, **exact)[0])

    assert statuses == [200, 410, 410]
