"""A node's agent Lease, on the wire."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from nodemend.api.agent import AgentReport, Marker, PeerEntry, PeerProposal, WatchdogReport
from nodemend.api.well_known import AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.kube.outcome import ApiResponse, LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated, Unsent
from nodemend.kube.request import Precondition, Request
from nodemend.records.agent_lease import (
    AgentLease,
    UnreadableReport,
    ask_lease,
    place_lease,
    renew_lease,
    understand,
    write_marker,
    write_proposal,
)

WALL = datetime(2026, 1, 31, 12, tzinfo=UTC)
REPORT = AgentReport(
    node_uid="uid-1",
    boot_id="boot-1",
    sequence=8,
    acknowledged=7,
    steady_since=3,
    feed_lease=35.0,
    contact_age=15.0,
    watchdog=WatchdogReport(class_="hardware", driver="iTCO_wdt", written=5.0, effective=10.0),
    peers=(("a", "b"), ("b", "c")),
    address="[fd00::1]:9443",
    boot_gate=True,
)


def lease(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"uid": "l", "resourceVersion": "7", "annotations": annotations}, "spec": {}}


def answer(status: int, body: object) -> ApiResponse:
    return ApiResponse(status, json.dumps(body).encode())


def test_what_is_written_is_what_is_read() -> None:
    request = renew_lease("node-1", AgentLease(uid="l", version="6"), REPORT, WALL)
    written = json.loads(request.body)

    assert request.path.endswith("/namespaces/nodemend-agents/leases/node-1")
    assert (written["metadata"]["uid"], written["metadata"]["resourceVersion"]) == ("l", "6")
    assert list(written["metadata"]["annotations"]) == [AGENT_REPORT]
    assert understand(answer(200, lease(**written["metadata"]["annotations"]))) == LeaseFound(
        AgentLease(uid="l", version="7", report=REPORT)
    )


MARK = Marker(node_uid="u", boot_id="b", remediation_uid="r")
READ = Precondition("l", "6")


@pytest.mark.parametrize(
    "request_",
    [
        write_marker("node-1", READ, MARK),
        write_marker("node-1", READ, None),
        write_proposal("node-1", READ, PeerProposal()),
    ],
    ids=["marker", "marker comes off", "proposal"],
)
def test_what_managers_write_on_it_names_the_version_that_they_read(request_: Request) -> None:
    """An API check that was acknowledged since then changed the version: the marker must not be written
    beside it.
    """
    metadata = json.loads(request_.body)["metadata"]

    assert (metadata["uid"], metadata["resourceVersion"]) == ("l", "6")


def test_a_new_one_says_the_same() -> None:
    written = json.loads(place_lease("node-1", REPORT, WALL).body)

    assert written["metadata"]["name"] == written["spec"]["holderIdentity"] == "node-1"
    assert written["spec"]["renewTime"] == "2026-01-31T12:00:00.000000Z"


def test_it_is_read_without_naming_a_version_so_that_the_server_asks_its_store() -> None:
    assert ask_lease("node-1").query == ()


def test_what_managers_wrote_on_it_is_understood() -> None:
    marker = {"nodeUID": "u", "bootID": "b", "remediationUID": "r", "later": "unknown"}
    proposal = {"peers": [{"name": "a", "address": "10.0.0.1:9443"}], "every": 10}
    news = understand(answer(200, lease(**{MARKER: json.dumps(marker), PEER_PROPOSAL: json.dumps(proposal)})))

    assert news == LeaseFound(
        AgentLease(
            uid="l",
            version="7",
            marker=Marker(node_uid="u", boot_id="b", remediation_uid="r"),
            proposal=PeerProposal(peers=(PeerEntry(name="a", address="10.0.0.1:9443"),), every=10.0),
        )
    )


def test_an_unreadable_marker_invalidates_the_api_check() -> None:
    """It may be for this boot or for another: neither a clean API check nor a reason to reset."""
    news = understand(answer(200, lease(**{MARKER: "{"})))

    assert isinstance(news, LeaseFailed)
    assert news.why.startswith("its marker cannot be read")


@pytest.mark.parametrize("key", [AGENT_REPORT, PEER_PROPOSAL])
def test_other_unreadable_fields_are_reported_as_present(key: str) -> None:
    news = understand(answer(200, lease(**{key: "{}{"})))

    assert isinstance(news, LeaseFound)
    assert isinstance(news.lease.report or news.lease.proposal, UnreadableReport)


@pytest.mark.parametrize(
    ("status", "reason", "news"),
    [
        (404, "NotFound", LeaseMissing()),
        (409, "Conflict", LeaseOutdated()),
        (409, "AlreadyExists", LeaseOutdated()),
    ],
)
def test_refusals_that_mean_something(status: int, reason: str, news: object) -> None:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": status}
    assert understand(answer(status, body)) == news


@pytest.mark.parametrize(
    "reply",
    [
        answer(401, {"kind": "Status", "reason": "Unauthorized", "message": "no"}),
        answer(403, {"kind": "Status", "reason": "Forbidden", "message": "no"}),
        answer(500, {"kind": "Status", "reason": "InternalError", "message": "no"}),
        answer(200, {"metadata": {"uid": "l"}, "spec": {}}),
        ApiResponse(200, b'{"metadata": {"uid": "l", "resourceVer'),
        Unsent("no route"),
    ],
)
def test_all_else_is_a_failure(reply: ApiResponse | Unsent) -> None:
    assert isinstance(understand(reply), LeaseFailed)


@pytest.mark.parametrize(
    "change",
    [
        {"feedLease": 1e308},
        {"feedLease": -1.0},
        {"contactAge": 86401.0},
        {"watchdog": {"class": "hardware", "effective": 1e308}},
        {"watchdog": {"class": "hardware", "effective": -0.1}},
    ],
)
def test_times_outside_the_usable_range_are_not_read(change: dict[str, object]) -> None:
    text = json.dumps(json.loads(msgspec.json.encode(REPORT)) | change)
    found = understand(answer(200, lease(**{AGENT_REPORT: text})))

    assert isinstance(found, LeaseFound)
    assert isinstance(found.lease.report, UnreadableReport)


@pytest.mark.parametrize(
    "proposal",
    [
        {"every": 1e308},
        {"every": 3601.0},
        {"every": -1.0},
        {"peers": [{"name": f"n{number}", "address": "a:1"} for number in range(65)]},
    ],
)
def test_nor_is_a_proposal_that_no_manager_makes(proposal: dict[str, object]) -> None:
    found = understand(answer(200, lease(**{PEER_PROPOSAL: json.dumps(proposal)})))

    assert isinstance(found, LeaseFound)
    assert isinstance(found.lease.proposal, UnreadableReport)
