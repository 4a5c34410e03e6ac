"""Nodes that state the same identity, indexed by a watch."""

import pytest

from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.resources import NODE
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.kube.reflector import Reflector
from nodemend.kube.request import Method
from nodemend.records.node import node_records
from nodemend.remediation.switch_guard import ClusterView, NodeClaims
from nodemend.safety.facts import Present, ReadResult, Unreadable
from nodemend.safety.identity import node_claims
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

UUID = "4c4c4544-0051-4a10-8052-b4c04f4e3132"
PROVIDER = "metal3://metal/h1/m1"
STATED = node_claims(PROVIDER, UUID)


class Place:
    def __init__(self) -> None:
        self.scheduler = Scheduler("claims")
        self.server = SimulatedApiServer(
            self.scheduler.wall, definitions=[definition_of(custom) for custom in CUSTOM_RESOURCES]
        )
        self.account = Account(self.server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.view = ClusterView(self.process, transport)

    def follow(self) -> None:
        for name, following in self.view.follow().items():
            self.process.spawn(following, name)
        self.run(5.0)

    def register(self, name: str, provider_id: str = "", system_uuid: str = "") -> None:
        self.api.create(NODE, {"metadata": {"name": name}, "spec": {"providerID": provider_id}})
        info = {"status": {"nodeInfo": {"systemUUID": system_uuid}}}
        self.api.patch(NODE, name, info, at=("", "status"))
        self.run(5.0)

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)
        self.server.tick()

    def others(self, node: str = "n1") -> ReadResult[tuple[str, ...]]:
        return self.view.claims.others(STATED, node)


@pytest.mark.attack("S8")
def test_another_that_states_the_same_is_found_whenever_it_comes() -> None:
    place = Place()
    place.register("n1", PROVIDER, UUID)
    place.register("n2", "metal3://metal/h1/other")
    place.follow()
    place.register("n3", "", UUID.upper())
    place.register("n4", "metal3://metal/h2/m2", UUID.replace("4c4c", "5c5c"))

    assert place.others() == Present(("n2", "n3"))


def test_one_that_is_gone_states_nothing() -> None:
    place = Place()
    place.follow()
    place.register("n1", PROVIDER, UUID)
    place.register("n2", PROVIDER)
    place.api.delete(NODE, "n2")
    place.run(5.0)

    assert place.others() == Present(())
    assert place.others("n9") == Present(("n1",))


@pytest.mark.attack("S8")
def test_of_three_that_state_the_same_those_that_are_left_are_found() -> None:
    place = Place()
    for name in ("n1", "n2", "n3"):
        place.register(name, PROVIDER, UUID)
    place.follow()
    assert place.others() == Present(("n2", "n3"))

    place.api.delete(NODE, "n2")
    place.run(5.0)
    assert place.others() == Present(("n3",))

    place.register("n3-again", "", UUID)
    info = {"status": {"nodeInfo": {"systemUUID": ""}}}
    place.api.patch(NODE, "n3-again", info, at=("", "status"))
    place.api.delete(NODE, "n3")
    place.run(5.0)
    assert place.others() == Present(())
    assert place.others("n9") == Present(("n1",))


def test_another_of_the_same_name_states_what_it_states_itself() -> None:
    place = Place()
    place.register("n1", PROVIDER, UUID)
    place.register("n2", PROVIDER, UUID)
    place.follow()
    place.api.delete(NODE, "n2")
    place.register("n2", "metal3://metal/h2/m2")

    assert place.others() == Present(())
    assert place.view.claims.others(node_claims("metal3://metal/h2/m2", ""), "n1") == Present(("n2",))


def test_an_endless_system_uuid_is_ignored_and_hides_no_node() -> None:
    place = Place()
    place.follow()
    place.register("n1", PROVIDER, UUID)
    place.register("n2", PROVIDER, "f" * 100_000)

    assert place.others() == Present(("n2",))
    known = place.view.nodes.get("n2")
    assert known is not None
    assert known.system_uuid == ""


def test_before_the_first_list_nothing_is_known() -> None:
    assert Place().others() == Unreadable("the watch of Nodes has received nothing yet")


@pytest.mark.attack("S8")
def test_one_that_cannot_be_read_may_state_anything() -> None:
    process = Place().process
    nodes = Reflector(node_records(identity=True), chance=process.random)
    nodes.cache.synced_at = nodes.cache.last_contact = process.monotonic()
    nodes.unreadable = {"n7": "no name"}

    assert NodeClaims(nodes, process).others(STATED, "n1") == Unreadable("the Node n7 cannot be decoded")


def test_a_silent_watch_is_not_trusted() -> None:
    place = Place()
    place.follow()
    place.account.forbidden |= {(Method.GET, "nodes")}
    place.process.pause(VIEW_GOOD_FOR * 10)
    place.run(VIEW_GOOD_FOR * 2)

    found = place.others()

    assert isinstance(found, Unreadable)
