"""Facts to start a story from: a silent node with a believed word, and what a test changes about it."""

from dataclasses import replace
from typing import Any

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.evidence import Evidence
from nodemend.api.manual_remediation import (
    Confirmation,
    ManualRemediation,
    ManualRemediationSpec,
    ManualRemediationStatus,
    Phase,
)
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.pause import Pause
from nodemend.api.remediation_policy import Mode
from nodemend.decide.facts import (
    Absent,
    LeaseFacts,
    MachineWishes,
    NodeFacts,
    PolicyFacts,
    Present,
    Seen,
    Taint,
)
from nodemend.decide.guard_facts import Census, CheckFacts, GuardFacts, Sight
from nodemend.decide.limits import Percent, Reading
from nodemend.decide.manual_remediation import ManualFacts
from nodemend.decide.remediation_life import HeldBy
from nodemend.decide.remediation_steps import Left
from nodemend.decide.switch_guard import Grounds, SwitchFacts, Target

OUR_TAINT = Taint("node.kubernetes.io/out-of-service", "NoExecute", "nodemend")
BOARD = "system-uuid/1"
SILENT_NODE = NodeFacts("n1", "uid-1", "100", "boot-1", ConditionStatus.UNKNOWN, hardware_id=BOARD)
SILENT_LEASE = LeaseFacts(renew_time="12:00:00", lasts=40.0, unchanged_for=60.0)


def allowing(mode: Mode, pause: Pause | None, max_concurrent: int) -> PolicyFacts:
    """A policy of which only this much matters."""
    return PolicyFacts(
        mode=mode,
        pause=pause,
        max_concurrent=max_concurrent,
        max_concurrent_percent=100,
        max_unhealthy=Percent(40),
        domains=None,
        settle_time=0.0,
        min_interval=0.0,
        machines=MachineWishes(Reading.STOPS_AT, delete=False, healthy_delay=0.0),
    )


ACTING = allowing(Mode.ACT, None, 1)


def switch(policy: Seen[PolicyFacts] = Present(ACTING), **changes: Any) -> Present[SwitchFacts]:  # noqa: B008
    """At the switch, of a node among ten that has long been not Ready; `changes` are of the guard's facts,
    but for `control_plane`, `target` and `grounds`."""
    around = changes.pop("control_plane", Absent())
    target = changes.pop("target", Target("n1", ConditionStatus.UNKNOWN, 60.0, kubelet_silent=True))
    grounds = changes.pop("grounds", Grounds(check_agrees=Absent()))
    usual = GuardFacts(
        policy=policy,
        sight=Sight(age=1.0, age_limit=90.0, calm_for=100.0, calm_needed=20.0),
        check=CheckFacts("workers"),
        of_check=Census(10, 1, 0),
        of_cluster=Census(10, 1, 0),
        of_domain=None,
        others=Present(0),
        control_plane=None,
        settling=0.0,
        since_last_start=1000.0,
        excluded_by="",
        maintained_by="",
    )
    return Present(SwitchFacts(replace(usual, **changes), around, target, grounds))


WORD = Confirmation(
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
    phase=Phase.AWAITING_WORD,
    node_uid="uid-1",
    boot_id="boot-1",
    hardware_id=BOARD,
    last_renew_time="12:00:00",
)
RELEASING = AWAITING.but(evidence=EVIDENCE, tainted=True, phase=Phase.RELEASING)
RELEASED = RELEASING.but(released=True, phase=Phase.RECOVERING)
RECOVERING = RELEASED.but(tainted=False)


def remediation(
    status: ManualRemediationStatus, *, word: Confirmation | None = WORD, deleting: bool = False
) -> ManualRemediation:
    metadata = ObjectMeta(
        name="n1",
        namespace="nodemend-system",
        uid="rem-1",
        resource_version="55",
        finalizers=(keys.SAFE_END,),
        deletion_timestamp="2026-01-01T00:00:00Z" if deleting else None,
    )
    return ManualRemediation(metadata=metadata, spec=ManualRemediationSpec(confirmation=word), status=status)


def facts(about: ManualRemediation, **changes: Any) -> ManualFacts:
    """All is well for a release, but for what `changes` say."""
    usual = ManualFacts(
        remediation=about,
        epoch=7,
        remembers_from=0,
        remembers_for=86_400.0,
        node=Present(SILENT_NODE),
        void_mark="",
        lease=Present(SILENT_LEASE),
        lock=Present(HeldBy(ours=True, holder="ManualRemediation n1")),
        policy=Present(ACTING),
        switch=switch(changes.get("policy", Present(ACTING))),
        left=Present(Left(2, 1)),
        word_age=5.0,
    )
    return replace(usual, **changes)
