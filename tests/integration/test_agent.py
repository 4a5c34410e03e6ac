"""The agent as a program, against a real API server, with a token that is bound to a pod on its node."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from controlplane.process import Process
from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE
from controlplane.waiting import wait_until
from nodemend.agent.files import BoundNode, node_of_token
from nodemend.agent.watchdog.model import VERSION
from nodemend.agent.watchdog.records import format_gate
from nodemend.agent.watchdog.records_io import read_disarm_permission, read_lease, write_record
from nodemend.api.well_known import MARKER
from nodemend.protocol.feed_lease import FeedLease
from tests.e2e.agent_nodes.agent_node import AgentNode, furnish
from tests.unit.agent.certificates import Authority

pytest_plugins = ["controlplane.fixtures"]
pytestmark = pytest.mark.real

S = 1_000_000_000
Make = Callable[..., AgentNode]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def make(api_server: ControlPlane, tmp_path: Path, authority: Authority) -> Iterator[Make]:
    furnish(api_server)
    with ExitStack() as owned:

        def node(name: str = "n1") -> AgentNode:
            made = AgentNode(api_server, name, tmp_path / name, authority)
            owned.callback(made.end)
            return made

        yield node


def now() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def fed_for(node: AgentNode) -> float:
    found = read_lease(str(node.folder / "agent" / "lease"))
    return found.until / S - now() if isinstance(found, FeedLease) else 0.0


def says(node: AgentNode, words: str) -> None:
    """Wait until the agent logs this: the cluster shows its actions before its log does."""
    wait_until(f"it says {words!r}", lambda: words in node.said, within=20)


def probe(node: AgentNode, path: str) -> int:
    lines = [json.loads(line) for line in node.said.splitlines()]
    [port] = {line["probes"] for line in lines if line["event"] == "listening"}
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def arm(node: AgentNode, **facts: object) -> None:
    """Write the status of a feeder that feeds its own device."""
    ping = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    reported = {
        "boot": node.boot_id,
        "state": "armed",
        "class": "hardware",
        "driver": "i6300ESB timer",
        "written-seconds": 9,
        "effective": 3600 * S,
        "last-ping": ping,
        "lease-length": 35 * S,
        **facts,
    }
    lines = [VERSION, *(f"{name} {value}" for name, value in reported.items()), ""]
    write_record(str(node.folder / "feeder.status"), "\n".join(lines).encode())


def test_the_token_of_a_pod_names_its_node(make: Make) -> None:
    node = make()

    assert node_of_token(node.token()) == BoundNode("n1", node.uid)


def test_an_agent_publishes_its_boot_lets_the_feeder_go_on_and_is_ready(make: Make) -> None:
    node = make()
    arm(node)
    write_record(str(node.folder / "gate"), format_gate(node.boot_id, published=True))
    node.start()
    wait_until("it is published", lambda: node.report().get("acknowledged", 0) != 0, within=60)

    reported = node.report()
    assert (reported["nodeUID"], reported["bootID"], reported["bootGate"]) == (node.uid, node.boot_id, True)
    assert reported["watchdog"] == {
        "class": "untested",
        "driver": "i6300ESB timer",
        "written": 9.0,
        "effective": 3600.0,
    }
    assert reported["feedLease"] == 35.0
    assert 25 < fed_for(node) <= 35
    assert (probe(node, "/livez"), probe(node, "/readyz")) == (200, 200)
    assert len(node.said.splitlines()) <= 5


def test_without_a_feeder_it_still_renews_and_reports_its_watchdog_unsupported(make: Make) -> None:
    node = make()
    node.start()
    wait_until("it is published", lambda: bool(node.report()), within=60)

    watchdog = node.report()["watchdog"]
    assert isinstance(watchdog, dict)
    assert (watchdog["class"], watchdog["why"]) == (
        "unsupported",
        "no feeder has reported anything in this boot",
    )
    assert "bootGate" not in node.report()
    says(node, "no release can rest on this node's watchdog")


def test_a_watchdog_that_is_armed_later_is_published_then(make: Make) -> None:
    node = make()
    node.start()
    wait_until("it is published", lambda: bool(node.report()), within=60)
    arm(node)

    def armed() -> bool:
        watchdog = node.report()["watchdog"]
        return isinstance(watchdog, dict) and watchdog["class"] == "untested"

    wait_until("the watchdog is published", armed, within=20)


def test_an_agent_that_is_killed_and_restarts_in_time_misses_nothing(make: Make) -> None:
    node = make()
    arm(node)
    process = node.start()
    wait_until("it is published", lambda: node.report().get("acknowledged", 0) != 0, within=60)
    before = node.report()
    process.kill()
    assert fed_for(node) > 15

    node.start()
    wait_until("it goes on", lambda: node.report().get("acknowledged", 0) > before["sequence"], within=30)
    assert node.report()["steadySince"] == before["steadySince"]
    assert fed_for(node) > 15


def test_a_stopped_agent_stops_gracefully_and_the_next_one_takes_over(make: Make) -> None:
    node = make()
    arm(node)
    process = node.start()
    disarm_permission = str(node.folder / "agent" / "permit")
    wait_until("it is published", lambda: node.report().get("acknowledged", 0) != 0, within=60)
    assert not read_disarm_permission(disarm_permission, node.boot_id)

    process.end(within=15)
    assert json.loads(node.said.splitlines()[-1])["event"] == "stopped"
    assert node.report()["watchdog"]["why"] == "its agent was stopped: it is fed without one"
    assert read_disarm_permission(disarm_permission, node.boot_id)

    arm(node)
    node.start()
    wait_until("it counts", lambda: node.report()["watchdog"]["class"] == "untested", within=30)
    assert not read_disarm_permission(disarm_permission, node.boot_id)


def test_the_second_of_two_agents_on_one_node_ends(make: Make) -> None:
    node = make()
    node.start()
    wait_until("it is published", lambda: bool(node.report()), within=60)
    log = node.folder / "second.log"
    second = Process(node.command(), log=log)
    wait_until("it ends", lambda: not second.running, within=30)
    assert "another agent of this node has not ended yet" in log.read_text()


def test_a_marker_for_this_boot_ends_it_and_no_later_agent_feeds_it(make: Make) -> None:
    node = make()
    node.start()
    wait_until("it is published", lambda: bool(node.report()), within=60)
    marker = {"nodeUID": node.uid, "bootID": node.boot_id, "remediationUID": "r"}
    node.annotate(**{MARKER: json.dumps(marker)})

    def fence_requested() -> bool:
        found = read_lease(str(node.folder / "agent" / "lease"))
        return isinstance(found, FeedLease) and found.fence_requested

    wait_until("it is condemned", fence_requested, within=20)
    assert probe(node, "/livez") == 200
    node.end()
    node.start()
    wait_until("the next one says so", lambda: "nothing is renewed" in node.said, within=30)
    assert fence_requested()


def test_cut_off_and_without_an_answer_it_lets_the_lease_run_out(
    start_control_plane: StartControlPlane, tmp_path: Path, authority: Authority
) -> None:
    plane = start_control_plane(API_SERVER_ALONE)
    furnish(plane)
    node = AgentNode(plane, "n1", tmp_path / "n1", authority)
    try:
        node.start()
        wait_until("it is published", lambda: bool(node.report()), within=60)
        node.propose('{"peers":[{"name":"dead","address":"127.0.0.1:9"}]}')
        wait_until("it has a peer", lambda: "dead" in str(node.report().get("peers")), within=20)
        time.sleep(6)  # One more renewal: from its acknowledgement on, only the new list counts.
        plane.pause("kube-apiserver")
        wait_until("it runs out", lambda: fed_for(node) <= 0, within=60)
        says(node, "the API server is not reached")
        says(node, "peers were asked")
        plane.resume("kube-apiserver")
        wait_until("it is fed again", lambda: fed_for(node) > 0, within=30)
        says(node, "the API server is reached again")
    finally:
        node.end()


@pytest.mark.parametrize(("others", "why"), [(False, "it is no JWT"), (True, "a pod on n2")])
def test_a_token_of_another_node_is_rejected(make: Make, others: bool, why: str) -> None:
    node = make()
    (node.folder / "account" / "token").write_text(make("n2").token() if others else "nothing")
    process = node.start()
    wait_until("it has ended", lambda: not process.running, within=30)

    assert why in node.said


def test_an_agent_whose_node_is_registered_again_ends_and_the_next_one_reports_for_the_new_node(
    make: Make,
) -> None:
    node = make()
    running = node.start()
    wait_until("it is published", lambda: bool(node.report()), within=60)
    old = node.uid

    node.plane.api.delete("/api/v1/nodes/n1")
    again = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    new = node.plane.api.create(again)["metadata"]["uid"]
    node.renew_token()

    wait_until("it ends", lambda: not running.running, within=30)
    says(node, f"this Node was registered again: its UID was {old} and is {new}")
    node.start()
    wait_until("it reports for the new Node", lambda: node.report()["nodeUID"] == new, within=60)
