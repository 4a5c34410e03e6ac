"""The sweep over all agents, on a simulated API server."""

from typing import Any

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.agent import AgentReport, Marker, PeerProposal, WatchdogReport
from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.resources import LEASE, NODE, SELF_REMEDIATION
from nodemend.api.upstream_types import Node
from nodemend.guard.evaluator import VIEW_GOOD_FOR
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Ok
from nodemend.kube.request import Method, Request
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.self_fencing.peer_assignment import (
    ORPHANED_FOR,
    SILENT_AFTER,
    SWEEP_EVERY,
    AgentEntry,
    AgentRegistry,
    AgentSweep,
)
from nodemend.remediation.switch_guard import ClusterView
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import NAMESPACES, SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport

ZONE = "topology.kubernetes.io/zone"


class Place:
    def __init__(self) -> None:
        self.scheduler = Scheduler("agents")
        self.server = SimulatedApiServer(
            self.scheduler.wall,
            definitions=[definition_of(custom) for custom in CUSTOM_RESOURCES],
            namespaces=(*NAMESPACES, well_known.AGENT_NAMESPACE),
        )
        self.account = Account(self.server, ADMIN)
        self.api = Direct(self.account)
        self.process = SimulatedProcess(self.scheduler, "remediator", HostClock())
        transport = SimulatedTransport(Link(self.process, self.account, GOOD_LINK))
        self.client = ApiClient(transport, self.process)
        self.view = ClusterView(self.process, transport)
        for name, following in self.view.follow().items():
            self.process.spawn(following, name)
        self.reports_from: int | None = 0
        self.sweeper = AgentSweep(self.client, self.process, self.view.nodes, lambda: self.reports_from)

    def have(self, name: str, *, zone: str = "a", uid: str = "", role: str = "worker", **report: Any) -> None:
        labels = {ZONE: zone, f"node-role.kubernetes.io/{role}": ""}
        node = self.api.create(NODE, {"metadata": {"name": name, "labels": labels}})
        usual: dict[str, Any] = {
            "node_uid": uid or node["metadata"]["uid"],
            "boot_id": f"{name}-1",
            "sequence": 5,
            "acknowledged": 4,
            "steady_since": 1,
            "feed_lease": 35.0,
            "contact_age": 15.0,
            "watchdog": WatchdogReport(class_="hardware", effective=10.0),
            "address": f"{name}:9443",
        }
        text = msgspec.json.encode(AgentReport(**{**usual, **report})).decode()
        metadata = {"name": name, "annotations": {well_known.AGENT_REPORT: text}}
        self.api.create(LEASE, {"metadata": metadata, "spec": {}}, well_known.AGENT_NAMESPACE)

    def renew(self, name: str, sequence: int) -> None:
        text = self.annotation(name, well_known.AGENT_REPORT)
        assert text is not None
        changed = msgspec.json.decode(text) | {"sequence": sequence}
        self.note(name, well_known.AGENT_REPORT, msgspec.json.encode(changed).decode())

    def note(self, name: str, key: str, text: str) -> None:
        change = {"metadata": {"annotations": {key: text}}}
        self.api.patch(LEASE, name, change, at=(well_known.AGENT_NAMESPACE, ""))

    def annotation(self, name: str, key: str) -> str | None:
        lease = self.api.get(LEASE, name, well_known.AGENT_NAMESPACE)
        assert lease is not None
        found: str | None = lease["metadata"]["annotations"].get(key)
        return found

    def peers_of(self, name: str) -> set[str]:
        text = self.annotation(name, well_known.PEER_PROPOSAL)
        return set() if text is None else {p.name for p in msgspec.json.decode(text, type=PeerProposal).peers}

    def begin_sweep(self) -> None:
        self.scheduler.run(self.scheduler.now + 2.0)  # The watch reports the changes.

        async def once() -> None:
            self.next_after = await self.sweeper.sweep()

        self.process.spawn(once(), "sweep")

    def sweep(self, within: float = 10.0) -> None:
        self.begin_sweep()
        self.scheduler.run(self.scheduler.now + within)
        assert not self.process.unjoined_failures

    def reads_at_once(self) -> bool:
        """True if a remediation's read is answered without delay."""
        heard: list[object] = []

        async def read() -> None:
            heard.append(await LiveReader(self.client, self.process).get(NODE, "n0", Node))

        self.process.spawn(read(), "remediation")
        self.scheduler.run(self.scheduler.now + 0.5)
        return bool(heard) and isinstance(heard[0], Ok)


def test_every_node_gets_a_peer_proposal_once() -> None:
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name)

    place.sweep()
    written = place.account.asked[Method.PATCH]
    place.sweep()

    assert {name: place.peers_of(name) for name in "abc"} == {
        "a": {"b", "c"},
        "b": {"a", "c"},
        "c": {"a", "b"},
    }
    assert place.account.asked[Method.PATCH] == written == 3


def test_an_agent_that_renews_just_before_it_is_written_to_gets_its_proposal_all_the_same() -> None:
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name)
    renewed: list[str] = []

    def renew(_user: str, request: Request, _answer: ApiResponse) -> None:
        if request.path.endswith("/leases/a") and not renewed:
            renewed.append("b")
            place.renew("b", 6)

    place.account.witnesses.append(renew)
    place.sweep()

    assert renewed
    assert {name: place.peers_of(name) for name in "abc"} == {
        "a": {"b", "c"},
        "b": {"a", "c"},
        "c": {"a", "b"},
    }


def test_one_that_was_marked_meanwhile_is_left_alone() -> None:
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name)
    made = place.api.create(SELF_REMEDIATION, {"metadata": {"name": "b"}, "spec": {}}, "default")
    marker = Marker(node_uid="u", boot_id="b-1", remediation_uid=made["metadata"]["uid"])

    def mark(_user: str, request: Request, _answer: ApiResponse) -> None:
        if request.path.endswith("/leases/a") and place.annotation("b", well_known.MARKER) is None:
            place.note("b", well_known.MARKER, msgspec.json.encode(marker).decode())

    place.account.witnesses.append(mark)
    place.sweep()

    assert place.annotation("b", well_known.MARKER) is not None
    assert place.annotation("b", well_known.PEER_PROPOSAL) is None


@pytest.mark.slow
def test_many_are_proposed_to_in_one_sweep_and_remediations_need_not_wait_for_it() -> None:
    place = Place()
    names = [f"n{number}" for number in range(400)]
    for name in names:
        place.have(name)

    place.begin_sweep()
    assert all(place.reads_at_once() for _ in range(10))
    assert not place.peers_of("n399")
    place.scheduler.run(place.scheduler.now + 30.0)

    assert [name for name in names if len(place.peers_of(name)) != 15] == []
    assert place.next_after == SWEEP_EVERY


def test_beside_the_only_member_of_a_control_plane_two_nodes_have_no_peers() -> None:
    place = Place()
    place.have("a", role="control-plane")
    for name in ("b", "c"):
        place.have(name)
    place.sweep()
    assert {name: place.peers_of(name) for name in "abc"} == {"a": {"b", "c"}, "b": set(), "c": set()}

    place.have("d")
    place.sweep()
    assert place.peers_of("b") == {"a", "c", "d"}


def test_a_lease_whose_node_is_gone_or_another_is_nobodys_peer() -> None:
    place = Place()
    for name in ("a", "b"):
        place.have(name)
    place.have("c", uid="another")
    place.have("d")
    place.api.delete(NODE, "d")

    place.sweep()

    assert (place.peers_of("a"), place.peers_of("c"), place.peers_of("d")) == ({"b"}, set(), set())


def test_a_silent_peer_is_replaced_after_some_time() -> None:
    place = Place()
    names = [f"n{number}" for number in range(10)]
    for name in names:
        place.have(name)
    place.sweep()
    assert "n9" in place.peers_of("n0")

    place.scheduler.run(place.scheduler.now + SILENT_AFTER)
    for name in names[:9]:
        place.renew(name, 6)
    place.sweep()

    assert place.peers_of("n0") == set(names[1:9])


def test_when_all_fall_silent_nothing_changes() -> None:
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name)
    place.sweep()
    place.scheduler.run(place.scheduler.now + SILENT_AFTER)

    place.sweep()

    assert place.peers_of("a") == {"b", "c"}


@pytest.mark.parametrize("gone", [True, False])
def test_a_marker_is_removed_when_its_remediation_is_deleted(gone: bool) -> None:
    place = Place()
    place.have("a")
    made = place.api.create(SELF_REMEDIATION, {"metadata": {"name": "a"}, "spec": {}}, "default")
    marker = Marker(node_uid="u", boot_id="a-1", remediation_uid=made["metadata"]["uid"])
    place.note("a", well_known.MARKER, msgspec.json.encode(marker).decode())
    if gone:
        place.api.delete(SELF_REMEDIATION, "a", "default")

    place.sweep()
    assert place.annotation("a", well_known.MARKER) is not None  # A release write may still be under way.
    place.sweep(within=ORPHANED_FOR)
    place.sweep()

    assert (place.annotation("a", well_known.MARKER) is None) is gone


@pytest.mark.attack("K6")
@pytest.mark.parametrize("why", ["tainted", "unreadable"])
def test_a_marker_stays_while_our_out_of_service_taint_may_be_on_the_node(why: str) -> None:
    place = Place()
    place.have("a")
    marker = Marker(node_uid="u", boot_id="a-1", remediation_uid="gone")
    place.note("a", well_known.MARKER, msgspec.json.encode(marker).decode())
    if why == "tainted":
        taint = {
            "key": well_known.OUT_OF_SERVICE,
            "effect": well_known.NO_EXECUTE,
            "value": well_known.OUR_TAINT_VALUE,
        }
        place.api.patch(NODE, "a", {"spec": {"taints": [taint]}})
    else:
        place.account.forbidden.add((Method.GET, "nodes"))

    place.sweep(within=ORPHANED_FOR)
    place.sweep()
    assert place.annotation("a", well_known.MARKER) is not None

    place.account.forbidden.clear()
    place.api.patch(NODE, "a", {"spec": {"taints": None}})
    place.sweep()
    assert place.annotation("a", well_known.MARKER) is None


def test_a_marked_lease_is_left_alone_otherwise() -> None:
    place = Place()
    for name in ("a", "b"):
        place.have(name)
    made = place.api.create(SELF_REMEDIATION, {"metadata": {"name": "a"}, "spec": {}}, "default")
    marker = Marker(node_uid="u", boot_id="a-1", remediation_uid=made["metadata"]["uid"])
    place.note("a", well_known.MARKER, msgspec.json.encode(marker).decode())

    place.sweep()

    assert (place.peers_of("a"), place.peers_of("b")) == (set(), set())


def test_what_cannot_be_read_is_left_alone() -> None:
    place = Place()
    place.have("a")
    place.note("a", well_known.MARKER, "no marker at all")

    place.sweep()

    assert place.annotation("a", well_known.MARKER) == "no marker at all"
    assert place.peers_of("a") == set()


def test_where_nodes_may_not_be_listed_nothing_is_proposed() -> None:
    place = Place()
    for name in ("a", "b"):
        place.have(name)
    place.account.forbidden.add((Method.GET, "nodes"))

    place.sweep()

    assert place.account.asked[Method.PATCH] == 0
    assert place.next_after == SWEEP_EVERY


def test_nodes_that_were_last_seen_long_ago_are_nobodys_peers() -> None:
    place = Place()
    for name in ("a", "b"):
        place.have(name)
    place.scheduler.run(place.scheduler.now + 2.0)
    place.account.forbidden.add((Method.GET, "nodes"))
    place.server.tick()
    place.process.pause(10 * VIEW_GOOD_FOR)
    place.scheduler.run(place.scheduler.now + 11 * VIEW_GOOD_FOR)

    place.sweep()

    assert place.account.asked[Method.PATCH] == 0


def test_of_each_lease_little_is_kept_while_a_sweep_goes_on() -> None:
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name, peers=(("a", "b", "c"),))
    place.sweep()
    kept: list[AgentEntry] = []

    async def read() -> None:
        kept.extend(
            await AgentRegistry(LiveReader(place.client, place.process), place.view.nodes).leases() or ()
        )

    place.process.spawn(read(), "read")
    place.scheduler.run(place.scheduler.now + 2.0)

    assert [one.report.peers for one in kept if one.report is not None] == [(), (), ()]
    entries = [entry for one in kept if one.proposal is not None for entry in one.proposal.peers]
    assert len(entries) == 6
    assert len({id(entry) for entry in entries}) == 3


@pytest.mark.attack("S6")
def test_a_lease_that_another_agent_could_have_written_is_left_as_it_is_until_it_is_renewed() -> None:
    """A proposal would make it newer than the policy without making its report more trustworthy."""
    place = Place()
    for name in ("a", "b", "c"):
        place.have(name)
    place.reports_from = None
    place.sweep()
    assert place.peers_of("a") == set()

    lease = place.api.get(LEASE, "c", well_known.AGENT_NAMESPACE)
    assert lease is not None
    place.reports_from = int(lease["metadata"]["resourceVersion"])
    place.renew("a", 6)
    place.renew("b", 6)
    place.sweep()
    assert (place.peers_of("a"), place.peers_of("c")) == ({"b"}, set())

    place.renew("c", 6)
    place.sweep()
    assert place.peers_of("c") == {"a", "b"}
