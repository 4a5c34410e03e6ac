"""Facts for tests: a silent node with an accepted confirmation, and what a test changes about it."""

from dataclasses import replace
from typing import Any

from nodemend.api import well_known
from nodemend.api.evidence import Evidence
from nodemend.api.manual_remediation import (
    Confirmation,
    ManualRemediation,
    ManualRemediationPhase,
    ManualRemediationSpec,
    ManualRemediationStatus,
)
from nodemend.api.meta import ConditionStatus, ObjectMeta, Pause
from nodemend.api.remediation_policy import Mode
from nodemend.remediation.manual.decide import ManualFacts
from nodemend.safety.facts import (
    Absent,
    LeaseFacts,
    MachinePolicyFacts,
    NodeFacts,
    PolicyFacts,
    Present,
    ReadResult,
    Taint,
)
from nodemend.safety.guard import CacheFreshness, CheckFacts, GuardFacts, HealthCounts
from nodemend.safety.lifecycle import LockHolder, RemainingWorkloads
from nodemend.safety.limits import LimitSemantics, Percent
from nodemend.safety.switch_guard import RemediationGrounds, RemediatorGuardFacts, TargetObservation

OUR_TAINT = Taint("node.kubernetes.io/out-of-service", "NoExecute", "nodemend")
BOARD = "system-uuid/1"
SILENT_NODE = NodeFacts("n1", "uid-1", "100", "boot-1", ConditionStatus.UNKNOWN, hardware_id=BOARD)
SILENT_LEASE = LeaseFacts(renew_time="12:00:00", lasts=40.0, unchanged_for=60.0)


def allowing(mode: Mode, pause: Pause | None, max_concurrent: int) -> PolicyFacts:
    """A policy with these settings; its others do not matter."""
    return PolicyFacts(
        mode=mode,
        pause=pause,
        max_concurrent=max_concurrent,
        max_concurrent_percent=100,
        max_unhealthy=Percent(40),
        domains=None,
        settle_time=0.0,
        min_interval=0.0,
        machines=MachinePolicyFacts(LimitSemantics.AT_LIMIT, delete=False, healthy_delay=0.0),
    )


ACTING = allowing(Mode.ACT, None, 1)


def switch(
    policy: ReadResult[PolicyFacts] = Present(ACTING),  # noqa: B008
    **changes: Any,
) -> Present[RemediatorGuardFacts]:
    """Guard facts at the power switch, of a node among ten that has not been Ready for long.

    `changes` are of the guard's facts, except `control_plane`, `target` and `grounds`.
    """
    around = changes.pop("control_plane", Absent())
    target = changes.pop(
        "target", TargetObservation("n1", ConditionStatus.UNKNOWN, 60.0, kubelet_silent=True)
    )
    grounds = changes.pop("grounds", RemediationGrounds(check_agrees=Absent()))
    usual = GuardFacts(
        policy=policy,
        freshness=CacheFreshness(age=1.0, age_limit=90.0, error_free_for=100.0, calm_needed=20.0),
        check=CheckFacts("workers"),
        of_check=HealthCounts(10, 1, 0),
        of_cluster=HealthCounts(10, 1, 0),
        of_domain=None,
        others=Present(0),
        control_plane=None,
        cooldown=0.0,
        since_last_start=1000.0,
        excluded_by="",
        maintained_by="",
    )
    return Present(RemediatorGuardFacts(replace(usual, **changes), around, target, grounds))


CONFIRMATION = Confirmation(
    by="anna", reason="pulled the plug", node_uid="uid-1", boot_id="boot-1", last_renew_time="12:00:00"
)
EVIDENCE = Evidence(
    class_="E5",
    node_uid="uid-1",
    boot_id="boot-1",
    by="anna",
    reason="pulled the plug",
    last_renew_time="12:00:00",
)
AWAITING = ManualRemediationStatus(
    epoch=7,
    phase=ManualRemediationPhase.WAITING_FOR_CONFIRMATION,
    node_uid="uid-1",
    boot_id="boot-1",
    hardware_id=BOARD,
    last_renew_time="12:00:00",
)
RELEASING = AWAITING.but(evidence=EVIDENCE, tainted=True, phase=ManualRemediationPhase.RELEASING)
RELEASED = RELEASING.but(released=True, phase=ManualRemediationPhase.RECOVERING)
RECOVERING = RELEASED.but(tainted=False)


def remediation(
    status: ManualRemediationStatus,
    *,
    confirmation: Confirmation | None = CONFIRMATION,
    deleting: bool = False,
) -> ManualRemediation:
    metadata = ObjectMeta(
        name="n1",
        namespace="nodemend-system",
        uid="rem-1",
        resource_version="55",
        finalizers=(well_known.SAFE_END,),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
    )
    return ManualRemediation(
        metadata=metadata, spec=ManualRemediationSpec(confirmation=confirmation), status=status
    )


def facts(about: ManualRemediation, **changes: Any) -> ManualFacts:
    """Facts that allow a release, with these changes."""
    usual = ManualFacts(
        remediation=about,
        epoch=7,
        remembers_from=0,
        remembers_for=86_400.0,
        node=Present(SILENT_NODE),
        revocation="",
        lease=Present(SILENT_LEASE),
        lock=Present(LockHolder(ours=True, holder="ManualRemediation n1")),
        policy=Present(ACTING),
        switch=switch(changes.get("policy", Present(ACTING))),
        left=Present(RemainingWorkloads(2, 1)),
        confirmation_age=5.0,
    )
    return replace(usual, **changes)
