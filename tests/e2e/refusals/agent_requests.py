"""Certificates: which requests the running signer signs, and that no other account can."""

from base64 import b64decode
from functools import partial
from itertools import count
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.verification import PolicyBuilder, Store

from controlplane.api import MERGE, Api, ApiError
from controlplane.waiting import wait_until
from nodemend.api.well_known import AGENT_NAMESPACE, SYSTEM_NAMESPACE
from tests.e2e.refusals.agent_cluster import AUTHORITY, REQUESTS, TRUST, AgentCluster
from tests.e2e.refusals.trial import Attempt, Trial
from tests.unit.signer.requests import pkcs10, signing_request

OWN: Final = "node-1.agent.nodemend.io"
OTHER: Final = "node-2.agent.nodemend.io"
_SETTLED_WITHIN: Final = 30.0
_numbers = count(1)


def requests(cluster: AgentCluster, trial: Trial) -> None:
    _own_name(cluster, trial)
    _not_its_own(cluster, trial)
    _not_an_agent(cluster, trial)
    _by_hand(cluster, trial)
    _signer(cluster, trial)
    _trust(cluster, trial)


def asked(cluster: AgentCluster, api: Api, content: bytes, **spec: Any) -> Attempt:
    """A request, until it is settled. A denial by the signer is raised like a refusal by the API server."""
    body = signing_request(f"request-{next(_numbers)}", content, **spec)
    return lambda: settled(cluster, api.create(body)["metadata"]["name"])


def settled(cluster: AgentCluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def over() -> bool:
        nonlocal found
        found = cluster.plane.api.get(f"{REQUESTS}/{name}")
        types = {one["type"] for one in found["status"].get("conditions", [])}
        return bool(types & {"Denied", "Failed"}) or "certificate" in found["status"]

    wait_until(f"{name} is settled", over, within=_SETTLED_WITHIN)
    refused = [one for one in found["status"]["conditions"] if one["type"] in ("Denied", "Failed")]
    if refused and "certificate" not in found["status"]:
        raise ApiError(403, refused[0]["reason"], refused[0]["message"])
    return found


def _own_name(cluster: AgentCluster, trial: Trial) -> None:
    for node, agent in cluster.agents.items():
        name = f"{node}.agent.nodemend.io"

        def accepted(agent: Api = agent, name: str = name) -> None:
            signed = asked(cluster, agent, pkcs10(name), expirationSeconds=3600)()
            believe(cluster, signed, name)  # type: ignore[arg-type] # an Attempt may return anything

        trial.accepts(f"the name of {node} for its own agent", accepted)


def believe(cluster: AgentCluster, signed: dict[str, Any], name: str) -> None:
    """Check it as a peer does: against the bundle. Raises if a peer would not accept it."""
    bundle = cluster.plane.api.get(TRUST)["data"]["ca.crt"]
    certificate = x509.load_pem_x509_certificate(b64decode(signed["status"]["certificate"]))
    store = Store(x509.load_pem_x509_certificates(bundle.encode()))
    verified = PolicyBuilder().store(store).build_client_verifier().verify(certificate, [])
    assert verified.subjects == [x509.DNSName(name)]


def _not_its_own(cluster: AgentCluster, trial: Trial) -> None:
    agent = cluster.agents["node-1"]
    masters = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:masters")])
    authority = x509.BasicConstraints(ca=True, path_length=None)
    wrong: dict[str, tuple[bytes, str]] = {
        "another node's name": (pkcs10(OTHER), f"must name DNS {OWN} and nothing else"),
        "another node's name as well": (pkcs10(OWN, OTHER), "and nothing else"),
        "every node's name": (pkcs10("*.agent.nodemend.io"), "and nothing else"),
        "the API server's name": (pkcs10("kubernetes.default.svc"), "and nothing else"),
        "no name": (pkcs10(), "it names nothing"),
        "an address": (pkcs10(OWN, x509.UniformResourceIdentifier("spiffe://x/y")), "URI spiffe://x/y"),
        "a group of admins": (pkcs10(OWN, subject=masters), "The subject must be empty"),
        "an authority of its own": (pkcs10(OWN, also=(authority,)), "asks for: extension 2.5.29.19"),
        "an RSA key": (pkcs10(OWN, key=rsa.generate_private_key(65537, 2048)), "must be P-256, not RSA 2048"),
        "another's key": (_tampered(pkcs10(OWN)), "spec.request"),
    }
    for what, (content, says) in wrong.items():
        trial.refuses(what, asked(cluster, agent, content), says)
    usages = ["client auth", "server auth", "digital signature", "cert sign"]
    trial.refuses("more usages", asked(cluster, agent, pkcs10(OWN), usages=usages), "spec.usages must be")
    trial.refuses(
        "a life of a minute", asked(cluster, agent, pkcs10(OWN), expirationSeconds=60), "expirationSeconds"
    )
    for signer in ("kubernetes.io/kube-apiserver-client", "kubernetes.io/kubelet-serving", "example.com/x"):
        trial.refuses(
            f"the signer {signer}",
            asked(cluster, agent, pkcs10(OWN), signerName=signer),
            "an agent may request certificates only from nodemend.io/agent",
        )


def _tampered(content: bytes) -> bytes:
    """The request with a changed last byte of the signature."""
    request = bytearray(x509.load_pem_x509_csr(content).public_bytes(Encoding.DER))
    request[-1] ^= 1
    return x509.load_der_x509_csr(bytes(request)).public_bytes(Encoding.PEM)


def _not_an_agent(cluster: AgentCluster, trial: Trial) -> None:
    only_agents = "Only Nodemend's agents"
    forged = {"username": f"system:serviceaccount:{AGENT_NAMESPACE}:nodemend-agent"}
    forged_extra = {"extra": {"authentication.kubernetes.io/node-name": ["node-1"]}}
    trial.refuses(
        "a token that is bound to nothing",
        asked(cluster, cluster.unbound, pkcs10(OWN)),
        "with the token of its pod",
    )
    trial.refuses(
        "a token of a node, but of no pod",
        asked(cluster, cluster.of_node_alone, pkcs10(OWN)),
        "not bound to a pod",
    )
    trial.refuses(
        "a node's own credential", asked(cluster, cluster.nodes["node-1"], pkcs10(OWN)), only_agents
    )
    trial.refuses("an admin's", asked(cluster, cluster.chief, pkcs10(OWN)), only_agents)
    trial.refuses(
        "an admin who says that he is an agent",
        asked(cluster, cluster.chief, pkcs10(OWN), **forged, **forged_extra),
        only_agents,
    )


def _by_hand(cluster: AgentCluster, trial: Trial) -> None:
    """The signer signs a manually approved request only if it is valid, and an agent's account approves
    nothing.
    """
    agent = cluster.agents["node-1"]
    body = signing_request("by-hand", pkcs10(OTHER))
    approved = {"type": "Approved", "status": "True", "reason": "ByHand", "message": "trust me"}
    # While the signer is paused, so that the manual approval comes first.
    cluster.plane.pause("nodemend-signer-0")
    agent.create(body)
    change = {"status": {"conditions": [approved]}}
    for part in ("approval", "status"):
        path = f"{REQUESTS}/by-hand/{part}"
        attempt = partial(agent.request, "PATCH", path, change, content_type=MERGE)
        trial.refuses(f"its own {part} by an agent", attempt, "cannot patch resource")
    trial.refuses(
        "its own request changed by an agent",
        partial(agent.patch, f"{REQUESTS}/by-hand", {"metadata": {"labels": {"a": "b"}}}),
        "cannot patch resource",
    )
    trial.accepts(
        "an approval by an admin's hand", lambda: cluster.chief.patch(f"{REQUESTS}/by-hand/approval", change)
    )
    cluster.plane.resume("nodemend-signer-0")
    trial.refuses(
        "another node's name, approved by an admin", lambda: settled(cluster, "by-hand"), "and nothing else"
    )


def _signer(cluster: AgentCluster, trial: Trial) -> None:
    """The signer's account in the hands of an attacker."""
    signer = cluster.signer
    body = signing_request("theirs", pkcs10(OWN), signerName="example.com/other")
    cluster.chief.create(body)
    approved = {"type": "Approved", "status": "True", "reason": "X"}
    trial.refuses(
        "an approval for another signer",
        lambda: signer.patch(f"{REQUESTS}/theirs/approval", {"status": {"conditions": [approved]}}),
        'user not permitted to approve requests with signerName "example.com/other"',
    )
    trial.refuses(
        "a signature for another signer",
        lambda: signer.patch(f"{REQUESTS}/theirs/status", {"status": {"certificate": _certificate(cluster)}}),
        'user not permitted to sign requests with signerName "example.com/other"',
    )
    trial.refuses("a request by the signer", lambda: signer.create(body), "cannot create resource")
    only = "may write only its own Secret and the agents' CA bundle"
    for namespace, kind in ((SYSTEM_NAMESPACE, "Secret"), (AGENT_NAMESPACE, "ConfigMap")):
        another = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": namespace}}
        trial.refuses(f"another {kind} by the signer", partial(signer.create, another), only)
    trial.refuses(
        "all Secrets by the signer",
        lambda: signer.list(f"/api/v1/namespaces/{SYSTEM_NAMESPACE}/secrets"),
        "cannot list resource",
    )
    trial.refuses(
        "its own Secret deleted by the signer", lambda: signer.request("DELETE", AUTHORITY), "cannot delete"
    )


def _certificate(cluster: AgentCluster) -> str:
    """A certificate that was signed already."""
    signed = (one["status"].get("certificate") for one in cluster.plane.api.list(REQUESTS))
    return next(str(one) for one in signed if one)


def _trust(cluster: AgentCluster, trial: Trial) -> None:
    rogue = {"data": {"ca.crt": "rogue"}}
    says = "Only Nodemend's signer may write the CA bundle that agents trust"
    for who, api in (("an admin", cluster.chief), ("the superuser", cluster.plane.api)):
        trial.refuses(f"another authority by {who}", partial(api.patch, TRUST, rogue), says)
    for who, api in (("an agent", cluster.agents["node-1"]), ("a node", cluster.nodes["node-1"])):
        trial.refuses(f"another authority by {who}", partial(api.patch, TRUST, rogue), "cannot patch")
    for who, api in (
        ("an agent", cluster.agents["node-1"]),
        ("the remediator", cluster.remediator),
        ("the checker", cluster.checker),
    ):
        trial.refuses(
            f"the authority's key read by {who}", partial(api.get, AUTHORITY), "cannot get resource"
        )
    trial.accepts("the authority's key read by the signer", lambda: cluster.signer.get(AUTHORITY))
