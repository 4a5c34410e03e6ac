from nodemend.api.resources import LEASE, NAMESPACE, NODE, POD
from nodemend.kube.request import Method, collection_path
from tests.unit.simulation.api_server.client import WIDGET, Client

HEAD = {"apiVersion": "example.com/v1", "kind": "Widget"}


def test_a_custom_object_is_pruned_and_defaulted() -> None:
    made = Client().create(
        WIDGET,
        "w",
        "default",
        spec={"size": 1, "unknown": 2, "tags": None},
        status={"epoch": 3},
        more={"x": 1},
    )

    assert made["spec"] == {"size": 1, "mode": "Off"}
    assert "status" not in made
    assert "more" not in made


def test_everything_wrong_with_an_object_is_said_at_once() -> None:
    body = {**HEAD, "metadata": {"name": "Bad Name"}, "spec": {"mode": "Up", "tags": ["a", "a", "toolong"]}}

    status, why = Client().ask(Method.POST, collection_path(WIDGET, "default"), body)

    causes = {(cause["field"], cause["reason"]) for cause in why["details"]["causes"]}
    assert status == 422
    assert causes == {
        ("metadata.name", "FieldValueInvalid"),
        ("spec.size", "FieldValueRequired"),
        ("spec.mode", "FieldValueNotSupported"),
        ("spec.tags[1]", "FieldValueDuplicate"),
        ("spec.tags[2]", "FieldValueTooLong"),
    }


def test_a_name_is_taken_once() -> None:
    client = Client()
    client.create(NODE, "n")

    status, why = client.ask(Method.POST, "/api/v1/nodes", {"metadata": {"name": "n"}})

    assert (status, why["reason"]) == (409, "AlreadyExists")


def test_an_object_needs_its_namespace_to_be_there_and_its_own() -> None:
    client = Client()
    body = {**HEAD, "metadata": {"name": "w"}, "spec": {"size": 1}}
    elsewhere = {**body, "metadata": {"name": "w", "namespace": "other"}}

    missing, why = client.ask(Method.POST, collection_path(WIDGET, "none"), body)
    wrong, _ = client.ask(Method.POST, collection_path(WIDGET, "default"), elsewhere)

    assert (missing, why["message"]) == (404, 'namespaces "none" not found')
    assert wrong == 400


def test_built_in_objects_are_born_with_their_zeros_and_defaults() -> None:
    client = Client()
    node = client.create(NODE, "n", status={"capacity": {"cpu": "2000m"}})
    pod = client.create(POD, "p", "default", spec={"containers": [{"name": "c", "image": "i"}]})

    assert node["status"]["nodeInfo"]["bootID"] == ""
    assert node["status"]["allocatable"] == {"cpu": "2"}
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert pod["spec"]["terminationGracePeriodSeconds"] == 30
    assert pod["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_value_of_the_wrong_type_is_a_bad_request() -> None:
    body = {"metadata": {"name": "l"}, "spec": {"leaseDurationSeconds": "15"}}

    assert Client().ask(Method.POST, collection_path(LEASE, "default"), body)[0] == 400


def test_names_are_generated_on_request() -> None:
    client = Client()
    body = {"metadata": {"generateName": "n-"}}

    made = [client.ask(Method.POST, "/api/v1/namespaces", body)[1]["metadata"]["name"] for _ in range(2)]

    assert all(name.startswith("n-") and len(name) == 7 for name in made)
    assert len(set(made)) == 2
    assert client.get(NAMESPACE, made[0])[0] == 200
