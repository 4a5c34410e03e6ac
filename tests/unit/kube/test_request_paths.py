"""Where a request goes is said by us, whoever named what it is about."""

import pytest

from nodemend.api.group_versions import NODE, Resource
from nodemend.kube.api_request import get

OUT = ["v1/namespaces/b/machines/x?", "v1?resourceVersion=0#", "..", "v1 HTTP/1.1\r\nX: y"]


def test_a_path_has_its_parts_in_order() -> None:
    machines = Resource("cluster.x-k8s.io", "v1beta1", "Machine", "machines")
    assert get(machines, "m", "here").path == "/apis/cluster.x-k8s.io/v1beta1/namespaces/here/machines/m"
    assert get(NODE, "n").path == "/api/v1/nodes/n"


@pytest.mark.attack("S5")
@pytest.mark.parametrize("word", OUT)
def test_no_word_of_another_leads_out_of_its_place(word: str) -> None:
    """The version of a Metal3Machine is what the Machine says that refers to it: a text without a form."""
    for resource in (
        Resource("a.io", word, "K", "ks"),
        Resource(word, "v1", "K", "ks"),
        Resource("a.io", "v1", "K", word),
    ):
        path = get(resource, word, "here").path
        assert path.count("/") == 7
        assert not set(path) & set("?#\r\n ")
