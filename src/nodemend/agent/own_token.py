"""Which node this agent runs on, by its own token.

An agent may read nothing but Leases, so it cannot ask for its Node. But the API server itself has written the
name and UID of that Node into the token that kubelet fetched for the pod. What is read here is not verified,
and need not be: whoever could put another token into the pod is kubelet, or root on this node
(docs/decisions/0049).
"""

from base64 import urlsafe_b64decode
from dataclasses import dataclass

import msgspec

from nodemend.kube.json_decoding import UNREADABLE, decoder_of


@dataclass(frozen=True, slots=True)
class BoundNode:
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class NotBound:
    """The token says nothing of a node."""

    why: str


class _Node(msgspec.Struct):
    name: str
    uid: str


class _Bound(msgspec.Struct):
    node: _Node | None = None


class _Claims(msgspec.Struct):
    bound: _Bound = msgspec.field(name="kubernetes.io", default_factory=_Bound)


def node_of_token(token: str) -> BoundNode | NotBound:
    """By the claim `kubernetes.io`, which names the node of a pod's token since Kubernetes 1.30."""
    parts = token.strip().split(".")
    if len(parts) != 3:
        return NotBound("it is no JWT")
    try:
        payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = decoder_of(_Claims).decode(payload)
    except (ValueError, *UNREADABLE):
        return NotBound("its claims cannot be read")
    node = claims.bound.node
    if node is None or not node.name or not node.uid:
        return NotBound("it is not bound to a pod on a node")
    return BoundNode(node.name, node.uid)
