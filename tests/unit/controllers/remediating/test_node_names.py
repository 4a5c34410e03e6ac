"""Which node a remediation is about."""

from typing import Any

import pytest

from nodemend.api import keys
from nodemend.api.group_versions import NODE, Resource
from nodemend.api.node import Node
from nodemend.api.object_meta import ObjectMeta, OwnerReference
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.remediating.node_names import named_node
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.kube.api_client import ApiClient
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.foreign_kinds import a_definition
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport

MACHINE = Resource("cluster.x-k8s.io", "v1beta2", "Machine", "machines")
OPENSHIFT = Resource("machine.openshift.io", "v1beta1", "Machine", "machines")
BACK_TO_IT = {keys.MACHINE_OF_NODE: "m-1", keys.NAMESPACE_OF_CLUSTER: "here"}


class Place:
    """An API server, and somebody who asks it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("names")
        definitions = tuple(map(a_definition, (MACHINE, OPENSHIFT)))
        server = SimulatedApiServer(self.scheduler.wall, definitions=definitions, namespaces=("here",))
        account = Account(server, ADMIN)
        self.api = Direct(account)
        self.process = SimulatedProcess(self.scheduler, "asker", HostClock())
        transport = SimulatedTransport(Link(self.process, account, GOOD_LINK))
        self.reader = Reader(ApiClient(transport, self.process), self.process)

    def have(self, resource: Resource, node: str, back: dict[str, str]) -> None:
        """A Machine m-1, and its node."""
        self.api.create(resource, {"metadata": {"name": "m-1"}, "spec": {}}, "here")
        at = ("here", "status")
        if node:
            self.api.patch(resource, "m-1", {"status": {"nodeRef": {"name": node}}}, at=at)
            self.api.create(NODE, {"metadata": {"name": node, "annotations": back}})

    def ask(self, remediation: ObjectMeta, known: str = "") -> Seen[Node]:
        answers: list[Seen[Node]] = []

        async def ask() -> None:
            answers.append(await named_node(self.reader, remediation, known))

        self.process.spawn(ask(), "ask")
        self.scheduler.run(self.scheduler.now + 30.0)
        return answers[0]


def of_machine(resource: Resource = MACHINE) -> ObjectMeta:
    owner = OwnerReference(api_version=resource.api_version, kind="Machine", name="m-1", uid="u")
    return ObjectMeta(name="m-1", namespace="here", owner_references=(owner,))


def name_of(found: Seen[Node]) -> str:
    assert isinstance(found, Present)
    return found.value.metadata.name


@pytest.mark.parametrize(
    ("metadata", "known", "name"),
    [
        ({"name": "n-1"}, "", "n-1"),
        ({"name": "n-1-x7", "annotations": {keys.NODE_OF_REMEDIATION: "n-1"}}, "", "n-1"),
        ({"name": "whatever"}, "n-1", "n-1"),
    ],
)
def test_without_a_machine_it_is_named(metadata: dict[str, Any], known: str, name: str) -> None:
    place = Place()
    place.api.create(NODE, {"metadata": {"name": "n-1"}})

    assert name_of(place.ask(ObjectMeta(namespace="here", **metadata), known)) == name


@pytest.mark.parametrize(
    ("resource", "back"),
    [(MACHINE, BACK_TO_IT), (OPENSHIFT, {keys.OPENSHIFT_MACHINE_OF_NODE: "here/m-1"})],
)
def test_a_machine_names_the_node_that_names_it(resource: Resource, back: dict[str, str]) -> None:
    place = Place()
    place.have(resource, "n-1", back)

    assert name_of(place.ask(of_machine(resource))) == "n-1"


@pytest.mark.parametrize("back", [{}, {**BACK_TO_IT, keys.NAMESPACE_OF_CLUSTER: "there"}])
def test_a_node_of_that_name_that_says_otherwise_is_nobodys(back: dict[str, str]) -> None:
    place = Place()
    place.have(MACHINE, "n-1", back)

    found = place.ask(of_machine())

    assert isinstance(found, Unreadable)
    assert "it may be another cluster's" in found.why


def test_a_machine_without_a_node_has_none() -> None:
    place = Place()
    place.have(MACHINE, "", {})

    assert place.ask(of_machine()) == Absent()


def test_a_machine_that_is_gone_names_nobody() -> None:
    assert Place().ask(of_machine()) == Absent()
