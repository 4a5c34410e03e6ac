"""The Lease that a node has with us, as a command reads it: its agent's report, and when it last spoke."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from nodemend.api import keys
from nodemend.api.agent_lease import AgentReport, Marker, WatchdogReport
from nodemend.api.group_versions import LEASE
from nodemend.api.lease import Lease
from nodemend.api.timestamps import written_moment
from nodemend.cli.cluster import Cluster
from nodemend.cli.words import spell_seconds
from nodemend.cli.written_ages import age_of
from nodemend.controllers.agents.sweep import SILENT_AFTER
from nodemend.controllers.fresh_reads import project
from nodemend.decide.certificate_life import CertificateStanding, judge_certificate
from nodemend.decide.facts import Seen
from nodemend.kube.agent_lease import Found, Garbled, read_lease
from nodemend.kube.api_request import Selection

_CONTACTS_MISSED: Final = 2
"""So often K may pass before a person is told of silence: renewals come three to a K."""


def take_marker_off(node: str, system_namespace: str) -> str:
    """For a person to type. In the remediator's name: a policy of ours lets nobody else touch a marker."""
    name = f"system:serviceaccount:{system_namespace}:nodemend-remediator"
    return f"kubectl annotate lease {node} -n {keys.AGENT_NAMESPACE} {keys.MARKER}- --as={name}"


class AgentState(StrEnum):
    SPEAKS = "speaks"
    SILENT = "silent"
    UNREAD = "unread"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSeen:
    """As of one moment of the API server's clock. `report` is None where `doubt` says why."""

    node: str
    report: AgentReport | None = None
    marker: Marker | None = None
    marked: bool = False
    """There is a marker on it, be it one that cannot be read."""
    proposed: bool = False
    """A remediator has proposed peers to it."""
    doubt: str = ""
    renewed_ago: float | None = None
    """By two clocks, the agent's and the API server's; None where nothing tells."""
    certificate_left: float | None = None
    """Seconds, by the same two clocks; None where it tells of no certificate."""

    @property
    def silent_after(self) -> float:
        return max(SILENT_AFTER, _CONTACTS_MISSED * self.report.contact_age if self.report else 0.0)

    @property
    def silent(self) -> bool:
        return self.renewed_ago is None or self.renewed_ago > self.silent_after

    @property
    def state(self) -> AgentState:
        if self.report is None:
            return AgentState.UNREAD
        return AgentState.SILENT if self.silent else AgentState.SPEAKS

    @property
    def certificate(self) -> CertificateStanding | None:
        """By which its peers know it; None where it has none."""
        told = self.report.certificate if self.report is not None else None
        if self.report is None or told is None or self.certificate_left is None:
            return None
        return judge_certificate(told.life, self.certificate_left, self.report.feed_lease)

    @property
    def has_begun(self) -> bool:
        """An agent has spoken in this boot; before that a boot gate speaks for the node."""
        return self.report is not None and self.report.acknowledged > 0

    @property
    def peers(self) -> tuple[str, ...]:
        """Of every list that the node may go by."""
        named = self.report.peers if self.report is not None else ()
        return tuple(sorted({name for names in named for name in names}))


def read_agent(lease: Lease, now: datetime) -> AgentSeen:
    news = read_lease(lease)
    node, ago = lease.metadata.name, age_of(lease.spec.renew_time, now)
    marked = keys.MARKER in lease.metadata.annotations
    proposed = keys.PEER_PROPOSAL in lease.metadata.annotations
    if not isinstance(news, Found):
        return AgentSeen(node=node, marked=marked, proposed=proposed, doubt=news.why, renewed_ago=ago)
    found = news.lease
    report = found.report if isinstance(found.report, AgentReport) else None
    doubt = found.report.why if isinstance(found.report, Garbled) else "it has reported nothing"
    return AgentSeen(
        node=node,
        report=report,
        marker=found.marker,
        marked=marked,
        proposed=proposed,
        doubt="" if report is not None else doubt,
        renewed_ago=ago,
        certificate_left=_left(report, now),
    )


def _left(report: AgentReport | None, now: datetime) -> float | None:
    told = report.certificate if report is not None else None
    ends = written_moment(told.ends) if told is not None else None
    return None if ends is None else (ends - now).total_seconds()


async def list_agents(cluster: Cluster) -> Seen[list[AgentSeen]]:
    """Those of all nodes. None where nobody has installed the agent."""
    found = await cluster.all(LEASE, Lease, Selection(namespace=keys.AGENT_NAMESPACE))
    now = cluster.now
    return project(found, lambda leases: [read_agent(lease, now) for lease in leases])


def spell_certificate(agent: AgentSeen) -> str:
    """How long it is good for, and what follows where that is not long."""
    standing, left = agent.certificate, spell_seconds(agent.certificate_left or 0.0)
    match standing:
        case None:
            return "none"
        case CertificateStanding.OVER:
            return "over"
        case CertificateStanding.ENDING:
            return f"{left} left, too little to have peers"
        case CertificateStanding.FRESH | CertificateStanding.AGING:
            return f"{left} left"


def spell_watchdog(watchdog: WatchdogReport) -> str:
    """Its class, and its driver by the name that it gives itself."""
    return f"{watchdog.class_} ({watchdog.driver})" if watchdog.driver else watchdog.class_


def spell_times(watchdog: WatchdogReport) -> str:
    """W, as it was written to the driver and as it takes."""
    if watchdog.effective <= 0:
        return "it resets nothing"
    return f"W {watchdog.written:g} s written, {watchdog.effective:g} s effective"
