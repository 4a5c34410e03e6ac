"""All public strings of the code. `python -m tests.tidy.public_strings` writes the golden file.

Users, alerts and other versions of Nodemend match these strings. The golden file shows each change of one in
the review.
"""

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args

import msgspec

from nodemend.agent import exit_codes as agent_exit_codes
from nodemend.agent import peer_http
from nodemend.agent.reset_log import ObservedReset, ResetRecord, format_reset, format_tested
from nodemend.agent.watchdog import model, records
from nodemend.agent.watchdog.model import format_status
from nodemend.api import (
    agent,
    condition_reasons,
    condition_types,
    evidence,
    manual_remediation,
    meta,
    metal3_remediation,
    node_health_check,
    remediation_policy,
    self_remediation,
    upstream_types,
    well_known,
)
from nodemend.cli.agents import AgentReadiness
from nodemend.cli.cluster import LeaderState
from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import VIEW_VERSION
from nodemend.cli.wind_down.leftovers import Leftover
from nodemend.cmd import controllers, serving
from nodemend.guard.state import StormScopeKind, TargetState
from nodemend.health.creation import FIELD_MANAGER as CHECKER
from nodemend.health.machine.annotation import Clear
from nodemend.health.machine.preflight import HISTORY_MANAGER
from nodemend.health.machine.request import BY_DELETION, BY_OWNER, AskOwnerByCondition, Delete
from nodemend.kube.controller import Outcome
from nodemend.kube.leader_election import FIELD_MANAGER as ELECTOR
from nodemend.protocol.feed_lease import FeedLease
from nodemend.protocol.peers import PeerReply
from nodemend.protocol.watchdog_drivers import Hardware, Unsupported
from nodemend.records.agent_lease import AGENT
from nodemend.remediation.capm3 import decide as capm3_remediation
from nodemend.remediation.manual import decide as manual_remediation_steps
from nodemend.remediation.metal3 import model as power_cycle_steps
from nodemend.remediation.self_fencing import decide as self_remediation_steps
from nodemend.remediation.writes import FIELD_MANAGER as REMEDIATOR
from nodemend.remediation.writes import LOCK_PREFIX
from nodemend.rules.node import NodeHealth
from nodemend.rules.request import Create, DeleteRemediation, Escalate
from nodemend.safety.host_power import PowerUncertainty
from nodemend.signer import decide
from nodemend.signer.controller import MANAGER
from nodemend.telemetry import event_reasons, metric_labels, metrics
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.metrics import MetricName
from tests.unit.cli.views import all_view_kinds
from tests.unit.safety.hold_reasons import all_hold_reasons

GOLDEN: Final = Path(__file__).with_name("golden") / "public_strings.txt"
_NAMED: Final[tuple[tuple[str, str, tuple[Any, ...]], ...]] = (
    ("step of a ManualRemediation", "step", get_args(manual_remediation_steps.Step)),
    ("step of a SelfRemediation", "step", get_args(self_remediation_steps.Step)),
    ("step of a power cycle", "step", get_args(power_cycle_steps.Step)),
    ("step of a delegate", "step", tuple(one for one in get_args(capm3_remediation.Step))),
    ("step of the signer's CA", "step", get_args(decide.Step)),
    ("verdict of the signer", "verdict", get_args(decide.Verdict)),
    (
        "request of a check",
        "request",
        (Create, DeleteRemediation, Escalate, AskOwnerByCondition, Delete, Clear),
    ),
    ("outcome of a reconcile", "outcome", get_args(Outcome)),
    ("health of a node", "health", get_args(NodeHealth)),
    ("uncertainty of a host's power", "reason", get_args(PowerUncertainty)),
    ("leftover of a wind-down", "kind", get_args(Leftover)),
    ("state of the feeder in its log", "name", get_args(model.FeederState)),
)
_ENUMS: Final[dict[str, type[Enum]]] = {
    "phase of a ManualRemediation": manual_remediation.ManualRemediationPhase,
    "phase of a SelfRemediation": self_remediation.SelfRemediationPhase,
    "phase of a Metal3Remediation": metal3_remediation.Metal3RemediationPhase,
    "strategy of a Metal3Remediation": metal3_remediation.Strategy,
    "phase of a recovery": node_health_check.RecoveryPhase,
    "end of a remediation": node_health_check.HowEnded,
    "weakness of a SelfRemediation": self_remediation.Weakness,
    "method of a release": metal3_remediation.ReleaseBy,
    "mode of the policy": remediation_policy.Mode,
    "comparison of a limit": remediation_policy.LimitReading,
    "status of a condition": meta.ConditionStatus,
    "type of an event": upstream_types.EventType,
    "state of a target": TargetState,
    "scope of a storm": StormScopeKind,
    "answer of a peer": PeerReply,
    "state of an agent": AgentReadiness,
    "state of a leader": LeaderState,
}
_WIRE: Final[dict[str, type[msgspec.Struct]]] = {
    f"annotation {well_known.AGENT_REPORT}": agent.AgentReport,
    f"annotation {well_known.AGENT_REPORT}, watchdog": agent.WatchdogReport,
    f"annotation {well_known.AGENT_REPORT}, certificate": agent.CertificateReport,
    f"annotation {well_known.AGENT_REPORT}, lastReset": agent.LastReset,
    f"annotation {well_known.PEER_PROPOSAL}": agent.PeerProposal,
    f"annotation {well_known.PEER_PROPOSAL}, peers": agent.PeerEntry,
    f"annotation {well_known.MARKER}": agent.Marker,
    f"question to a peer, POST {peer_http.PATH}": peer_http.PeerQuestion,
    "answer of a peer": peer_http.PeerAnswer,
    "status of a ManualRemediation": manual_remediation.ManualRemediationStatus,
    "status of a SelfRemediation": self_remediation.SelfRemediationStatus,
    "status of a Metal3Remediation": metal3_remediation.Metal3RemediationStatus,
    "status of a NodeHealthCheck": node_health_check.NodeHealthCheckStatus,
    "status of the RemediationPolicy": remediation_policy.RemediationPolicyStatus,
    "spec of a RemediationOrder": remediation_policy.RemediationOrderSpec,
    "evidence": evidence.Evidence,
    "evidence, host": evidence.HostOff,
}
_BOOT: Final = "11111111-2222-3333-4444-555555555555"
_STATUS: Final = model.FeederStatus(
    model.Starving(9, permanent=True),
    "why",
    FeedLease(_BOOT, 40),
    True,
    35,
    model.Device("iTCO_wdt", 5, magic_close=True, nowayout=None),
    Hardware(),
    10,
    7,
)


def lines() -> list[str]:
    """Return one line per string: kind, tab, string. Formats keep the order of their fields."""
    return [f"{kind}\t{text}" for kind, text in _all()]


def _all() -> Iterator[tuple[str, str]]:
    yield from _constants("condition type", condition_types)
    yield from _constants("condition reason", condition_reasons)
    for reason in all_hold_reasons():
        yield "hold reason", reason.reason
    for kind, attribute, classes in _NAMED:
        for text in sorted(getattr(one, attribute) for one in classes):
            yield kind, text
    for kind, enum in _ENUMS.items():
        for value in sorted(str(one.value) for one in enum):
            yield kind, value
    yield from _telemetry()
    yield from _commands()
    yield from _names()
    for what, struct in _WIRE.items():
        yield f"fields of {what}", " ".join(one.encode_name for one in msgspec.structs.fields(struct))
    yield from _files()


def _constants(kind: str, module: ModuleType) -> Iterator[tuple[str, str]]:
    values = {value for name, value in vars(module).items() if name.isupper()}
    yield from ((kind, str(value)) for value in sorted(values))


def _telemetry() -> Iterator[tuple[str, str]]:
    reasons = [one for one in vars(event_reasons).values() if isinstance(one, EventReason)]
    for reason in sorted(reasons, key=lambda one: one.name):
        yield "event reason, type, action", f"{reason.name} {reason.type} {reason.action}"
    names = [one for one in vars(metrics).values() if isinstance(one, MetricName)]
    for name in sorted(names, key=lambda one: one.name):
        yield f"metric ({name.kind}) and labels", " ".join((name.name, *name.labels))
    yield from _constants("metric label value", metric_labels)


def _commands() -> Iterator[tuple[str, str]]:
    for code in ExitCode:
        yield "exit code of kubectl mend", f"{code.value} {code.meaning}"
    yield from _constants("exit code of the API check", agent_exit_codes)
    yield "exit code of controllers and agent", f"{serving.EXIT_STOPPED} stopped"
    yield "exit code of controllers and agent", f"{serving.EXIT_FAILED} failed"
    yield "apiVersion of CLI output", VIEW_VERSION
    for kind in all_view_kinds():
        yield "kind of CLI output", kind


def _names() -> Iterator[tuple[str, str]]:
    values = [value for name, value in vars(well_known).items() if name.isupper()]
    ours = {one for value in values for one in ([value] if isinstance(value, str) else value)}
    yield from (("annotation, label, taint, finalizer, name or value", one) for one in sorted(ours))
    yield "name of a Lease, prefix before the UID of a Node", LOCK_PREFIX
    for program in (controllers.CHECKER, controllers.REMEDIATOR, controllers.SIGNER):
        yield "name of a Lease of an election", program
    managers = {AGENT, CHECKER, ELECTOR, HISTORY_MANAGER, MANAGER, REMEDIATOR}
    yield from (("field manager", one) for one in sorted(managers))
    yield from (("remedy in a check's history", one) for one in (BY_DELETION, BY_OWNER))


def _files() -> Iterator[tuple[str, str]]:
    """Yield an example of each file format that agent, feeder and boot gate share."""
    lasting = model.FeederStatus(
        model.Armed(), "", FeedLease(_BOOT, 40), False, 35, None, Unsupported("no"), None, None
    )
    for status in (_STATUS, lasting):
        for line in format_status(status, _BOOT, ["locked-memory"]).decode().splitlines():
            yield "file of the feeder's status", line
    examples = {
        "feed lease": records.format_lease(FeedLease(_BOOT, 40)),
        "feed lease, fence requested": records.format_lease(FeedLease(_BOOT, 0, fence_requested=True)),
        "permit": records.format_disarm_permission(_BOOT),
        "gate, published": records.format_gate(_BOOT, published=True),
        "gate, unguarded": records.format_gate(_BOOT, published=False),
        "state of the gate, closed": records.format_gate_status(_BOOT, records.CLOSED),
        "state of the gate, published": records.format_gate_status(_BOOT, records.PUBLISHED),
        "reset": format_reset(ResetRecord(_BOOT, "starving", 1, 2, 3, 4, 5, "iTCO_wdt", "machine")),
        "tested watchdog": format_tested(ObservedReset("machine", "iTCO_wdt")),
    }
    for name, line_ in examples.items():
        yield f"file of the {name}", line_.decode().strip()


if __name__ == "__main__":
    GOLDEN.write_text("\n".join([*lines(), ""]))
