"""Facts for tests of a power cycle: a silent node, its host, and what a test changes."""

from dataclasses import replace
from typing import Any

from nodemend.api import well_known
from nodemend.api.evidence import Evidence, HostOff
from nodemend.api.meta import ConditionStatus, ObjectMeta
from nodemend.api.metal3_remediation import (
    Metal3Remediation,
    Metal3RemediationPhase,
    Metal3RemediationSpec,
    Metal3RemediationStatus,
    OffSighting,
    PowerOffEvent,
    Strategy,
    TargetHost,
)
from nodemend.remediation.metal3.model import OwnerMachineFacts, PowerFacts
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.host_power import HostFacts
from nodemend.safety.identity import Matched
from nodemend.safety.lifecycle import LockHolder, RemainingWorkloads
from tests.unit.safety.worlds import ACTING, BOARD, OUR_TAINT, SILENT_LEASE, SILENT_NODE, switch

HOST = HostFacts(
    namespace="metal3", name="h1", uid="host-1", version="10", powered_on=True, last_updated="12:00"
)
HELD = replace(HOST, held_by_us=True, version="11")
OFF = replace(HELD, powered_on=False, version="12", last_updated="12:01")
LET_GO = replace(OFF, held_by_us=False, version="13")
BACK_ON = replace(LET_GO, powered_on=True, version="14", last_updated="12:02")
HELD_HOST = TargetHost(namespace="metal3", name="h1", uid="host-1")

TAINTED_NODE = replace(SILENT_NODE, taints=(OUR_TAINT,), version="101")
NEW_BOOT = replace(SILENT_NODE, boot_id="boot-2", version="102")
BACK = replace(NEW_BOOT, ready=ConditionStatus.TRUE)
OTHER_NODE = replace(SILENT_NODE, uid="uid-2", version="103")
RENEWED = replace(SILENT_LEASE, renew_time="12:05:00", unchanged_for=0.0)
MARK = "rem-1.55"
MACHINE = OwnerMachineFacts("Machine m/n1")

EARLIER = PowerOffEvent(uid="event-1")
LATER = PowerOffEvent(uid="event-2")

PROOF = Evidence(
    class_="E1",
    node_uid="uid-1",
    boot_id="boot-1",
    by="BareMetalHost metal3/h1",
    reason="its power went off after Nodemend's power-off request, "
    "and it is the node's machine by provider ID",
    last_renew_time="12:00:00",
    host=HostOff(namespace="metal3", name="h1", uid="host-1", last_updated="12:01"),
)
FRESH = Metal3RemediationStatus(epoch=7)
BOUND = FRESH.but(node_name="n1", node_uid="uid-1", boot_id="boot-1", hardware_id=BOARD, host=HELD_HOST)
ASKED = BOUND.but(phase=Metal3RemediationPhase.POWER_OFF, seen_on_version="10", power_off_events=(EARLIER,))
SEEN = OffSighting(last_updated="12:01", last_renew_time="12:00:00")
NOTED = ASKED.but(seen_off=SEEN)
RELEASING = NOTED.but(phase=Metal3RemediationPhase.RELEASE, evidence=PROOF, tainted=True)
LEAVING = RELEASING.but(pods_left=2, attachments_left=1)
RELEASED = RELEASING.but(phase=Metal3RemediationPhase.POWER_ON, released=True)
POWERING_ON = RELEASED.but(tainted=False)
BACKING_OFF = ASKED.but(phase=Metal3RemediationPhase.BACKING_OFF, retry_count=1)
HANDING_OVER = POWERING_ON.but(phase=Metal3RemediationPhase.DELETING_MACHINE, retry_count=4)
FAILED = POWERING_ON.but(phase=Metal3RemediationPhase.FAILED, retry_count=4)
SUCCEEDED = POWERING_ON.but(phase=Metal3RemediationPhase.SUCCEEDED)
NODELESS = FRESH.but(host=HELD_HOST)

ESCALATING = Metal3RemediationSpec()
RETRYING = Metal3RemediationSpec(strategy=Strategy.RETRY)


def remediation(
    status: Metal3RemediationStatus, *, spec: Metal3RemediationSpec = ESCALATING, deleting: bool = False
) -> Metal3Remediation:
    metadata = ObjectMeta(
        name="n1",
        namespace="metal3",
        uid="rem-1",
        resource_version="55",
        finalizers=(well_known.SAFE_END,),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
    )
    return Metal3Remediation(metadata=metadata, spec=spec, status=status)


def facts(
    status: Metal3RemediationStatus, host: HostFacts | Absent | Unreadable = HOST, **changes: Any
) -> PowerFacts:
    """Facts that allow the next step, with these changes; `deleting` and `spec` among them."""
    about = remediation(status, spec=changes.pop("spec", ESCALATING), deleting=changes.pop("deleting", False))
    usual = PowerFacts(
        remediation=about,
        epoch=7,
        remembers_from=0,
        node=Present(SILENT_NODE),
        revocation="",
        lease=Present(SILENT_LEASE),
        lock=Present(LockHolder(ours=True, holder="Metal3Remediation metal3/n1")),
        policy=Present(ACTING),
        switch=switch(changes.get("policy", Present(ACTING))),
        left=Present(RemainingWorkloads(2, 1)),
        host=Present(host) if isinstance(host, HostFacts) else host,
        identity=Matched(("provider ID",)),
        machine=Present(MACHINE),
        in_phase_for=5.0,
        host_unchanged_for=60.0,
        power_offs=Present((EARLIER, LATER) if host == OFF else (EARLIER,)),
    )
    return replace(usual, **changes)
