from nodemend.kube.request import Method
from simulation.api_server.admission import Question, User
from simulation.api_server.self_description import MAY, WHO
from tests.unit.simulation.api_server.client import Client


def test_the_version_and_what_is_served() -> None:
    client = Client()

    _, version = client.ask(Method.GET, "/version")
    _, served = client.ask(Method.GET, "/apis/example.com/v1")

    assert version["major"] == "1"
    assert [resource["name"] for resource in served["resources"]] == ["widgets", "widgets/status"]


def test_who_asks_and_what_they_may() -> None:
    def may(question: Question) -> bool:
        return (question.verb, str(question.resource)) != ("confirm", "widgets.example.com")

    client = Client(authorizer=may)
    client.user = User("ann", ("people",))

    def allowed(verb: str) -> bool:
        attributes = {"verb": verb, "group": "example.com", "resource": "widgets"}
        _, review = client.ask(Method.POST, MAY, {"spec": {"resourceAttributes": attributes}})
        return bool(review["status"]["allowed"])

    _, who = client.ask(Method.POST, WHO, {"kind": "SelfSubjectReview"})

    assert who["status"]["userInfo"] == {"username": "ann", "groups": ["people"]}
    assert (allowed("get"), allowed("confirm")) == (True, False)
