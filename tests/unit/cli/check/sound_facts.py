"""A cluster in which `kubectl mend check` finds nothing wrong, and what a test changes about it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.api.crds import CUSTOM_RESOURCES
from nodemend.api.evidence import Evidence
from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase, ManualRemediationStatus
from nodemend.api.meta import ConditionStatus, LabelSelector, ObjectMeta
from nodemend.api.node_health_check import (
    NodeHealthCheck,
    NodeHealthCheckSpec,
    NodeHealthCheckStatus,
    Remedy,
    TemplateReference,
    Threshold,
)
from nodemend.api.remediation_policy import Mode, RemediationPolicy, RemediationPolicySpec
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.cli.check.view import CheckView, Level
from nodemend.cli.cluster import LeaderState, LeaderView, ServerVersion
from nodemend.guard.policies import PolicySeen
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.records.node import NodeRecord, NodeTaintRecord, NodeWire, node_records
from nodemend.safety.facts import Present

CALL = TemplateReference(
    api_version="nodemend.io/v1alpha1", kind="ManualRemediationTemplate", name="call", namespace="default"
)
NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
EVIDENCE = Evidence(class_="E5", node_uid="uid-edge-1", boot_id="boot-1")


def node(
    name: str, *, labels: dict[str, str] | None = None, taints: tuple[NodeTaintRecord, ...] = ()
) -> NodeRecord:
    wire = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels or {}},
        "spec": {"taints": taints},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"bootID": "boot-1"}},
    }
    return node_records().project(msgspec.json.decode(msgspec.json.encode(wire), type=NodeWire), None)


def check(
    name: str = "workers", *, labels: dict[str, str] | None = None, types: tuple[str, ...] = ("Ready",)
) -> NodeHealthCheck:
    thresholds = tuple(Threshold(type=type_, status=ConditionStatus.UNKNOWN, period="5m") for type_ in types)
    return NodeHealthCheck(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", generation=1),
        spec=NodeHealthCheckSpec(
            selector=LabelSelector(match_labels=labels or {}),
            thresholds=thresholds,
            remedies=(Remedy(template=CALL),),
        ),
        status=NodeHealthCheckStatus(observed_generation=1),
    )


def remediation(name: str, created: str = "2026-01-31T11:59:00Z", **status: Any) -> ManualRemediation:
    return ManualRemediation(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"rem-{name}",
            creation_timestamp=created,
            finalizers=(well_known.SAFE_END,),
        ),
        status=ManualRemediationStatus(
            **{"phase": ManualRemediationPhase.WAITING_FOR_CONFIRMATION, **status}
        ),
    )


def leader(component: str, state: LeaderState = LeaderState.ALIVE) -> LeaderView:
    return LeaderView(component=component, state=state, holder=f"{component}-0", renewed_ago=1.0)


SOUND = CheckCommandFacts(
    server=ServerVersion(major="1", minor="36", git_version="v1.36.3"),
    served=Present(frozenset(custom.resource.plural for custom in CUSTOM_RESOURCES)),
    policies=Present({name: PolicySeen(one.scope, one.demands) for name, (one, *_) in SHIPPED.items()}),
    bindings=Present({name: one.binding for name, (one, *_) in SHIPPED.items()}),
    caller="anna",
    abilities={"view": True, "pause": True, "stop": True, "confirm": True, "configure": False},
    leaders=(leader("checker"), leader("remediator")),
    policy=Present(RemediationPolicy(spec=RemediationPolicySpec(mode=Mode.ACT, max_concurrent=2))),
    checks=Present([check()]),
    templates={CALL: Present(object())},
    nodes=Present([node("edge-1"), node("edge-2")]),
    remediations=Present([]),
    locks=Present([]),
    system_namespace="nodemend-system",
    now=NOW,
)


def facts(**changes: Any) -> CheckCommandFacts:
    return replace(SOUND, **changes)


def problems(view: CheckView) -> list[tuple[Level, str]]:
    """All lines that are not fine."""
    return [
        (finding.level, finding.text)
        for group in view.groups
        for finding in group.findings
        if finding.level is not Level.OK
    ]
