"""The path of a request is built safely from any name."""

import pytest

from nodemend.api.resources import NODE, Resource
from nodemend.kube.request import EVERYTHING, Selection, get, list_page

OUT = ["v1/namespaces/b/machines/x?", "v1?resourceVersion=0#", "..", "v1 HTTP/1.1\r\nX: y"]


def test_a_path_has_its_parts_in_order() -> None:
    machines = Resource("cluster.x-k8s.io", "v1beta1", "Machine", "machines")
    assert get(machines, "m", "here").path == "/apis/cluster.x-k8s.io/v1beta1/namespaces/here/machines/m"
    assert get(NODE, "n").path == "/api/v1/nodes/n"


def test_reads_name_no_version_so_that_the_server_asks_its_store() -> None:
    """With a resourceVersion, "0" among them, its cache may answer, which may be behind by any time."""
    assert get(NODE, "n").query == ()
    assert list_page(NODE, EVERYTHING, limit=5).query == (("limit", "5"),)
    one = list_page(NODE, Selection(fields="metadata.name=n"), limit=5, token="t1")  # noqa: S106 - of a page
    assert one.query == (("limit", "5"), ("fieldSelector", "metadata.name=n"), ("continue", "t1"))


@pytest.mark.attack("S5")
@pytest.mark.parametrize("value", OUT)
def test_no_value_from_outside_adds_a_path_segment(value: str) -> None:
    """The version of a Metal3Machine comes from the Machine that refers to it: text of any form."""
    for resource in (
        Resource("a.io", value, "K", "ks"),
        Resource(value, "v1", "K", "ks"),
        Resource("a.io", "v1", "K", value),
    ):
        path = get(resource, value, "here").path
        assert path.count("/") == 7
        assert not set(path) & set("?#\r\n ")
