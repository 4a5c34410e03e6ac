"""The node that a pod's token names."""

from base64 import urlsafe_b64encode
from json import dumps

import pytest

from nodemend.agent.files import BoundNode, NotBound, node_of_token


def token(claims: object) -> str:
    return f"e30.{urlsafe_b64encode(dumps(claims).encode()).decode().rstrip('=')}.c2ln"


def bound_to(node: object) -> str:
    return token({"sub": "system:serviceaccount:a:b", "kubernetes.io": {"namespace": "a", "node": node}})


def test_a_bound_token_names_its_node() -> None:
    assert node_of_token(bound_to({"name": "n1", "uid": "u-1"}) + "\n") == BoundNode("n1", "u-1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no JWT"),
        ("a.b", "it is no JWT"),
        ("a.é.c", "its claims cannot be read"),
        ("a.!.c", "its claims cannot be read"),
        ("a.e30x.c", "its claims cannot be read"),
        (bound_to({"name": 1, "uid": "u"}), "its claims cannot be read"),
        (bound_to({"name": "", "uid": "u"}), "it is not bound to a pod on a node"),
        (bound_to({"name": "n", "uid": ""}), "it is not bound to a pod on a node"),
        (bound_to(None), "it is not bound to a pod on a node"),
        (token({"kubernetes.io": {"namespace": "a"}}), "it is not bound to a pod on a node"),
        (token({"sub": "somebody"}), "it is not bound to a pod on a node"),
    ],
)
def test_any_other_token_is_rejected(text: str, why: str) -> None:
    assert node_of_token(text) == NotBound(why)
