"""A cluster whose nodes end themselves, as `kubectl mend check` reads it, and what a test changes."""

from typing import Any, Final

from nodemend.api.agent import AgentReport, CertificateReport, Marker, WatchdogReport
from nodemend.api.node_health_check import NodeHealthCheck, Remedy, TemplateReference
from nodemend.api.self_remediation import (
    SelfRemediationSpec,
    SelfRemediationTemplate,
    SelfRemediationTemplateSpec,
    TemplatedSelfSpec,
    Weakness,
)
from nodemend.cli.agents import AgentInfo
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.safety.facts import Present
from tests.unit.cli.check.sound_facts import CALL, check, facts, node

RESET: Final = TemplateReference(
    api_version="nodemend.io/v1alpha1", kind="SelfRemediationTemplate", name="reset", namespace="default"
)
HARDWARE: Final = WatchdogReport(class_="hardware", driver="iTCO_wdt", written=5.0, effective=10.0)
SOFTDOG: Final = WatchdogReport(class_="software", driver="Software Watchdog", written=10.0, effective=10.0)
GUEST: Final = WatchdogReport(
    class_="unsupported",
    driver="i6300ESB timer",
    written=10.0,
    effective=10.07,
    why="a virtual machine can be paused, and its watchdog with it",
)
NO_DEVICE: Final = WatchdogReport(class_="unsupported", why="there is no watchdog device")
NODES: Final = tuple(f"edge-{number}" for number in range(1, 6))


def template(*accept: Weakness, safe_time: int = 0) -> SelfRemediationTemplate:
    spec = SelfRemediationSpec(accept=accept, safe_time_seconds=safe_time)
    return SelfRemediationTemplate(spec=SelfRemediationTemplateSpec(template=TemplatedSelfSpec(spec=spec)))


def resetting(name: str = "workers", **others: Any) -> NodeHealthCheck:
    """A check with two remedies: self-fencing, and then a person's help."""
    found = check(name, **others)
    return found.but(
        spec=found.spec.but(remedies=(Remedy(template=RESET, timeout="10m"), Remedy(template=CALL)))
    )


def report(name: str, **others: Any) -> AgentReport:
    usual = AgentReport(
        node_uid=f"uid-{name}",
        boot_id="boot-1",
        sequence=900,
        acknowledged=899,
        steady_since=1,
        feed_lease=35.0,
        contact_age=15.0,
        watchdog=HARDWARE,
        peers=(tuple(one for one in NODES if one != name),),
        boot_gate=True,
        version="0.4.0",
        certificate=CertificateReport(ends="2026-10-11T08:00:00Z", life=86_400.0),
    )
    return usual.but(**others)


def agent(
    name: str,
    *,
    ago: float | None = 3.0,
    left: float | None = 72_000.0,
    marker: Marker | None = None,
    **others: Any,
) -> AgentInfo:
    return AgentInfo(
        node=name,
        report=report(name, **others),
        marker=marker,
        marked=marker is not None,
        proposed=True,
        renewed_ago=ago,
        certificate_left=left,
    )


def fencing_facts(
    *agents: AgentInfo, accepting: SelfRemediationTemplate | None = None, **others: Any
) -> CheckCommandFacts:
    """Five nodes; those whose agents are not given have sound ones."""
    given = {one.node for one in agents}
    sound = [agent(name) for name in NODES if name not in given]
    changes: dict[str, Any] = {
        "nodes": Present([node(name) for name in NODES]),
        "checks": Present([resetting()]),
        "templates": {RESET: Present(accepting or template()), CALL: Present(object())},
        "agents": Present([*agents, *sound]),
        **others,
    }
    return facts(**changes)
