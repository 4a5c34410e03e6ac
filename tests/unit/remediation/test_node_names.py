"""The node that a remediation is about."""

from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta, OwnerReference
from nodemend.api.resources import NODE, Resource
from nodemend.api.upstream_types import Node
from nodemend.kube.client import ApiClient
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.node_state import named_node
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

MACHINE = Resource("cluster.x-k8s.io", "v1beta2", "Machine", "machines")
OPENSHIFT = Resource("machine.openshift.io", "v1beta1", "Machine", "machines")
PROVIDER = "metal3://here/h-1/m-1"
BACK_TO_IT = {well_known.MACHINE_OF_NODE: "m-1", well_known.NAMESPACE_OF_CLUSTER: "here"}


class Place:
    """An API server, and a client that reads from it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler("names")
        definitions = tuple(map(a_definition, (MACHINE, OPENSHIFT)))
        server = SimulatedApiServer(self.scheduler.wall, definitions=definitions, namespaces=("here",))
        account = Account(server, ADMIN)
        self.api = Direct(account)
        self.process = SimulatedProcess(self.scheduler, "asker", HostClock())
        transport = SimulatedTransport(Link(self.process, account, GOOD_LINK))
        self.reader = LiveReader(ApiClient(transport, self.process), self.process)

    def have(self, resource: Resource, node: str, back: dict[str, str], said: str = PROVIDER) -> ObjectMeta:
        """A Machine m-1 and its node, which states the provider ID `said`.

        Return the metadata of its remediation.
        """
        body = {"metadata": {"name": "m-1"}, "spec": {"providerID": PROVIDER}}
        machine = self.api.create(resource, body, "here")
        at = ("here", "status")
        if node:
            self.api.patch(resource, "m-1", {"status": {"nodeRef": {"name": node}}}, at=at)
            spec = {"providerID": said} if said else {}
            self.api.create(NODE, {"metadata": {"name": node, "annotations": back}, "spec": spec})
        return of_machine(resource, machine["metadata"]["uid"])

    def ask(self, remediation: ObjectMeta, known: str = "") -> ReadResult[Node]:
        answers: list[ReadResult[Node]] = []

        async def ask() -> None:
            answers.append(await named_node(self.reader, remediation, known))

        self.process.spawn(ask(), "ask")
        self.scheduler.run(self.scheduler.now + 30.0)
        return answers[0]


def of_machine(resource: Resource = MACHINE, uid: str = "u") -> ObjectMeta:
    owner = OwnerReference(api_version=resource.api_version, kind="Machine", name="m-1", uid=uid)
    return ObjectMeta(name="m-1", namespace="here", owner_references=(owner,))


def name_of(found: ReadResult[Node]) -> str:
    assert isinstance(found, Present)
    return found.value.metadata.name


@pytest.mark.parametrize(
    ("metadata", "known", "name"),
    [
        ({"name": "n-1"}, "", "n-1"),
        ({"name": "n-1-x7", "annotations": {well_known.NODE_OF_REMEDIATION: "n-1"}}, "", "n-1"),
        ({"name": "whatever"}, "n-1", "n-1"),
    ],
)
def test_without_a_machine_it_is_named(metadata: dict[str, Any], known: str, name: str) -> None:
    place = Place()
    place.api.create(NODE, {"metadata": {"name": "n-1"}})

    assert name_of(place.ask(ObjectMeta(namespace="here", **metadata), known)) == name


@pytest.mark.parametrize(
    ("resource", "back"),
    [(MACHINE, BACK_TO_IT), (OPENSHIFT, {well_known.OPENSHIFT_MACHINE_OF_NODE: "here/m-1"})],
)
def test_a_machine_names_the_node_that_names_it(resource: Resource, back: dict[str, str]) -> None:
    place = Place()
    remediation = place.have(resource, "n-1", back)

    assert name_of(place.ask(remediation)) == "n-1"


OTHER_NAMESPACE = {**BACK_TO_IT, well_known.NAMESPACE_OF_CLUSTER: "there"}


@pytest.mark.attack("S2", "G1")
@pytest.mark.parametrize(
    ("back", "said", "why"),
    [
        ({}, PROVIDER, "it may be another cluster's that has such a Node"),
        (
            OTHER_NAMESPACE,
            PROVIDER,
            "two sources disagree on the Machine of the node: there/m-1 and here/m-1",
        ),
        (BACK_TO_IT, "", "it may be another cluster's that has such a Node"),
        (BACK_TO_IT, "k3s://n-1", f"two sources disagree on the provider ID: {PROVIDER} and k3s://n-1"),
    ],
)
def test_a_node_of_that_name_is_not_the_machines(back: dict[str, str], said: str, why: str) -> None:
    place = Place()
    remediation = place.have(MACHINE, "n-1", back, said)

    found = place.ask(remediation)

    assert isinstance(found, Unreadable)
    assert why in found.why


@pytest.mark.attack("S2")
def test_a_recreated_machine_is_not_the_requested_one() -> None:
    place = Place()
    place.have(MACHINE, "n-1", BACK_TO_IT)

    assert place.ask(of_machine(uid="of one before")) == Absent()


def test_a_machine_without_a_node_has_none() -> None:
    place = Place()
    remediation = place.have(MACHINE, "", {})

    assert place.ask(remediation) == Absent()


def test_a_deleted_machine_names_no_node() -> None:
    assert Place().ask(of_machine()) == Absent()
