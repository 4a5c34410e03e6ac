"""Publishing a boot before kubelet starts, request by request against a fake server."""

import http.client
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import structs

from nodemend.agent import exit_codes
from nodemend.agent.api_check.check import CONTACT_AGE, DesiredLease, Publisher
from nodemend.agent.reset_log import ResetRecord
from nodemend.agent.state import ActiveTerms, AgentIdentity, AgentState
from nodemend.agent.watchdog.records import SECOND, STOPPED_GRACEFULLY, WatchdogStatus
from nodemend.api.agent import AgentReport, LastReset, Marker, WatchdogReport
from nodemend.api.well_known import AGENT_REPORT, MARKER
from nodemend.kube.outcome import ApiResponse, LeaseFound
from nodemend.protocol.timing import RenewalPace
from nodemend.records.agent_lease import understand

ARMED = WatchdogStatus("hardware", "i6300ESB timer", 9.0, 9.063, "")
WAITING = WatchdogStatus("unsupported", "", 0.0, 0.0, "the feeder is waiting: no lease")
WANTED = DesiredLease("n1", "boot-2", ARMED, 35.0, "1.0", "2026-01-01T00:00:00")


def token(node: str = "n1") -> str:
    claims = {"kubernetes.io": {"node": {"name": node, "uid": "uid-1"}}}
    return f"e30.{urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip('=')}.c2ln"


class Server:
    """Fake server of Leases (compare-and-swap), a node's pods and tokens.

    Only the agent's token may write.
    """

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.pods: list[dict[str, Any]] = [self.pod()]
        self.node = True
        self.installed = True
        self.ready = 200
        self.readable = True
        self.token = token()
        self.asked: list[str] = []
        self.before_write: Callable[[], None] = lambda: None

    @staticmethod
    def pod(account: str = "nodemend-agent", **about: str) -> dict[str, Any]:
        return {
            "metadata": {"name": "agent-x", "uid": "p-1", **about},
            "spec": {"serviceAccountName": account},
        }

    def put(self, report: dict[str, Any] | None = None, marker: str = "", epoch: int = 0) -> None:
        """Set the Lease as another writer leaves it."""
        annotations = {AGENT_REPORT: json.dumps(report)} if report else {}
        if marker:
            mark = Marker(node_uid="uid-1", boot_id=marker, remediation_uid="r", epoch=epoch)
            annotations[MARKER] = msgspec.json.encode(mark).decode()
        self._store({"kind": "Lease", "metadata": {"name": "n1", "annotations": annotations}, "spec": {}})

    def _store(self, lease: dict[str, Any]) -> None:
        version = int(self.lease["metadata"]["resourceVersion"]) + 1 if self.lease else 1
        lease["metadata"] |= {"uid": "l-1", "resourceVersion": str(version)}
        self.lease = lease

    def as_node(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        self.asked.append(f"{method} {path.rpartition('/')[2].partition('?')[0]}")
        match method, path.rpartition("/")[2].partition("?")[0]:
            case "GET", "pods":
                return self._reported(200, {"items": self.pods})
            case "POST", "token":
                return self._reported(201, {"status": {"token": self.token}})
            case "GET", "readyz":
                return self._reported(self.ready, {})
            case "GET", "nodemend.io":
                return self._reported(200 if self.installed else 404, {})
            case "GET", _ if not self.readable and "/leases/" in path:
                return self._reported(403, {"kind": "Status", "reason": "Forbidden"})
            case "GET", _ if "/nodes/" in path:
                return self._reported(200 if self.node else 404, {})
            case "GET", _:
                return self._lease()
            case _:
                return self._reported(403, {"kind": "Status", "message": "NodeRestriction"})

    def without_store(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        return self._reported(503, {}) if "/nodes/" in path else self.as_node(method, path, body)

    def as_agent(self, shown: str) -> Callable[[str, str, object], tuple[int, bytes]]:
        assert shown == self.token

        def ask(method: str, _path: str, body: object) -> tuple[int, bytes]:
            self.asked.append(f"agent: {method}")
            self.before_write()
            self.before_write = lambda: None
            assert isinstance(body, dict)
            if method == "POST":
                if self.lease is not None:
                    return self._reported(409, {})
                self._store(body)
                return 201, self._lease()[1]
            return self._patch(body)

        return ask

    def _patch(self, change: dict[str, Any]) -> tuple[int, bytes]:
        assert self.lease is not None
        about, change_about = self.lease["metadata"], change["metadata"]
        if (about["uid"], about["resourceVersion"]) != (change_about["uid"], change_about["resourceVersion"]):
            return self._reported(409, {})
        annotations = about["annotations"] | change_about["annotations"]
        self._store({**self.lease, "metadata": {**about, "annotations": annotations}, "spec": change["spec"]})
        return self._lease()

    def _lease(self) -> tuple[int, bytes]:
        if self.lease is not None:
            return self._reported(200, self.lease)
        details = {"kind": "leases", "name": "n1"}
        return self._reported(404, {"kind": "Status", "reason": "NotFound", "details": details})

    @staticmethod
    def _reported(status: int, body: object) -> tuple[int, bytes]:
        return status, json.dumps(body).encode()

    @property
    def report(self) -> AgentReport:
        """Parse the report as an agent or a manager does."""
        news = understand(ApiResponse(200, self._lease()[1]))
        assert isinstance(news, LeaseFound)
        assert isinstance(news.lease.report, AgentReport)
        return news.lease.report


def published(server: Server, wanted: DesiredLease = WANTED) -> tuple[int, str]:
    return Publisher(wanted, server.as_node, server.as_agent).publish()


EARLIER = {"nodeUID": "uid-1", "bootID": "boot-1", "sequence": 41, "acknowledged": 40}


def test_a_missing_lease_is_created_as_the_agent_s() -> None:
    server = Server()

    assert published(server) == (exit_codes.CLEAN, "")
    assert server.asked == ["GET n1", "GET pods", "POST token", "agent: POST"]
    assert server.report == AgentReport(
        node_uid="uid-1",
        boot_id="boot-2",
        sequence=1,
        acknowledged=0,
        steady_since=1,
        feed_lease=35.0,
        contact_age=15.0,
        watchdog=WatchdogReport(class_="hardware", driver="i6300ESB timer", written=9.0, effective=9.063),
        peers=((),),
        boot_gate=True,
        version="1.0",
    )


def test_after_an_earlier_boot_the_numbers_go_on() -> None:
    server = Server()
    server.put(EARLIER)

    assert published(server) == (exit_codes.CLEAN, "")
    assert (server.report.boot_id, server.report.sequence, server.report.steady_since) == ("boot-2", 42, 42)


def test_a_marker_for_an_earlier_boot_stays_and_this_boot_is_still_published() -> None:
    server = Server()
    server.put(EARLIER, marker="boot-1")

    assert published(server) == (exit_codes.MARKED_FOR_ANOTHER_BOOT, "")
    assert server.report.boot_id == "boot-2"
    assert server.lease is not None
    assert MARKER in server.lease["metadata"]["annotations"]


@pytest.mark.attack("K1")
def test_a_gate_that_stays_closed_answers_the_marker_and_answers_again_when_a_later_leader_asks() -> None:
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=7)
    published(server)
    assert server.report.answers == 7
    server.asked.clear()
    published(server)
    assert server.asked == ["GET n1"]

    server.put(json.loads(msgspec.json.encode(server.report)), marker="boot-1", epoch=9)
    assert published(server) == (exit_codes.MARKED_FOR_ANOTHER_BOOT, "")
    assert server.report.answers == 9


def test_a_marker_that_is_written_first_is_met_and_kept() -> None:
    server = Server()
    server.put(EARLIER)
    server.before_write = lambda: server.put(EARLIER, marker="boot-1")

    assert published(server) == (exit_codes.MARKED_FOR_ANOTHER_BOOT, "")
    assert server.report.boot_id == "boot-2"


def test_a_marker_for_this_boot_is_an_answer_and_nothing_is_written() -> None:
    server = Server()
    server.put(EARLIER, marker="boot-2")

    assert published(server) == (exit_codes.MARKED, "")
    assert server.asked == ["GET n1"]


def test_the_next_api_check_only_reads_what_is_published() -> None:
    server = Server()
    published(server)
    server.asked.clear()

    assert published(server) == (exit_codes.CLEAN, "")
    assert server.asked == ["GET n1"]
    server.put(json.loads(msgspec.json.encode(server.report)), marker="boot-2")
    assert published(server) == (exit_codes.MARKED, "")


def test_a_later_armed_watchdog_is_published_then_and_other_reasons_are_not() -> None:
    server = Server()
    waiting = DesiredLease("n1", "boot-2", WAITING, 35.0, "1.0", "2026-01-01T00:00:00")
    published(server, waiting)
    assert server.report.watchdog.class_ == "unsupported"
    server.asked.clear()
    other = WatchdogStatus(
        "unsupported", "", 0.0, 0.0, "the feeder is waiting: the API server could not be asked"
    )
    published(server, DesiredLease("n1", "boot-2", other, 35.0, "1.0", "2026-01-01T00:00:00"))
    assert server.asked == ["GET n1"]

    published(server)
    assert server.report.watchdog.class_ == "hardware"


def test_a_closed_gate_is_published_and_so_is_its_opening() -> None:
    """Only this write opens the gate, so a marker that was set before it is noticed."""
    server = Server()
    reset = ResetRecord("boot-1", "starving", 1000, 10 * SECOND, 20 * SECOND)
    held = DesiredLease("n1", "boot-2", ARMED, 35.0, "1.0", "2026-01-01T00:00:00", "three resets", reset)
    published(server, held)
    assert server.report.held_back == "three resets"
    assert server.report.last_reset == LastReset(boot_id="boot-1", fence_requested=False, lived_on=10.0)

    server.asked.clear()
    assert published(server, held) == (exit_codes.CLEAN, "")
    assert server.asked == ["GET n1"]
    server.before_write = lambda: server.put(json.loads(msgspec.json.encode(server.report)), marker="boot-2")
    assert published(server) == (exit_codes.MARKED, "")
    assert server.report.held_back == "three resets"


def test_the_report_of_this_boot_s_agent_is_not_overwritten() -> None:
    server = Server()
    server.put({**EARLIER, "bootID": "boot-2", "watchdog": {"class": "software"}})

    assert published(server) == (exit_codes.TAKEN_OVER, "")
    assert server.asked == ["GET n1"]


def test_the_agent_continues_from_the_gate_s_publication() -> None:
    server = Server()
    published(server)
    who = AgentIdentity(
        node_uid="uid-1", boot_id="boot-2", watchdog=server.report.watchdog, longest_lease=35.0
    )
    memory, renewal = AgentState(active_terms=ActiveTerms()).take_up(who, server.report).renew(who, 100.0)

    assert (renewal.report.sequence, renewal.report.peers, memory.number) == (2, ((),), 2)
    assert renewal.report.feed_lease == server.report.feed_lease == RenewalPace().feed_lease
    assert renewal.report.contact_age == CONTACT_AGE == RenewalPace().contact_age


def test_without_a_pod_of_the_agent_nothing_can_be_published() -> None:
    for pods in ([], [Server.pod("somebody")], [Server.pod(deletionTimestamp="2026-01-01T00:00:00Z")]):
        server = Server()
        server.put(EARLIER)
        server.pods = pods

        code, why = published(server)
        assert code == exit_codes.FAILED
        assert "no agent's pod" in why


def test_without_a_pod_and_a_lease_nothing_was_promised() -> None:
    server = Server()
    server.pods = []

    assert published(server)[0] == exit_codes.ABSENT


def test_without_a_node_there_is_no_boot_to_publish() -> None:
    server = Server()
    server.put(EARLIER)
    server.pods, server.node = [], False
    assert published(server) == (exit_codes.NO_NODE, "")

    server.put(EARLIER, marker="boot-1")
    assert published(server) == (exit_codes.MARKED_FOR_ANOTHER_BOOT, "")


def test_a_token_of_another_node_is_not_used() -> None:
    server = Server()
    server.put(EARLIER)
    server.token = token("n2")

    code, why = published(server)
    assert code == exit_codes.FAILED
    assert "no token for the agent" in why
    assert "agent: PATCH" not in server.asked


def test_a_gate_that_always_loses_the_write_conflict_stops_for_now() -> None:
    server = Server()
    server.put(EARLIER)

    def busy(shown: str) -> Callable[[str, str, object], tuple[int, bytes]]:
        server.before_write = lambda: server.put(EARLIER)
        return server.as_agent(shown)

    code, why = Publisher(WANTED, server.as_node, busy).publish()
    assert (code, why) == (exit_codes.FAILED, "another client writes the Lease all the time")


STOPPED_REPORT = {**EARLIER, "watchdog": {"class": "unsupported", "why": STOPPED_GRACEFULLY}}


@pytest.mark.attack("V10")
def test_a_gracefully_stopped_agent_that_is_gone_is_reported() -> None:
    server = Server()
    server.pods = []
    server.put(STOPPED_REPORT)
    assert published(server) == (exit_codes.STOPPED_GRACEFULLY, "")
    assert "agent: PATCH" not in server.asked


@pytest.mark.attack("V10")
@pytest.mark.parametrize(
    "report",
    [
        EARLIER,
        {**EARLIER, "watchdog": {"class": "unsupported", "why": "a virtual machine"}},
        {**EARLIER, "watchdog": {"class": "hardware", "why": STOPPED_GRACEFULLY}},
        {**EARLIER, "watchdog": "unsupported"},
    ],
)
def test_an_agent_with_any_other_report_did_not_stop_gracefully(report: dict[str, Any]) -> None:
    server = Server()
    server.pods = []
    server.put(report)
    assert published(server)[0] == exit_codes.FAILED


@pytest.mark.attack("V10")
def test_a_marker_overrides_a_graceful_stop() -> None:
    for boot, code in (("boot-1", exit_codes.MARKED_FOR_ANOTHER_BOOT), ("boot-2", exit_codes.MARKED)):
        server = Server()
        server.pods = []
        server.put(STOPPED_REPORT, marker=boot)
        assert published(server)[0] == code


@pytest.mark.attack("V5")
@pytest.mark.parametrize(
    "lost", [TimeoutError("no reply"), http.client.RemoteDisconnected("gone"), ValueError()]
)
def test_an_observed_marker_is_reported_even_if_its_acknowledgement_may_be_lost(lost: Exception) -> None:
    """The write may have been applied, and its reader then takes the gate for closed."""
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=4)

    def silent(_token: str) -> Callable[[str, str, object], tuple[int, bytes]]:
        def ask(*_: object) -> tuple[int, bytes]:
            raise lost

        return ask

    seen = list[int]()
    found = Publisher(WANTED, server.as_node, silent, seen.append).publish()
    assert found[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT
    assert seen == [exit_codes.MARKED_FOR_ANOTHER_BOOT]


@pytest.mark.attack("V10")
def test_a_refusal_in_a_cluster_without_nodemend_s_kinds_means_not_installed() -> None:
    server = Server()
    server.put(EARLIER, marker="boot-1")
    server.readable = False
    assert published(server)[0] == exit_codes.FAILED
    server.installed = False
    assert published(server) == (exit_codes.UNINSTALLED, "")
    # A starting server has neither roles nor kinds, and a caller without access to /readyz learns nothing.
    for server.ready in (500, 503, 403, 404):
        code, why = published(server)
        assert (code, f"/readyz: {server.ready}" in why) == (exit_codes.NO_ANSWER, True)
    server.ready = 200
    # A server without its store may have its kinds cached, or not yet.
    assert Publisher(WANTED, server.without_store, server.as_agent).publish()[0] == exit_codes.NO_ANSWER
    # A readable Lease takes precedence.
    server.readable = True
    assert published(server)[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT


@pytest.mark.attack("V10")
@pytest.mark.parametrize("at", ["leases/n1", "readyz", "nodes/n1", "nodemend.io"])
@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_a_server_that_cannot_answer_now_has_reported_nothing(at: str, status: int) -> None:
    server = Server()
    server.readable = server.installed = False

    def ask(method: str, path: str, body: object) -> tuple[int, bytes]:
        return (status, b"{}") if path.endswith(at) else server.as_node(method, path, body)

    code, why = Publisher(WANTED, ask, server.as_agent).publish()
    assert (code, str(status) in why) == (exit_codes.NO_ANSWER, True)


def test_a_gate_that_stays_closed_publishes_once_a_minute() -> None:
    """Readers ignore reports that were written before the current admission policy was in force, so the
    report is written again.
    """
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=7)
    assert published(server)[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT
    first = server.report

    again = DesiredLease("n1", "boot-2", ARMED, 35.0, "1.0", "2026-01-01T00:00:59")
    assert published(server, again)[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT
    assert server.report == first

    later = DesiredLease("n1", "boot-2", ARMED, 35.0, "1.0", "2026-01-01T00:01:00")
    assert published(server, later)[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT
    assert server.report == structs.replace(
        first, sequence=first.sequence + 1, steady_since=first.sequence + 1
    )
