"""Each round proves anew; what cannot be told holds only when the last proof is old."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from generate.outputs import install_documents
from nodemend.api.group_versions import ADMISSION_BINDING, ADMISSION_POLICY
from nodemend.controllers.admission_duties import duty_of_checker, duty_of_remediator, duty_of_signer
from nodemend.controllers.admission_proof import GOOD_FOR, Admission, AdmissionDuty, AdmissionProof
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.guard_holds import PolicyNotInForce, PolicyNotProven
from nodemend.decide.shipped_policies import SHIPPED
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_reply import Answer, Reply, Unanswered
from nodemend.kube.api_request import Method, Request
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

pytestmark = pytest.mark.attack("S6")

SYSTEM = "nodemend-system"
REMEDIATOR = duty_of_remediator(SHIPPED, SYSTEM, power_cycle=True, capm3_kinds=False, self_fencing=False)
BY_PATH = {
    "leases": "nodemend-accounts",
    "nodes": "nodemend-nodes",
    "manualremediations": "nodemend-remediations",
    "baremetalhosts": "nodemend-hosts",
    "secrets": "nodemend-agent-trust",
}
DOCUMENTS = {
    f"/{resource.plural}/{one['metadata']['name']}": one
    for one in install_documents()
    for resource in (ADMISSION_POLICY, ADMISSION_BINDING)
    if one["kind"] == resource.kind
}


def refused(code: int, message: str) -> Answer:
    return Answer(code, msgspec.json.encode({"kind": "Status", "code": code, "message": message}))


class Server:
    """With our manifests in it. Tests take something away."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("proof")
        self.process = SimulatedProcess(self.scheduler, "controller", HostClock())
        self.transport = ScriptedTransport(self.process, self._answer)
        self.documents: dict[str, Any] = dict(DOCUMENTS)
        self.asks_policies = True
        self.away = False
        self.nodes = [{"metadata": {"name": "node-1"}}]
        self.told: list[Mapping[str, Doubt | None]] = []

    def proof(self, duty: AdmissionDuty) -> AdmissionProof:
        return AdmissionProof(ApiClient(self.transport, self.process), self.process, Admission(duty, self))

    def proved(self, doubts: Mapping[str, Doubt | None]) -> None:
        self.told.append(doubts)

    def prove(self, proof: AdmissionProof) -> Doubt | None:
        self.process.spawn(proof.prove(), "proof")
        self.pass_time(1.0)
        return proof.doubt()

    def pass_time(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def _answer(self, request: Request) -> Reply:
        if self.away:
            return Unanswered("timeout")
        if "validatingadmission" in request.path:
            found = self.documents.get("/" + "/".join(request.path.split("/")[-2:]))
            return Answer(200, msgspec.json.encode(found)) if found else refused(404, "not found")
        if request.method is Method.GET:
            items = self.nodes if request.path.endswith("/nodes") else []
            return Answer(200, msgspec.json.encode({"metadata": {}, "items": items}))
        assert ("dryRun", "All") in request.query
        [policy] = [name for part, name in BY_PATH.items() if f"/{part}" in request.path]
        if not self.asks_policies:
            return Answer(201, b"{}")
        return refused(403, f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: x")


def test_with_all_as_shipped_nothing_is_doubted() -> None:
    server = Server()
    proof = server.proof(REMEDIATOR)

    assert proof.doubt() == PolicyNotProven("nodemend-accounts", "it was not tried for long")
    assert server.prove(proof) is None
    assert set(server.told[0].values()) == {None}


@pytest.mark.parametrize(
    "duty", [REMEDIATOR, duty_of_checker(SHIPPED, SYSTEM, annotations=False), duty_of_signer(SHIPPED, SYSTEM)]
)
def test_every_account_notices_that_policies_are_not_asked(duty: AdmissionDuty) -> None:
    server = Server()
    server.asks_policies = False

    assert isinstance(server.prove(server.proof(duty)), PolicyNotInForce)


@pytest.mark.parametrize("gone", [path for path in DOCUMENTS if "bindings" in path])
def test_a_binding_that_is_gone_is_doubted_at_the_next_round_and_believed_when_it_is_back(gone: str) -> None:
    server = Server()
    proof = server.proof(REMEDIATOR)
    server.prove(proof)
    kept = server.documents.pop(gone)

    assert server.prove(proof) == PolicyNotInForce(gone.rpartition("/")[2], "it has no binding of its name")
    server.documents[gone] = kept
    assert server.prove(proof) is None


def test_without_an_answer_the_last_proof_is_good_for_a_while() -> None:
    server = Server()
    proof = server.proof(REMEDIATOR)
    server.prove(proof)
    server.away = True

    assert server.prove(proof) is None
    server.pass_time(GOOD_FOR)
    assert isinstance(server.prove(proof), PolicyNotProven)


def test_what_was_seen_not_in_force_is_not_forgotten_over_an_outage() -> None:
    server = Server()
    proof = server.proof(REMEDIATOR)
    server.asks_policies = False
    server.prove(proof)
    server.away = True

    assert server.prove(proof) is not None


def test_where_there_is_no_node_nothing_is_tried_on_one() -> None:
    server = Server()
    server.nodes = []

    assert server.prove(server.proof(REMEDIATOR)) is None
    assert not any(request.method is Method.PATCH for _, request in server.transport.asked)


def test_a_round_costs_the_same_however_many_nodes_there_are() -> None:
    few, many = Server(), Server()
    many.nodes = [{"metadata": {"name": f"node-{number}"}} for number in range(1000)]
    for server in (few, many):
        server.prove(server.proof(REMEDIATOR))

    assert len(few.transport.asked) == len(many.transport.asked)
    assert all(("limit", "1") in one.query for _, one in many.transport.asked if one.path.endswith("/nodes"))
