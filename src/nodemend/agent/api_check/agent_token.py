"""How a node comes to write its Lease: by a token of its agent, which it may ask for as kubelet does.

The API server lets a node's own credential write Leases of kubelets alone (NodeRestriction). But a node may
fetch the tokens of the pods that are bound to it, and the agent's pod still is, from before the boot. Such a
token names the node and its UID, and may write this one Lease and no other.
"""

import json
from base64 import urlsafe_b64decode

from nodemend.decide.small_value import SmallValue

ACCOUNT = "nodemend-agent"
SECONDS = 600
"""The shortest that the API server gives."""


class AgentPod(SmallValue):
    name: str
    uid: str


class NoPod(SmallValue):
    """No agent's pod is bound to this node, or none that is there to stay."""


class Token(SmallValue):
    """A token that may write the Lease of a node with this UID."""

    text: str
    node_uid: str


def find_pod(pods: object) -> AgentPod | NoPod:
    """Among the pods of this node in our namespace."""
    match pods:
        case {"items": [*items]}:
            found = [pod for pod in map(_agent_pod, items) if pod is not None]
            return found[0] if found else NoPod()
        case _:
            return NoPod()


def _agent_pod(pod: object) -> AgentPod | None:
    match pod:
        case {
            "metadata": {"name": str(name), "uid": str(uid), **about},
            "spec": {"serviceAccountName": account},
        } if account == ACCOUNT and "deletionTimestamp" not in about:
            return AgentPod(name, uid)
        case _:
            return None


def token_request(pod: AgentPod) -> dict[str, object]:
    bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": SECONDS, "boundObjectRef": bound},
    }


def read_token(reply: object, node: str) -> Token | None:
    """None for whatever is not the token of a pod on this node."""
    match reply:
        case {"status": {"token": str(text)}} if text.count(".") == 2:
            pass
        case _:
            return None
    payload = text.split(".")[1]
    try:
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
        return None
    match claims:
        case {"kubernetes.io": {"node": {"name": str(name), "uid": str(uid)}}} if name == node and uid:
            return Token(text, uid)
        case _:
            return None
