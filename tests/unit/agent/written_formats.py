"""An example of each format that one version writes and another reads, and the function that reads it.

`python -m tests.unit.agent.written_formats` writes the golden file. A change of the file breaks nodes with
two versions: during a rollout, and until the host boots again.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from nodemend.agent.peer_http import PeerQuestion, answer_to, read_answer, read_question
from nodemend.agent.reset_log import (
    ObservedReset,
    ResetRecord,
    driver_in,
    format_reset,
    format_tested,
    parse_reset,
)
from nodemend.agent.watchdog import model as w
from nodemend.agent.watchdog import records
from nodemend.agent.watchdog.model import format_status, parse_status
from nodemend.api.agent import (
    AgentReport,
    CertificateReport,
    LastReset,
    Marker,
    PeerEntry,
    PeerProposal,
    WatchdogReport,
)
from nodemend.api.evidence import BOOT_ID, NODE_UID, RENEW_TIME, Evidence, HostOff
from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.manual_remediation import ManualRemediationStatus
from nodemend.api.meta import Condition, ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import Metal3RemediationPhase as PowerPhase
from nodemend.api.metal3_remediation import Metal3RemediationStatus, OffSighting, PowerOffEvent
from nodemend.api.self_remediation import MarkedLease, ProvenPeer, SelfRemediationStatus
from nodemend.api.self_remediation import SelfRemediationPhase as SelfPhase
from nodemend.api.upstream_types import BareMetalHost, Lease
from nodemend.kube.leader_election import Holder, Record, renew_record
from nodemend.kube.outcome import LeaseFound, decoder_of
from nodemend.kube.request import LeaseAddress, Precondition, Request
from nodemend.protocol.feed_lease import FeedLease, fence_now
from nodemend.protocol.peers import PeerReply
from nodemend.protocol.watchdog_drivers import Hardware, Unsupported
from nodemend.records.agent_lease import AgentLease, place_lease, read_lease, write_marker, write_proposal
from nodemend.remediation.metal3 import model as power
from nodemend.remediation.metal3.controller import write_host
from nodemend.remediation.metal3.host_lookup import host_facts

GOLDEN: Final = Path(__file__).with_name("golden") / "written_formats.json"
AT: Final = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
REMEDIATION: Final = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
KNOWN: Final = Precondition("lease-uid", "41")
LEASE: Final = FeedLease(BOOT_ID, 40)
DEVICE: Final = w.Device("iTCO_wdt", 5, magic_close=True, nowayout=None)
ARMED: Final = w.FeederStatus(w.Armed(), "", LEASE, True, 35, DEVICE, Hardware(), 10, 7)
STARVING: Final = w.FeederStatus(
    w.Starving(9, permanent=True), "a gap", LEASE, False, 35, None, Unsupported("no device"), None, None
)
STATUS_ARMED: Final = {
    "boot": BOOT_ID,
    "reads": "1",
    "state": "armed",
    "lease-until": "40",
    "lease-length": "35",
    "lease-by": "agent",
    "class": "hardware",
    "effective": "10",
    "last-ping": "7",
    "driver": "iTCO_wdt",
    "written-seconds": "5",
    "magic-close": "yes",
    "nowayout": "unknown",
}
STATUS_STARVING: Final = {
    "boot": BOOT_ID,
    "reads": "1",
    "state": "starving",
    "why": "a gap",
    "lease-until": "40",
    "lease-length": "35",
    "lease-by": "feeder",
    "class": "unsupported",
    "lacking": "locked-memory",
    "starving-since": "9",
    "for-good": "yes",
    "unsupported-because": "no device",
}
RESET: Final = ResetRecord(BOOT_ID, "starving", 1, 2, 3, 4, 5, "iTCO_wdt", "machine")
REPORT: Final = AgentReport(
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    sequence=7,
    acknowledged=6,
    steady_since=3,
    feed_lease=35.0,
    contact_age=10.0,
    watchdog=WatchdogReport(class_="hardware", driver="iTCO_wdt", written=5.0, effective=10.0),
    ride_through=5.0,
    peers=(("node-2", "node-3"),),
    address="10.0.0.1:9443",
    boot_gate=True,
    version="0.1.0",
    certificate=CertificateReport(ends="2026-03-01T12:00:00Z", life=86400.0),
    held_back="it is condemned",
    last_reset=LastReset(boot_id=BOOT_ID, fence_requested=True, lived_on=3.0),
    replaces=40,
    remembers_from=12,
    answers=99,
)
PROPOSAL: Final = PeerProposal(peers=(PeerEntry(name="node-2", address="10.0.0.2:9443"),), every=5.0)
MARKER: Final = Marker(node_uid=NODE_UID, boot_id=BOOT_ID, remediation_uid=REMEDIATION, drill=True, epoch=99)
QUESTION: Final = PeerQuestion(nonce="nonce-1", node_uid=NODE_UID, boot_id=BOOT_ID)
EVIDENCE: Final = Evidence(
    class_="E1",
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    by="BareMetalHost m/h",
    reason="off",
    last_renew_time=RENEW_TIME,
    host=HostOff(namespace="m", name="h", uid="host-uid", last_updated="then"),
)
CONDITIONS: Final = (
    Condition(
        type="Fenced",
        status=ConditionStatus.TRUE,
        reason="PoweredOff",
        message="Off.",
        last_transition_time="2026-01-31T12:00:00Z",
        observed_generation=1,
    ),
)
MANUAL: Final = ManualRemediationStatus(
    observed_generation=1,
    epoch=99,
    phase=ManualPhase.RELEASING,
    message="It waits.",
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    hardware_id="system-uuid/1",
    last_renew_time=RENEW_TIME,
    evidence=EVIDENCE,
    disproved_generation=1,
    tainted=True,
    released=True,
    pods_left=2,
    attachments_left=3,
    conditions=CONDITIONS,
)
FENCED: Final = SelfRemediationStatus(
    observed_generation=1,
    epoch=99,
    phase=SelfPhase.FENCING,
    node_name="node-1",
    node_uid=NODE_UID,
    boot_id=BOOT_ID,
    marked=MarkedLease(uid="lease-uid", version="42"),
    proven=(ProvenPeer(name="node-2", node_uid=NODE_UID, boot_id=BOOT_ID, acknowledged=5),),
    proven_seconds=30,
    safe_time_seconds=72,
    evidence=EVIDENCE,
    conditions=CONDITIONS,
)
SWITCHED: Final = Metal3RemediationStatus(
    epoch=99,
    phase=PowerPhase.POWER_OFF,
    retry_count=1,
    node_name="node-1",
    seen_on_version="41",
    power_off_events=(PowerOffEvent(uid="event-uid", count=2),),
    seen_off=OffSighting(last_updated="then", last_renew_time=RENEW_TIME),
    evidence=EVIDENCE,
    tainted=True,
    conditions=CONDITIONS,
)
HOST: Final = BareMetalHost(
    metadata=ObjectMeta(name="h", namespace="m", uid="host-uid", resource_version="41")
)
FACTS: Final = host_facts(HOST, REMEDIATION)


class Format(NamedTuple):
    """`written` by the code of today; `read` makes `means` of the golden bytes."""

    written: bytes
    read: Callable[[bytes], object]
    means: object


def _json(value: object) -> Format:
    return Format(msgspec.json.encode(value), decoder_of(type(value)).decode, value)


def _noted(request: Request, means: AgentLease) -> Format:
    return Format(request.body, _read_lease, means)


def _read_lease(body: bytes) -> object:
    """As the API server would show a Lease that had nothing else on it."""
    annotations = json.loads(body)["metadata"]["annotations"]
    found = read_lease(
        Lease(metadata=ObjectMeta(uid="lease-uid", resource_version="42", annotations=annotations))
    )
    return found.lease if isinstance(found, LeaseFound) else found


def _lease(**noted: Any) -> AgentLease:
    return AgentLease(uid="lease-uid", version="42", **noted)


def _annotations(body: bytes) -> object:
    return json.loads(body)["metadata"]["annotations"]


def _on_host(step: Any, **means: str) -> Format:
    return Format(write_host(HOST, step, REMEDIATION).body, _annotations, means)


def formats() -> dict[str, Format]:
    return _files() | _annotations_of_leases() | _messages() | _statuses() | _annotations_of_hosts()


def _files() -> dict[str, Format]:
    closed, published = records.CLOSED, records.PUBLISHED
    return {
        "feeder status, armed": Format(format_status(ARMED, BOOT_ID, []), parse_status, STATUS_ARMED),
        "feeder status, starving": Format(
            format_status(STARVING, BOOT_ID, ["locked-memory"]), parse_status, STATUS_STARVING
        ),
        "feed lease": Format(records.format_lease(LEASE), records.parse_lease, LEASE),
        "feed lease, condemned": Format(
            records.format_lease(fence_now(LEASE)), records.parse_lease, fence_now(LEASE)
        ),
        "permit": Format(
            records.format_disarm_permission(BOOT_ID),
            lambda line: records.is_disarm_permission(line, BOOT_ID),
            means=True,
        ),
        "boot gate, published": Format(
            records.format_gate(BOOT_ID, published=True),
            lambda line: records.is_gate(line, BOOT_ID),
            means=True,
        ),
        "boot gate, unguarded": Format(
            records.format_gate(BOOT_ID, published=False),
            lambda line: (records.is_gate(line, BOOT_ID), records.tells_opening(line, BOOT_ID)),
            (False, True),
        ),
        "gate standing, closed": Format(
            records.format_gate_status(BOOT_ID, closed),
            lambda line: records.parse_gate_status(line, BOOT_ID),
            closed,
        ),
        "gate standing, published": Format(
            records.format_gate_status(BOOT_ID, published),
            lambda line: records.parse_gate_status(line, BOOT_ID),
            published,
        ),
        "reset": Format(format_reset(RESET), parse_reset, RESET),
        "tested watchdog": Format(
            format_tested(ObservedReset("machine", "iTCO_wdt")),
            lambda line: driver_in(line, "machine"),
            "iTCO_wdt",
        ),
    }


def _annotations_of_leases() -> dict[str, Format]:
    record = Record("lease-uid", "41", "replica-1", 15, 3)
    holder = Holder("replica-1", 15, 12)
    memory = renew_record(LeaseAddress("nodemend-remediator", "nodemend-system"), record, holder, AT)
    return {
        "annotation agent-report": _noted(place_lease("node-1", REPORT, AT), _lease(report=REPORT)),
        "annotation peer-proposal": _noted(
            write_proposal("node-1", KNOWN, PROPOSAL), _lease(proposal=PROPOSAL)
        ),
        "annotation marker": _noted(write_marker("node-1", KNOWN, MARKER), _lease(marker=MARKER)),
        "annotation leader-memory": Format(
            memory.body, _annotations, {"nodemend.io/leader-memory": "12 replica-1"}
        ),
    }


def _messages() -> dict[str, Format]:
    question = Format(msgspec.json.encode(QUESTION), read_question, QUESTION)
    return {"question to a peer": question} | {
        f"answer of a peer, {answer}": Format(
            msgspec.json.encode(answer_to(QUESTION, answer)), lambda body: read_answer(body, QUESTION), answer
        )
        for answer in PeerReply
    }


def _statuses() -> dict[str, Format]:
    return {
        "status of a ManualRemediation": _json(MANUAL),
        "status of a SelfRemediation": _json(FENCED),
        "status of a Metal3Remediation": _json(SWITCHED),
    }


def _annotations_of_hosts() -> dict[str, Format]:
    hold = f"reboot.metal3.io/nodemend-{REMEDIATION}"
    return {
        "annotation of a host, hold": _on_host(power.RequestPowerOff(FACTS), **{hold: '{"mode":"hard"}'}),
        "annotation of a host, void": _on_host(
            power.RevokePowerOff(FACTS), **{"nodemend.io/power-off-revoked": REMEDIATION}
        ),
        "annotation of a host, unhealthy": _on_host(
            power.MarkHost(FACTS),
            **{"capm3.metal3.io/unhealthy": "nodemend", "capi.metal3.io/unhealthy": "nodemend"},
        ),
    }


def golden() -> dict[str, bytes]:
    return {name: text.encode() for name, text in json.loads(GOLDEN.read_text()).items()}


if __name__ == "__main__":
    written = {name: one.written.decode() for name, one in formats().items()}
    GOLDEN.write_text(json.dumps(written, indent=2) + "\n")
