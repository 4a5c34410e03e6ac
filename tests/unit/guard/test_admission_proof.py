"""Each round proves the policies again; a round without an answer holds only once the last proof is old."""

from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import msgspec
import pytest

from generate.outputs import install_documents
from nodemend.api import well_known
from nodemend.api.resources import ADMISSION_BINDING, ADMISSION_POLICY
from nodemend.guard.policies import ALWAYS
from nodemend.guard.policy_proof import (
    GOOD_FOR,
    Admission,
    AdmissionProof,
    AdmissionRequirement,
    requirement_of_checker,
    requirement_of_remediator,
    requirement_of_signer,
)
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.kube.request import Method, Request
from nodemend.safety.guard_holds import PolicyNotInForce, PolicyNotProven, PolicyProblem
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport

pytestmark = pytest.mark.attack("S6")

SYSTEM = "nodemend-system"
CHECKER = requirement_of_checker(SHIPPED, SYSTEM, annotations=True)
FENCING = requirement_of_remediator(SHIPPED, SYSTEM, power_cycle=False, capm3_kinds=False, self_fencing=True)
REMEDIATOR = requirement_of_remediator(
    SHIPPED, SYSTEM, power_cycle=True, capm3_kinds=False, self_fencing=False
)
BY_PATH = {
    "leases": "nodemend-accounts",
    "nodes": "nodemend-nodes",
    "nodehealthchecks": "nodemend-settings",
    "remediationorders": "nodemend-orders",
    "manualremediations": "nodemend-remediations",
    "baremetalhosts": "nodemend-hosts",
    "machines": "nodemend-machines",
    "secrets": "nodemend-agent-trust",
}
DOCUMENTS = {
    f"/{resource.plural}/{one['metadata']['name']}": one
    for one in install_documents(
        "selfFencing.enabled=true",
        "machineHealthChecks.enabled=true",
        "powerCycle.enabled=true",
        "externalRemediationAnnotation.enabled=true",
        "externalRemediationAnnotation.setBy.users={somebody}",
    )
    for resource in (ADMISSION_POLICY, ADMISSION_BINDING)
    if one["kind"] == resource.kind
}


def refused(code: int, message: str) -> ApiResponse:
    return ApiResponse(code, msgspec.json.encode({"kind": "Status", "code": code, "message": message}))


def named(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "x"}, "spec": spec}


def policy_asked(request: Request) -> str:
    """The policy that must refuse this request."""
    if well_known.AGENT_REPORT.encode() in request.body:
        return "nodemend-agent-leases"
    if b'"confirmation"' in request.body:
        return "nodemend-confirmation"
    if well_known.EXTERNAL_REMEDIATION.encode() in request.body:
        return "nodemend-external-remediation"
    [policy] = [name for part, name in BY_PATH.items() if f"/{part}" in request.path]
    return policy


class Server:
    """A server with Nodemend's manifests. Tests remove some of them."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("proof")
        self.process = SimulatedProcess(self.scheduler, "controller", HostClock())
        self.transport = ScriptedTransport(self.process, self._answer)
        self.documents: dict[str, Any] = dict(DOCUMENTS)
        self.asks_policies = True
        self.away = False
        self.loses: Callable[[], bool] = lambda: False
        self.asleep, self.version = "", "500"
        self.failing: set[str] = set()
        self.objects: dict[str, list[dict[str, Any]]] = {"nodes": [named("node-1")]}
        self.reported: list[Mapping[str, PolicyProblem | None]] = []

    def proof(self, duty: AdmissionRequirement) -> AdmissionProof:
        return AdmissionProof(ApiClient(self.transport, self.process), self.process, Admission(duty, self))

    def proved(self, problems: Mapping[str, PolicyProblem | None]) -> None:
        self.reported.append(problems)

    def prove(self, proof: AdmissionProof) -> PolicyProblem | None:
        self.process.spawn(proof.prove(), "proof")
        self.pass_time(1.0)
        return proof.problem()

    def pass_time(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def _answer(self, request: Request) -> Reply:
        if self.away or self.loses():
            return Unanswered("timeout")
        if "validatingadmission" in request.path:
            found = self.documents.get("/" + "/".join(request.path.split("/")[-2:]))
            return ApiResponse(200, msgspec.json.encode(found)) if found else refused(404, "not found")
        query = dict(request.query)
        if request.method is Method.GET:
            items = self.objects.get(request.path.rpartition("/")[2], [])
            start, limit = int(query.get("continue", 0)), int(query["limit"])
            more = str(start + limit) if len(items) > start + limit else ""
            page = {
                "metadata": {"continue": more, "resourceVersion": self.version},
                "items": items[start : start + limit],
            }
            return ApiResponse(200, msgspec.json.encode(page))
        assert ("dryRun", "All") in request.query
        policy = policy_asked(request)
        if not self.asks_policies or policy == self.asleep:
            return ApiResponse(201, b"{}")
        if policy in self.failing:
            return refused(500, 'Internal error: failed calling webhook "x": connection refused')
        return refused(403, f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: x")


def test_with_all_as_shipped_nothing_is_doubted() -> None:
    server = Server()
    proof = server.proof(REMEDIATOR)

    assert proof.problem() == PolicyNotProven("nodemend-accounts", "it was not tried for long")
    assert server.prove(proof) is None
    assert set(server.reported[0].values()) == {None}


@pytest.mark.parametrize(
    "duty",
    [
        REMEDIATOR,
        requirement_of_checker(SHIPPED, SYSTEM, annotations=False),
        requirement_of_signer(SHIPPED, SYSTEM),
    ],
)
def test_every_account_notices_that_policies_are_not_asked(duty: AdmissionRequirement) -> None:
    server = Server()
    server.asks_policies = False

    assert isinstance(server.prove(server.proof(duty)), PolicyNotInForce)


TRIED = [
    (REMEDIATOR, "nodemend-accounts"),
    (REMEDIATOR, "nodemend-nodes"),
    (REMEDIATOR, "nodemend-remediations"),
    (REMEDIATOR, "nodemend-confirmation"),
    (REMEDIATOR, "nodemend-settings"),
    (REMEDIATOR, "nodemend-hosts"),
    (CHECKER, "nodemend-accounts"),
    (CHECKER, "nodemend-remediations"),
    (CHECKER, "nodemend-settings"),
    (CHECKER, "nodemend-orders"),
    (CHECKER, "nodemend-machines"),
    (CHECKER, "nodemend-external-remediation"),
]


def furnished() -> Server:
    server = Server()
    server.objects |= {kind: [named("one")] for kind in ("manualremediations", "baremetalhosts", "machines")}
    return server


@pytest.mark.parametrize(("duty", "policy"), TRIED)
def test_one_that_reads_as_shipped_and_refuses_nothing_is_found_by_trying(
    duty: AdmissionRequirement, policy: str
) -> None:
    server = furnished()
    assert server.prove(server.proof(duty)) is None
    server.asleep = policy

    found = server.prove(server.proof(duty))

    assert isinstance(found, PolicyNotInForce)
    assert (found.policy, "would let" in found.why) == (policy, True)


def test_a_confirmation_is_tried_on_a_remediation_without_one() -> None:
    server = furnished()
    given = [named(f"given-{number}", confirmation={"by": "anna"}) for number in range(150)]
    server.objects["manualremediations"] = [*given, named("open")]

    assert server.prove(server.proof(REMEDIATOR)) is None
    tried = [one.path for _, one in server.transport.asked if b'"confirmation"' in one.body]
    assert [path.rpartition("/")[2] for path in tried] == ["open"]


def test_if_each_has_a_confirmation_no_confirmation_is_tried() -> None:
    server = furnished()
    server.objects["manualremediations"] = [named("given", confirmation={"by": "anna"})]
    server.asleep = "nodemend-confirmation"

    assert server.prove(server.proof(REMEDIATOR)) is None


def test_a_webhook_of_others_that_is_away_does_not_hold_everything() -> None:
    """Cluster API's may run on the same nodes that must be healed."""
    server = furnished()
    server.failing = {"nodemend-machines", "nodemend-external-remediation"}
    assert server.prove(server.proof(CHECKER)) is None

    server.failing = {"nodemend-nodes"}
    assert isinstance(server.prove(server.proof(REMEDIATOR)), PolicyNotProven)


@pytest.mark.parametrize(
    "gone", [path for path in DOCUMENTS if "bindings" in path and path.rpartition("/")[2] in ALWAYS]
)
def test_a_missing_binding_is_detected_in_the_next_round_and_accepted_when_it_returns(gone: str) -> None:
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


def test_an_outage_does_not_bring_the_proof_before_it_back() -> None:
    """The round after the one that found the policy missing gets no answer, and the last proof is still
    recent.
    """
    server = Server()
    proof = server.proof(REMEDIATOR)
    assert server.prove(proof) is None
    server.asks_policies = False
    assert isinstance(server.prove(proof), PolicyNotInForce)
    server.away = True

    assert server.prove(proof) is not None


def test_a_brown_out_in_which_no_round_is_answered_whole_leaves_each_policy_its_own_proof() -> None:
    server, failing = furnished(), cycle((True, False, False, False, False, False, False))
    proof = server.proof(REMEDIATOR)
    server.loses = lambda: next(failing)
    for _ in range(40):
        server.prove(proof)
        server.pass_time(10.0)

    assert all(any(problems.values()) for problems in server.reported)
    assert server.prove(proof) is None
    server.asks_policies = False
    for _ in range(10):
        server.prove(proof)
    assert server.prove(proof) is not None


def test_without_a_node_no_attempt_is_made_on_one() -> None:
    server = Server()
    server.objects = {}

    assert server.prove(server.proof(REMEDIATOR)) is None
    changed = {one.path for _, one in server.transport.asked if one.method is Method.PATCH}
    assert changed == {"/apis/nodemend.io/v1alpha1/nodehealthchecks/nodemend-policy-probe"}


def test_a_round_costs_the_same_however_many_nodes_there_are() -> None:
    few, many = Server(), Server()
    many.objects["nodes"] = [named(f"node-{number}") for number in range(1000)]
    for server in (few, many):
        server.prove(server.proof(REMEDIATOR))

    assert len(few.transport.asked) == len(many.transport.asked)
    assert all(("limit", "1") in one.query for _, one in many.transport.asked if one.path.endswith("/nodes"))


PINNING = "/validatingadmissionpolicies/nodemend-agent-leases"
BOUND = "/validatingadmissionpolicybindings/nodemend-agent-leases"


def written(document: dict[str, Any], version: int) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": str(version)}}


def fenced() -> Server:
    server = furnished()
    server.objects["leases"] = [named("node-1")]
    server.documents[PINNING] = written(server.documents[PINNING], 100)
    server.documents[BOUND] = written(server.documents[BOUND], 120)
    return server


def test_reports_count_from_when_policy_and_binding_took_their_form() -> None:
    server = fenced()
    proof = server.proof(FENCING)

    assert server.prove(proof) is None
    assert proof.reports_from() == 120
    server.documents[BOUND] = written(server.documents[BOUND], 300)
    assert server.prove(proof) is None
    assert proof.reports_from() == 300


@pytest.mark.parametrize("harm", ["asleep", "deleted", "unbound", "changed"])
def test_none_counts_while_any_agent_could_have_written_it_nor_what_was_written_then(harm: str) -> None:
    server = fenced()
    proof = server.proof(FENCING)
    server.prove(proof)
    kept = dict(server.documents)
    match harm:
        case "asleep":
            server.asleep = "nodemend-agent-leases"
        case "deleted":
            del server.documents[PINNING]
        case "unbound":
            del server.documents[BOUND]
        case _:
            spec = {**kept[PINNING]["spec"], "validations": []}
            server.documents[PINNING] = {**kept[PINNING], "spec": spec}

    assert isinstance(server.prove(proof), PolicyNotInForce)
    assert proof.reports_from() is None
    # Not even if it comes back with the same versions, as after a change of a flag of the API server.
    server.asleep, server.documents, server.version = "", kept, "900"
    assert server.prove(proof) is None
    assert proof.reports_from() == 900


def test_an_api_server_that_is_away_voids_no_report() -> None:
    """The node that failed may be the API server's own."""
    server = fenced()
    proof = server.proof(FENCING)
    server.prove(proof)
    server.away = True
    server.prove(proof)

    assert proof.reports_from() == 120


def test_a_policy_with_an_unknown_restore_time_is_not_proven() -> None:
    server = fenced()
    proof = server.proof(FENCING)
    server.asleep = "nodemend-agent-leases"
    server.prove(proof)
    server.asleep, server.version = "", ""

    assert isinstance(server.prove(proof), PolicyNotProven)
    assert proof.reports_from() is None
