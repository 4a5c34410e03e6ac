import pytest

from nodemend.api.resources import NODE, POD
from tests.unit.simulation.api_server.client import WIDGET, Client, reported, version

SPEC = {"containers": [{"name": "c", "image": "i"}]}
BOUND = {**SPEC, "nodeName": "n1"}


def test_a_deletion_with_preconditions_deletes_only_the_object_that_was_read() -> None:
    client = Client()
    first = client.create(WIDGET, "w", "default", spec={"size": 1})
    client.delete(WIDGET, "w", "default")
    client.create(WIDGET, "w", "default", spec={"size": 1})

    by_uid, _ = client.delete(WIDGET, "w", "default", {"preconditions": {"uid": first["metadata"]["uid"]}})
    by_version, _ = client.delete(
        WIDGET, "w", "default", {"preconditions": {"resourceVersion": version(first)}}
    )

    assert (by_uid, by_version) == (409, 409)
    assert client.get(WIDGET, "w", "default")[0] == 200


def test_an_object_with_finalizers_goes_with_the_last_of_them() -> None:
    client = Client()
    client.create(WIDGET, "w", "default", metadata={"finalizers": ["a.io/b", "c.io/d"]}, spec={"size": 1})

    status, marked = client.delete(WIDGET, "w", "default")
    more, _ = client.patch(
        WIDGET, "w", "default", change={"metadata": {"finalizers": ["a.io/b", "c.io/d", "e.io/f"]}}
    )
    fewer, _ = client.patch(WIDGET, "w", "default", change={"metadata": {"finalizers": ["c.io/d"]}})
    last, _ = client.patch(WIDGET, "w", "default", change={"metadata": {"finalizers": None}})

    assert (status, marked["metadata"]["deletionTimestamp"]) == (200, "2026-01-01T12:00:00Z")
    assert marked["metadata"]["generation"] == 2
    assert (more, fewer, last) == (422, 200, 200)
    assert client.get(WIDGET, "w", "default")[0] == 404


def test_a_pod_on_a_node_waits_for_its_kubelet() -> None:
    client = Client()
    client.create(POD, "p", "default", spec=BOUND)

    _, marked = client.delete(POD, "p", "default")
    client.delete(POD, "p", "default", {"gracePeriodSeconds": 300})
    _, still = client.get(POD, "p", "default")
    client.delete(POD, "p", "default", {"gracePeriodSeconds": 0})

    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T12:00:30Z"
    assert still["metadata"]["deletionGracePeriodSeconds"] == 30
    assert client.get(POD, "p", "default")[0] == 404


@pytest.mark.parametrize(("spec", "status"), [(SPEC, {}), (BOUND, {"phase": "Succeeded"})])
def test_a_pod_that_runs_nowhere_goes_at_once(spec: object, status: object) -> None:
    client = Client()
    client.create(POD, "p", "default", spec=spec)
    client.patch(POD, "p", "default", change={"status": status}, part="status")
    watch = client.watch(POD, "default", resourceVersion=str(client.server.revision))

    client.delete(POD, "p", "default")

    assert reported(watch) == [("MODIFIED", "p"), ("DELETED", "p")]


def test_a_name_is_not_free_while_its_object_is_being_deleted() -> None:
    client = Client()
    client.create(NODE, "n", metadata={"finalizers": ["a.io/b"]})
    client.delete(NODE, "n")

    with pytest.raises(AssertionError, match="object is being deleted"):
        client.create(NODE, "n")


def test_a_dry_run_leaves_everything() -> None:
    client = Client()
    client.create(NODE, "n")
    before = client.server.export()

    status, _ = client.delete(NODE, "n", options={"dryRun": ["All"]})

    assert status == 200
    assert client.server.export() == before
