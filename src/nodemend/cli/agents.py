"""Reads agent Leases and decides whether a node could reset itself and be released by time.

A command reads the agent's report and the time of the last renewal from the Lease. The decision is based on
the current report, and is pure: protocol.timing and safety.time_proof contain the rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from nodemend.api import well_known
from nodemend.api.agent import AgentReport, Marker, WatchdogReport
from nodemend.api.meta import written_moment
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.resources import LEASE, SELF_REMEDIATION_TEMPLATE, Resource
from nodemend.api.self_remediation import SelfRemediationSpec, SelfRemediationTemplate
from nodemend.api.upstream_types import Lease
from nodemend.cli.cluster import Cluster
from nodemend.cli.listing import age_of
from nodemend.cli.text import spell_seconds
from nodemend.kube.outcome import LeaseFound
from nodemend.kube.request import Selection
from nodemend.protocol.timing import CertificateStanding, evaluate_certificate
from nodemend.records.agent_lease import UnreadableReport, read_lease
from nodemend.records.live_reads import project
from nodemend.remediation.self_fencing.peer_assignment import SILENT_AFTER
from nodemend.rules.request import matches
from nodemend.safety.facts import Present, ReadResult
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS, NoTimeProof, enough, needed_for

_CONTACTS_MISSED: Final = 2
"""Number of contact ages (K) without a renewal after which an agent counts as silent.

An agent renews its Lease three times per K.
"""


def remove_marker_command(node: str, system_namespace: str) -> str:
    """Return the kubectl command with which a user removes the marker.

    It impersonates the remediator, because an admission policy of Nodemend lets only the remediator change a
    marker.
    """
    name = f"system:serviceaccount:{system_namespace}:nodemend-remediator"
    return f"kubectl annotate lease {node} -n {well_known.AGENT_NAMESPACE} {well_known.MARKER}- --as={name}"


class AgentReadiness(StrEnum):
    REPORTING = "reporting"
    SILENT = "silent"
    INVALID = "invalid"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentInfo:
    """An agent's Lease at one time of the API server's clock. `report` is None if `problem` is set."""

    node: str
    report: AgentReport | None = None
    marker: Marker | None = None
    marked: bool = False
    """True if the Lease has a marker, even one that cannot be parsed."""
    proposed: bool = False
    """True if a remediator has proposed peers to the agent."""
    problem: str = ""
    renewed_ago: float | None = None
    """Seconds, across two clocks: the agent's and the API server's.

    None if the Lease has no valid renew time.
    """
    certificate_left: float | None = None
    """Seconds, across the same two clocks. None if the agent reports no certificate."""

    @property
    def silent_after(self) -> float:
        return max(SILENT_AFTER, _CONTACTS_MISSED * self.report.contact_age if self.report else 0.0)

    @property
    def silent(self) -> bool:
        return self.renewed_ago is None or self.renewed_ago > self.silent_after

    @property
    def state(self) -> AgentReadiness:
        if self.report is None:
            return AgentReadiness.INVALID
        return AgentReadiness.SILENT if self.silent else AgentReadiness.REPORTING

    @property
    def certificate(self) -> CertificateStanding | None:
        """State of the certificate that identifies the agent to its peers; None if it has no certificate."""
        reported = self.report.certificate if self.report is not None else None
        if self.report is None or reported is None or self.certificate_left is None:
            return None
        return evaluate_certificate(reported.life, self.certificate_left, self.report.feed_lease)

    @property
    def has_begun(self) -> bool:
        """True if the agent itself has reported in this boot. Before that, the boot gate writes the Lease."""
        return self.report is not None and self.report.acknowledged > 0

    @property
    def peers(self) -> tuple[str, ...]:
        """Names of the peers in every list that the node may currently use, without duplicates."""
        named = self.report.peers if self.report is not None else ()
        return tuple(sorted({name for names in named for name in names}))


def read_agent(lease: Lease, now: datetime) -> AgentInfo:
    news, annotations = read_lease(lease), lease.metadata.annotations
    agent = AgentInfo(
        node=lease.metadata.name,
        marked=well_known.MARKER in annotations,
        proposed=well_known.PEER_PROPOSAL in annotations,
        renewed_ago=age_of(lease.spec.renew_time, now),
    )
    if not isinstance(news, LeaseFound):
        return replace(agent, problem=news.why)
    agent, report = replace(agent, marker=news.lease.marker), news.lease.report
    if isinstance(report, AgentReport):
        return replace(agent, report=report, certificate_left=_left(report, now))
    return replace(
        agent, problem=report.why if isinstance(report, UnreadableReport) else "it has reported nothing"
    )


def _left(report: AgentReport, now: datetime) -> float | None:
    ends = written_moment(report.certificate.ends) if report.certificate is not None else None
    return None if ends is None else (ends - now).total_seconds()


async def list_agents(cluster: Cluster) -> ReadResult[list[AgentInfo]]:
    """List the agents of all nodes. Empty if the agent is not installed."""
    found = await cluster.all(LEASE, Lease, Selection(namespace=well_known.AGENT_NAMESPACE))
    now = cluster.now
    return project(found, lambda leases: [read_agent(lease, now) for lease in leases])


def spell_certificate(agent: AgentInfo) -> str:
    """Return the remaining validity of the certificate, and the consequence if little is left."""
    certificate, left = agent.certificate, spell_seconds(agent.certificate_left or 0.0)
    match certificate:
        case None:
            return "none"
        case CertificateStanding.OVER:
            return "over"
        case CertificateStanding.ENDING:
            return f"{left} left, too little to have peers"
        case CertificateStanding.FRESH | CertificateStanding.AGING:
            return f"{left} left"


def spell_watchdog(watchdog: WatchdogReport) -> str:
    """Return the watchdog's class and the name that its driver reports."""
    return f"{watchdog.class_} ({watchdog.driver})" if watchdog.driver else watchdog.class_


def spell_times(watchdog: WatchdogReport) -> str:
    """Return W in seconds: the value written to the driver and the effective value."""
    if watchdog.effective <= 0:
        return "it resets nothing"
    return f"W {watchdog.written:g} s written, {watchdog.effective:g} s effective"


_SEE_AGENT_LOG: Final = "Read the log of its agent."


@dataclass(frozen=True, slots=True)
class RequestedFencing:
    """The SelfRemediation that the node would get: the check that requests it, and its spec."""

    check: str
    spec: SelfRemediationSpec


@dataclass(frozen=True, slots=True)
class ByTime:
    """The boot has ended this number of seconds after its marker (T_safe)."""

    seconds: int


@dataclass(frozen=True, slots=True)
class OnlyNewBoot:
    """Time proves nothing for the node; a new boot that it reports does."""

    why: str
    to_change: str


@dataclass(frozen=True, slots=True)
class NoRelease:
    """No remediation would ask the node to reset itself, or the node would not do it."""

    why: str
    to_change: str


Prospect = ByTime | OnlyNewBoot | NoRelease


def wanted_of(
    labels: Mapping[str, str],
    checks: Iterable[NodeHealthCheck],
    templates: Mapping[TemplateReference, object],
) -> RequestedFencing | None:
    """Return the SelfRemediation that the check of a node with these labels would request.

    None if it has no such remedy.

    The node's check is the first by name that selects it, as in the checker. A missing or unreadable template
    counts as one that accepts no weakness.
    """
    for check in sorted(checks, key=lambda one: one.metadata.name):
        if not matches(check.spec.selector, dict(labels)):
            continue
        for remedy in check.spec.remedies:
            if is_of_self_fencing(remedy.template):
                return RequestedFencing(check.metadata.name, _spec(templates.get(remedy.template)))
        return None
    return None


def is_of_self_fencing(template: TemplateReference) -> bool:
    return is_of(template, SELF_REMEDIATION_TEMPLATE)


def is_of(template: TemplateReference, resource: Resource) -> bool:
    """Return whether the reference names the resource, in any version."""
    return (template.kind, template.api_version.partition("/")[0]) == (resource.kind, resource.group)


def _spec(found: object) -> SelfRemediationSpec:
    if isinstance(found, Present) and isinstance(found.value, SelfRemediationTemplate):
        return found.value.spec.template.spec
    return SelfRemediationSpec()


def evaluate_prospect(
    uid: str, boot_id: str, agent: AgentInfo | None, spec: SelfRemediationSpec, speaking: AbstractSet[str]
) -> Prospect:
    """Evaluate a node's self-fencing. The last argument has the nodes whose agents report now.

    The boot ID is empty until the kubelet reports it.
    """
    if agent is None:
        return NoRelease("Nodemend's agent has never run there", "Install the agent there before it fails.")
    report = agent.report
    if report is None:
        return NoRelease(f"the report of its agent cannot be read: {agent.problem}", _SEE_AGENT_LOG)
    if report.node_uid != uid:
        return NoRelease("its agent's Lease is of another Node of that name", _SEE_AGENT_LOG)
    if boot_id not in ("", report.boot_id) and report.held_back:
        return OnlyNewBoot(
            "its boot gate keeps the kubelet of a new boot from starting",
            "That new boot is evidence enough (E2).",
        )
    if boot_id not in ("", report.boot_id):
        return NoRelease("its agent's Lease and its Node name different boots", _SEE_AGENT_LOG)
    if report.watchdog.effective <= 0:
        why = report.watchdog.why or "it reports none"
        return NoRelease(f"no watchdog would reset it: {why}", "Use another remedy for it.")
    needed = needed_for(report, spec)
    if isinstance(needed, NoTimeProof):
        return OnlyNewBoot(needed.why, needed.remedy)
    return _by_peers(report, speaking) or ByTime(needed)


def _by_peers(report: AgentReport, speaking: AbstractSet[str]) -> OnlyNewBoot | None:
    """Return None if enough peers of every list are in contact with the API server now."""
    if enough(speaking, report.peers, DEFAULT_ASSUMPTIONS.byzantine_peers):
        return None
    return OnlyNewBoot(
        "too few of its peers have an agent that reports now",
        "It becomes possible again when their agents renew their Leases.",
    )


def fewest_peers(names: Sequence[str]) -> int:
    """Number of peers in a list that must stay in contact for a proof.

    One more than the list has if even all of them are not enough.
    """
    return next(
        (
            number
            for number in range(len(names) + 1)
            if enough(set(names[:number]), (names,), DEFAULT_ASSUMPTIONS.byzantine_peers)
        ),
        len(names) + 1,
    )
