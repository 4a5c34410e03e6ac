"""Facts for tests of self-fencing, and what a test changes about them."""

from dataclasses import replace
from typing import Any

from nodemend.api import well_known
from nodemend.api.agent import AgentReport, Marker, WatchdogReport
from nodemend.api.evidence import Evidence
from nodemend.api.meta import ObjectMeta
from nodemend.api.self_remediation import (
    MarkedLease,
    ProvenPeer,
    SelfRemediation,
    SelfRemediationPhase,
    SelfRemediationSpec,
    SelfRemediationStatus,
)
from nodemend.remediation.self_fencing.decide import SelfFacts
from nodemend.safety.facts import Present
from nodemend.safety.lifecycle import LockHolder, RemainingWorkloads
from nodemend.safety.time_proof import AgentFacts, Contact, PeerObservation
from tests.unit.safety.worlds import ACTING, BOARD, SILENT_LEASE, SILENT_NODE, switch

PEERS = ("a", "b", "c", "d")
REPORT = AgentReport(
    node_uid="uid-1",
    boot_id="boot-1",
    sequence=9,
    acknowledged=8,
    steady_since=1,
    feed_lease=35.0,
    contact_age=15.0,
    watchdog=WatchdogReport(class_="hardware", effective=10.0),
    peers=(PEERS,),
    boot_gate=True,
    replaces=69,
    remembers_from=5,
)
NEW_BOOT = REPORT.but(boot_id="boot-2", sequence=10, acknowledged=0, replaces=71, answers=7)
MARKER = Marker(node_uid="uid-1", boot_id="boot-1", remediation_uid="rem-1", epoch=7)
UNMARKED = AgentFacts("lease-1", "70", REPORT, None)
MARKED = AgentFacts("lease-1", "71", REPORT, MARKER)
BACK = AgentFacts("lease-1", "72", NEW_BOOT, MARKER)

PENDING = SelfRemediationStatus(epoch=7, node_uid="uid-1", boot_id="boot-1", hardware_id=BOARD)
FENCING = PENDING.but(phase=SelfRemediationPhase.FENCING)
NOTED = FENCING.but(marked=MarkedLease(uid="lease-1", version="71"))
BY_TIME = Evidence(
    class_="E4", node_uid="uid-1", boot_id="boot-1", by="its watchdog", last_renew_time="12:00:00"
)
BY_NEW_BOOT = BY_TIME.but(class_="E2", by="its agent")
RELEASING = NOTED.but(evidence=BY_TIME, tainted=True, phase=SelfRemediationPhase.RELEASING)
RELEASED = RELEASING.but(released=True, phase=SelfRemediationPhase.RECOVERING)
RECOVERING = RELEASED.but(tainted=False)


def proven(seconds: float) -> tuple[ProvenPeer, ...]:
    return tuple(
        ProvenPeer(
            name=name,
            node_uid=f"uid-{name}",
            boot_id="boot",
            acknowledged=4,
            milliseconds=round(seconds * 1000),
        )
        for name in PEERS
    )


def observations(covered_until: float | None = 1010.0) -> dict[str, PeerObservation]:
    return {
        name: PeerObservation(
            Contact(
                uid=f"uid-{name}",
                boot_id="boot",
                sequence=12,
                acknowledged=11,
                steady_since=1,
                contact_age=15.0,
                remembers_from=5,
            ),
            covered_until,
        )
        for name in PEERS
    }


def remediation(status: SelfRemediationStatus, *, deleting: bool = False, **spec: Any) -> SelfRemediation:
    metadata = ObjectMeta(
        name="n1",
        namespace="nodemend-system",
        uid="rem-1",
        resource_version="55",
        finalizers=(well_known.SAFE_END,),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
    )
    return SelfRemediation(metadata=metadata, spec=SelfRemediationSpec(**spec), status=status)


def facts(about: SelfRemediation, **changes: Any) -> SelfFacts:
    """A silent, unmarked node that feeds its watchdog by the rules, with these changes."""
    usual = SelfFacts(
        remediation=about,
        epoch=7,
        remembers_from=0,
        node=Present(SILENT_NODE),
        revocation="",
        lease=Present(SILENT_LEASE),
        lock=Present(LockHolder(ours=True, holder="SelfRemediation n1")),
        policy=Present(ACTING),
        switch=switch(changes.get("policy", Present(ACTING))),
        left=Present(RemainingWorkloads(2, 1)),
        agent=Present(UNMARKED),
        observations={},
        passed=0.0,
        now=1000.0,
    )
    return replace(usual, **changes)
