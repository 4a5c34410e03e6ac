from collections.abc import Sequence

from nodemend.api.resources import NODE
from nodemend.kube.request import Method
from simulation.api_server.admission import (
    Attempt,
    Denial,
    Operation,
    PolicyDenial,
    Question,
    RuleViolation,
    User,
)
from tests.unit.simulation.api_server.client import WIDGET, Client


def size_never_falls(attempt: Attempt) -> Sequence[Denial]:
    old, new = attempt.old, attempt.new
    if old is None or new is None or new["spec"]["size"] >= old["spec"]["size"]:
        return []
    return [RuleViolation("spec.size", "must not fall")]


def only_ann_deletes(attempt: Attempt) -> Sequence[Denial]:
    if attempt.operation is not Operation.DELETE or attempt.user.name == "ann":
        return []
    return [PolicyDenial("deletions", "only ann deletes", "Forbidden")]


def client_with_rules() -> Client:
    client = Client(rules={WIDGET: (size_never_falls, only_ann_deletes)})
    client.create(WIDGET, "w", "default", spec={"size": 2})
    return client


def test_a_rule_of_a_crd_refuses_with_its_field() -> None:
    status, why = client_with_rules().patch(WIDGET, "w", "default", change={"spec": {"size": 1}})

    assert (status, why["details"]["causes"][0]["field"]) == (422, "spec.size")


def test_a_policy_refuses_with_its_reason() -> None:
    client = client_with_rules()

    status, why = client.delete(WIDGET, "w", "default")
    client.user = User("ann")
    allowed, _ = client.delete(WIDGET, "w", "default")

    assert (status, why["reason"], allowed) == (403, "Forbidden", 200)
    assert why["message"].endswith("denied request: only ann deletes")


def test_an_authorizer_is_asked_before_anything_else() -> None:
    asked: list[Question] = []

    def may(question: Question) -> bool:
        asked.append(question)
        return question.user.name != "mallory"

    client = Client(authorizer=may)
    client.user = User("mallory", ("people",))

    status, why = client.ask(Method.PATCH, "/api/v1/nodes/n/status", {"no": "patch"})

    assert status == 403
    assert why["message"] == (
        'nodes "n" is forbidden: User "mallory" cannot patch resource "nodes/status" in API group "" '
        "at the cluster scope"
    )
    assert asked[-1] == Question(User("mallory", ("people",)), "patch", NODE, "", "n", "status")
