"""Which Nodes state the same, kept by a watch."""

import pytest

from nodemend.api.group_versions import NODE
from nodemend.controllers.remediating.node_claims import GOOD_FOR, NodeClaims
from nodemend.decide.facts import Present, Seen, Unreadable
from nodemend.decide.host_identity import node_claims
from nodemend.kube.api_request import Method
from nodemend.kube.reflector_steps import ReflectorTimings
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.world import Account
from nodemend.testing.network import GOOD_LINK, Link
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport

UUID = "4c4c4544-0051-4a10-8052-b4c04f4e3132"
PROVIDER = "metal3://metal/h1/m1"
STATED = node_claims(PROVIDER, UUID)


class Place:
    def __init__(self) -> None:
        self.scheduler = Scheduler("claims")
        self.server = SimulatedApiServer(self.scheduler.wall)
        self.account = Account(self.server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        self.claims = NodeClaims(self.process, ReflectorTimings())

    def follow(self) -> None:
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.process.spawn(self.claims.follow(transport), "follow")
        self.run(5.0)

    def register(self, name: str, provider_id: str = "", system_uuid: str = "") -> None:
        self.api.create(NODE, {"metadata": {"name": name}, "spec": {"providerID": provider_id}})
        info = {"status": {"nodeInfo": {"systemUUID": system_uuid}}}
        self.api.patch(NODE, name, info, at=("", "status"))
        self.run(5.0)

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)
        self.server.tick()

    def others(self, node: str = "n1") -> Seen[tuple[str, ...]]:
        return self.claims.others(STATED, node)


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


def test_before_the_first_list_nothing_is_known() -> None:
    assert Place().others() == Unreadable("the watch of Nodes has heard nothing yet")


def test_a_watch_that_hears_nothing_is_not_believed() -> None:
    place = Place()
    place.follow()
    place.account.forbidden |= {(Method.GET, "nodes")}
    place.process.pause(GOOD_FOR * 10)
    place.run(GOOD_FOR * 2)

    found = place.others()

    assert isinstance(found, Unreadable)
