"""Valid inputs of every kind, as the shipped code writes them."""

import json
from base64 import urlsafe_b64encode
from typing import Any, Final

import msgspec

from nodemend.agent.api_check.check import DesiredLease, new_lease
from nodemend.agent.peer_http import PeerQuestion, answer_to
from nodemend.agent.state import AgentIdentity
from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog.model import format_status
from nodemend.agent.watchdog.records import (
    WatchdogStatus,
    format_disarm_permission,
    format_gate,
    format_lease,
)
from nodemend.api.agent import AgentReport, Marker, PeerEntry, PeerProposal, WatchdogReport
from nodemend.api.well_known import AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.peers import PeerReply
from nodemend.protocol.watchdog_drivers import Hardware, Unsupported

NODE: Final = "worker-7"
NODE_UID: Final = "3b0c54a8-7c9e-4a3f-8f7b-0a4d8f7f5e11"
BOOT_ID: Final = "9f1c7f0e-5d39-4c0d-9c55-2d1a7f6f0b42"
_S: Final = 1_000_000_000
NOW: Final = 5000 * _S

QUESTION: Final = PeerQuestion(nonce="00112233445566778899aabbccddeeff", node_uid=NODE_UID, boot_id=BOOT_ID)
OTHER_QUESTIONS: Final = (
    QUESTION.but(nonce="ffeeddccbbaa99887766554433221100"),
    QUESTION.but(node_uid="another"),
    QUESTION.but(boot_id="another"),
)
QUESTIONS: Final = (msgspec.json.encode(QUESTION),)
ANSWERS: Final = tuple(msgspec.json.encode(answer_to(QUESTION, answer)) for answer in PeerReply)

_WATCHDOG: Final = WatchdogReport(class_="hardware", driver="i6300ESB timer", written=9.0, effective=9.063)
_REPORT: Final = AgentReport(
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    sequence=42,
    acknowledged=41,
    steady_since=3,
    feed_lease=35.0,
    contact_age=15.0,
    watchdog=_WATCHDOG,
    peers=(("worker-1", "worker-2", "worker-3"), ("worker-2", "worker-4")),
    address="10.0.0.7:9771",
    boot_gate=True,
    version="1.2.3",
)
REPORTS: Final = tuple(
    msgspec.json.encode(one)
    for one in (_REPORT, _REPORT.but(watchdog=WatchdogReport(class_="unsupported", why="none")))
)
_PROPOSAL: Final = PeerProposal(
    peers=tuple(PeerEntry(name=f"worker-{n}", address=f"10.0.0.{n}:9771") for n in range(3)), every=12.0
)
PROPOSALS: Final = (msgspec.json.encode(_PROPOSAL), msgspec.json.encode(PeerProposal()))
_MARKER: Final = Marker(node_uid=NODE_UID, boot_id=BOOT_ID, remediation_uid="r")


def _lease(**annotations: Any) -> bytes:
    noted = {key: msgspec.json.encode(value).decode() for key, value in annotations.items()}
    metadata = {
        "name": NODE,
        "namespace": "nodemend-agents",
        "uid": "u",
        "resourceVersion": "7",
        "annotations": noted,
    }
    spec = {"holderIdentity": NODE, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    about = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return json.dumps({**about, "metadata": metadata, "spec": spec}).encode()


LEASES: Final = (
    _lease(),
    _lease(**{AGENT_REPORT: _REPORT, PEER_PROPOSAL: _PROPOSAL}),
    _lease(**{AGENT_REPORT: _REPORT, MARKER: _MARKER}),
    _lease(**{MARKER: _MARKER.but(boot_id="another")}),
)
_ABSENT: Final = {
    "kind": "Status",
    "reason": "NotFound",
    "details": {"kind": "leases", "name": NODE},
    "code": 404,
}
REFUSALS: Final = (json.dumps(_ABSENT).encode(),)


def _jwt(claims: object) -> bytes:
    payload = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=")
    return b".".join((b"eyJhbGciOiJSUzI1NiJ9", payload, b"c2lnbmF0dXJl"))


TOKENS: Final = (
    _jwt({"kubernetes.io": {"node": {"name": NODE, "uid": NODE_UID}, "namespace": "nodemend-agents"}}),
    _jwt({"kubernetes.io": {"namespace": "nodemend-agents"}}),
)
_POD: Final = {"metadata": {"name": "a", "uid": "p"}, "spec": {"serviceAccountName": "nodemend-agent"}}
TOKEN_REPLIES: Final = (
    json.dumps({"status": {"token": TOKENS[0].decode()}}).encode(),
    json.dumps({"items": [_POD]}).encode(),
)

_DEVICE: Final = w.Device("i6300ESB timer", 9, magic_close=True, nowayout=True)
_STATUS: Final = w.FeederStatus(
    state=w.Armed(),
    why="fed",
    lease=FeedLease(BOOT_ID, NOW + 30 * _S),
    renewed_by_agent=True,
    lease_length=35 * _S,
    device=_DEVICE,
    watchdog_class=Hardware(),
    effective=9_063_000_000,
    last_ping=NOW - _S,
)
STATUSES: Final = (
    format_status(_STATUS, BOOT_ID, ["memory"]),
    format_status(_STATUS, "another", []),
    format_status(
        w.FeederStatus(
            state=w.Starving(NOW, permanent=True),
            why="late",
            lease=FeedLease(BOOT_ID),
            renewed_by_agent=False,
            lease_length=35 * _S,
            device=_DEVICE,
            watchdog_class=Unsupported("a virtual machine can be paused"),
            effective=None,
            last_ping=None,
        ),
        BOOT_ID,
        [],
    ),
)
FEED_LEASES: Final = (
    format_lease(FeedLease(BOOT_ID, NOW)),
    format_lease(FeedLease(BOOT_ID, 0, fence_requested=True)),
)
GATES: Final = (
    format_gate(BOOT_ID, published=True),
    format_gate(BOOT_ID, published=False),
    format_gate("another", published=True),
    format_disarm_permission(BOOT_ID),
)


def who(longest: float | None) -> AgentIdentity:
    return AgentIdentity(node_uid=NODE_UID, boot_id=BOOT_ID, watchdog=_WATCHDOG, longest_lease=longest)


def desired_lease() -> DesiredLease:
    watchdog_status = WatchdogStatus(
        kind="hardware", driver="i6300ESB timer", written=9.0, effective=9.063, why=""
    )
    return DesiredLease(
        node=NODE,
        boot_id=BOOT_ID,
        watchdog_status=watchdog_status,
        feed_lease=35.0,
        version="1.2.3",
        wall="2026-01-01T00:00:00",
    )


BOOT_LEASE: Final = json.dumps(new_lease(desired_lease(), NODE_UID)).encode()
