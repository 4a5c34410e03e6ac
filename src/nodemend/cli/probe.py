"""Evaluates which evidence could release a node if it stopped responding now, for each of its remedies.

The facts are the objects around the node, the agent Leases of the node and its peers, and the templates. The
evaluation is pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import ClassVar, Final

from nodemend.api.agent import AgentReport
from nodemend.api.manual_remediation import ManualRemediationTemplate
from nodemend.api.meta import ConditionStatus
from nodemend.api.metal3_remediation import Metal3RemediationTemplate
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.quantities import duration_seconds
from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION_TEMPLATE,
    METAL3_REMEDIATION,
    METAL3_REMEDIATION_TEMPLATE,
    SELF_REMEDIATION,
    SELF_REMEDIATION_TEMPLATE,
    Resource,
)
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationSpec, SelfRemediationTemplate
from nodemend.api.upstream_types import Lease, Node
from nodemend.api.well_known import AGENT_NAMESPACE
from nodemend.cli.agents import (
    AgentInfo,
    AgentReadiness,
    ByTime,
    NoRelease,
    OnlyNewBoot,
    Prospect,
    evaluate_prospect,
    fewest_peers,
    is_of,
    is_of_self_fencing,
    read_agent,
    spell_certificate,
    spell_watchdog,
    wanted_of,
)
from nodemend.cli.cluster import Cluster, must_have
from nodemend.cli.node_report import PODS, VOLUMES, NodeCase, gather_case, open_remediation
from nodemend.cli.text import NextStep, align, fold, spell_list, spell_seconds, split_step, step_lines
from nodemend.protocol.timing import CertificateStanding
from nodemend.records.live_reads import project, value_of
from nodemend.remediation.metal3.host_lookup import NoMachine, host_facts
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.holds import spell_count
from nodemend.safety.host_power import HostPowerUncertain, power_uncertainty

AnyTemplate = ManualRemediationTemplate | Metal3RemediationTemplate | SelfRemediationTemplate
_OURS: Final[dict[Resource, type[AnyTemplate]]] = {
    MANUAL_REMEDIATION_TEMPLATE: ManualRemediationTemplate,
    METAL3_REMEDIATION_TEMPLATE: Metal3RemediationTemplate,
    SELF_REMEDIATION_TEMPLATE: SelfRemediationTemplate,
}


@dataclass(frozen=True, slots=True)
class ProbeFacts:
    case: NodeCase
    node: Node
    agent: ReadResult[AgentInfo]
    peers: Mapping[str, ReadResult[AgentInfo]] = field(default_factory=dict)
    templates: Mapping[TemplateReference, ReadResult[AnyTemplate]] = field(default_factory=dict)
    """Nodemend's templates that the node's check names."""

    @property
    def check(self) -> NodeHealthCheck | None:
        """The check that owns the node."""
        return next(iter(self.case.checks), None)

    @property
    def report(self) -> AgentReport | None:
        agent = value_of(self.agent)
        return agent.report if agent is not None else None

    @property
    def absent(self) -> frozenset[TemplateReference]:
        """Nodemend's templates that the node's check names and that do not exist."""
        return frozenset(one for one, found in self.templates.items() if isinstance(found, Absent))


async def gather(cluster: Cluster, name: str) -> ProbeFacts:
    """Read the facts. Writes nothing. Raises CommandFailure if the node does not exist or may not be read."""
    case = await gather_case(cluster, name)
    node = must_have(case.node, f"node {name}")
    agent = project(case.agent, lambda lease: read_agent(lease, case.now))
    names = agent.value.peers if isinstance(agent, Present) else ()
    return ProbeFacts(
        case,
        node,
        agent,
        peers={peer: await _agent_of(cluster, peer) for peer in names},
        templates=await _read_named_templates(cluster, case),
    )


async def _agent_of(cluster: Cluster, node: str) -> ReadResult[AgentInfo]:
    found = await cluster.find(LEASE, node, Lease, AGENT_NAMESPACE)
    return project(found, lambda lease: read_agent(lease, cluster.now))


async def _read_named_templates(
    cluster: Cluster, case: NodeCase
) -> dict[TemplateReference, ReadResult[AnyTemplate]]:
    """Read the templates of Nodemend's kinds that the node's check names."""
    named = [remedy.template for check in case.checks[:1] for remedy in check.spec.remedies]
    return {
        one: await cluster.find(resource, one.name, kind, one.namespace)
        for one in named
        for resource, kind in _OURS.items()
        if is_of(one, resource)
    }


class Possible(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePath:
    """One class of evidence that could release the node."""

    remedy: int
    """Number of the remedy that leads to this evidence; 0 if no check names one."""
    kind: str
    """Kind of the remediation."""
    evidence: str
    """E1 to E5."""
    possible: Possible
    after: str = ""
    """Text that states when the evidence would exist."""
    after_seconds: int | None = None
    """The same time in seconds after the marker, if known."""
    rests_on: str = ""
    because: str = ""
    """Reason why the evidence is impossible or why that is unknown."""
    to_change: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerRow:
    node: str
    agent: AgentReadiness
    renewed_ago: float | None
    why: str = ""
    """Reason why the state is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeView:
    kind: ClassVar[str] = "Probe"
    node: str
    headline: str
    steps: tuple[str, ...]
    """The expected steps, in order."""
    ways: tuple[ReleasePath, ...]
    peers: tuple[PeerRow, ...]
    needed_peers: tuple[str, ...]
    """For each peer list that the node may currently use, the number of peers that must stay in contact."""
    certificate_left_seconds: float | None
    """Seconds left of the certificate that identifies the node to its peers; None if it is not reported."""
    notes: tuple[str, ...]
    unread: tuple[str, ...]
    next_step: str
    """One command to paste, or `nothing`."""
    advice: str = ""

    @property
    def releasable(self) -> bool:
        """True if a remedy that a check names could lead to evidence, as far as is known."""
        return any(way.possible is Possible.YES for way in self.ways if way.remedy)


EVIDENCE: Final = {
    "E1": "E1 power off",
    "E2": "E2 new boot",
    "E4": "E4 time",
    "E5": "E5 confirmed",
}


def render(view: ProbeView, width: int) -> Iterator[str]:
    yield from fold(view.headline, width)
    if view.steps:
        yield ""
        for number, step in enumerate(view.steps, 1):
            yield from fold(f"{number:>3}  {step}", width, " " * 5)
    if view.ways:
        yield ""
        rows = [("REMEDY", "EVIDENCE", "POSSIBLE", "AFTER", "DEPENDS ON, OR WHY NOT")]
        rows += [_way(way) for way in view.ways]
        yield from align(rows)
    if view.peers or view.needed_peers:
        yield ""
        yield from (line for said in view.needed_peers for line in fold(f"By time: {said}.", width))
        yield from align([("PEER", "AGENT"), *((row.node, _agent(row)) for row in view.peers)])
    yield ""
    for note in view.notes:
        yield from fold(note, width)
    for unread in view.unread:
        yield from fold(f"Warning: {unread}", width)
    yield from step_lines(NextStep(view.advice, view.next_step))


def _way(way: ReleasePath) -> tuple[str, str, str, str, str]:
    remedy = f"{way.remedy} {way.kind}" if way.remedy else f"- {way.kind}"
    said = way.rests_on if way.possible is Possible.YES else way.because
    return remedy, EVIDENCE.get(way.evidence, way.evidence), way.possible, way.after or "-", said


def _agent(row: PeerRow) -> str:
    ago = "" if row.renewed_ago is None else f", renewed {spell_seconds(row.renewed_ago)} ago"
    why = f": {row.why}" if row.why else ""
    return f"{row.agent}{ago}{why}" if row.agent is not AgentReadiness.NONE else "none"


_SELF_KIND: Final = SELF_REMEDIATION.kind


def prospect_of(facts: ProbeFacts) -> Prospect | Unreadable:
    """Evaluate self-fencing with the spec of the open remediation, or else of the template in use."""
    if isinstance(facts.agent, Unreadable):
        return facts.agent
    uid, boot_id = facts.node.metadata.uid, facts.node.status.node_info.boot_id
    return evaluate_prospect(uid, boot_id, value_of(facts.agent), spec_of(facts), _speaking(facts))


def spec_of(facts: ProbeFacts) -> SelfRemediationSpec:
    under_way = open_remediation(facts.case)
    if isinstance(under_way, SelfRemediation):
        return under_way.spec
    wanted = wanted_of(facts.node.metadata.labels, facts.case.checks, facts.templates)
    return wanted.spec if wanted is not None else SelfRemediationSpec()


def ways_of(facts: ProbeFacts) -> tuple[ReleasePath, ...]:
    """Return the ways in the order of the remedies.

    If there is an agent, self-fencing is included even without a check that names it.
    """
    check = facts.check
    remedies = check.spec.remedies if check is not None else ()
    found = [way for number, one in enumerate(remedies, 1) for way in _ways(facts, number, one.template)]
    asked = any(way.kind == _SELF_KIND for way in found)
    return tuple(found if asked or isinstance(facts.agent, Absent) else (*found, *_by_itself(facts, 0)))


def _ways(facts: ProbeFacts, number: int, template: TemplateReference) -> Iterator[ReleasePath]:
    way = partial(ReleasePath, remedy=number, kind=template.kind.removesuffix("Template"))
    if template in facts.absent:
        yield way(
            evidence="-",
            possible=Possible.NO,
            because=f"its template {template.namespace}/{template.name} does not exist",
            to_change="create it, or name another remedy in the check",
        )
    elif is_of_self_fencing(template):
        yield from _by_itself(facts, number)
    elif is_of(template, METAL3_REMEDIATION_TEMPLATE):
        yield _by_power(facts, number)
    elif is_of(template, MANUAL_REMEDIATION_TEMPLATE):
        yield way(
            evidence="E5",
            possible=Possible.YES,
            after="when an operator confirms",
            rests_on="an operator who has verified that it is down",
        )
    else:
        why = "another project's kind: its evidence is unknown"
        yield way(evidence="-", possible=Possible.UNKNOWN, because=why)


def _by_itself(facts: ProbeFacts, number: int) -> Iterator[ReleasePath]:
    way = partial(ReleasePath, remedy=number, kind=_SELF_KIND)
    prospect = prospect_of(facts)
    match prospect:
        case Unreadable(why):
            said = f"its agent's Lease cannot be read: {why}"
            for evidence in ("E2", "E4"):
                yield way(evidence=evidence, possible=Possible.UNKNOWN, because=said)
        case NoRelease(why, to_change):
            for evidence in ("E2", "E4"):
                yield way(evidence=evidence, possible=Possible.NO, because=why, to_change=to_change)
        case OnlyNewBoot(why, to_change):
            yield _by_new_boot(facts, number)
            yield way(evidence="E4", possible=Possible.NO, because=why, to_change=to_change)
        case ByTime(seconds):
            yield _by_new_boot(facts, number)
            yield way(
                evidence="E4",
                possible=Possible.YES,
                after=f"{seconds} s after the marker",
                after_seconds=seconds,
                rests_on=_rests_on(facts),
            )


def _by_new_boot(facts: ProbeFacts, number: int) -> ReleasePath:
    gated = facts.report is not None and facts.report.boot_gate
    return ReleasePath(
        remedy=number,
        kind=_SELF_KIND,
        evidence="E2",
        possible=Possible.YES,
        after="as soon as it reports a new boot",
        rests_on="its boot gate, which reports before kubelet starts"
        if gated
        else "its kubelet or its agent",
    )


def _rests_on(facts: ProbeFacts) -> str:
    report = facts.report
    if report is None:
        return ""
    watchdog = f"its {spell_watchdog(report.watchdog)} watchdog"
    peers = " and ".join(f"{fewest_peers(names)} of {len(names)} peers" for names in report.peers)
    return f"{watchdog}, and {peers}"


def _by_power(facts: ProbeFacts, number: int) -> ReleasePath:
    way = partial(ReleasePath, remedy=number, kind=METAL3_REMEDIATION.kind, evidence="E1")
    match facts.case.host:
        case Present(host):
            address = f"{host.metadata.namespace}/{host.metadata.name}"
            against = power_uncertainty(host_facts(host, ""))
            because = "" if against is None else HostPowerUncertain(address, against).explain().sentence
            return way(
                possible=Possible.YES if against is None else Possible.NO,
                after="when its host is observed off" if against is None else "",
                rests_on=f"BareMetalHost {address} and its BMC",
                because=because.removesuffix("."),
            )
        case NoMachine(why):
            return way(possible=Possible.NO, because=why)
        case Absent():
            return way(possible=Possible.NO, because="its host is gone")
        case Unreadable(why):
            return way(possible=Possible.UNKNOWN, because=f"its host cannot be read: {why}")


def _speaking(facts: ProbeFacts) -> frozenset[str]:
    return frozenset(
        name
        for name, found in facts.peers.items()
        if isinstance(found, Present) and found.value.state is AgentReadiness.REPORTING
    )


def probe_view(facts: ProbeFacts) -> ProbeView:
    ways, prospect, agent = ways_of(facts), prospect_of(facts), value_of(facts.agent)
    resets = isinstance(prospect, ByTime | OnlyNewBoot)
    step = split_step(_next_step(facts, ways, prospect))
    return ProbeView(
        node=facts.case.name,
        headline=f"If {facts.case.name} fell silent now, {_headline(facts, ways)}.",
        steps=tuple(_steps(facts, ways, prospect)),
        ways=ways,
        peers=tuple(_peer(name, found) for name, found in sorted(facts.peers.items())) if resets else (),
        needed_peers=tuple(_needed(facts)) if resets else (),
        certificate_left_seconds=agent.certificate_left if agent is not None else None,
        notes=tuple(_notes(facts, ways)),
        unread=facts.case.spell_unread(PODS, VOLUMES),
        advice=step.advice,
        next_step=step.command,
    )


def _headline(facts: ProbeFacts, ways: tuple[ReleasePath, ...]) -> str:
    asked = [way for way in ways if way.remedy]
    if isinstance(facts.case.all_checks, Unreadable):
        return "it is unknown what would be done: the health checks cannot be read"
    if not asked:
        return "nothing would be done about it: no NodeHealthCheck watches it"
    able = [way for way in asked if way.possible is Possible.YES]
    if not able:
        unknown = any(way.possible is Possible.UNKNOWN for way in asked)
        return "it is unknown what could release it" if unknown else "nothing could release it"
    said = spell_list([_by(way) for way in able], "or")
    not_by_time = any((way.evidence, way.possible) == ("E4", Possible.NO) for way in asked)
    return f"it could be released {said}{'; not by time' if not_by_time else ''}"


def _by(way: ReleasePath) -> str:
    said = {"E1": "by a confirmed power-off (E1)", "E2": "by a new boot (E2)", "E5": "by a confirmation (E5)"}
    return said.get(way.evidence, f"by time (E4) {way.after_seconds} s after its marker")


def _steps(
    facts: ProbeFacts, ways: tuple[ReleasePath, ...], prospect: Prospect | Unreadable
) -> Iterator[str]:
    check = facts.check
    if check is None:
        return
    name = f"nhc/{check.metadata.name}"
    patience = _patience(check)
    if patience is None:
        yield f"{name} does not watch for Ready=Unknown: it would request nothing"
        return
    first = check.spec.remedies[0].template
    kind, of = first.kind.removesuffix("Template"), len(check.spec.remedies)
    yield f"{name} requests {kind} (remedy 1 of {of}) once Ready=Unknown has lasted {spell_seconds(patience)}"
    report = facts.report
    if kind != _SELF_KIND or report is None:
        return
    if isinstance(prospect, ByTime | OnlyNewBoot):
        yield (
            f"its Lease is marked: after at most {report.feed_lease:g} s it may no longer feed its watchdog, "
            f"which resets it {report.watchdog.effective:g} s after the last ping"
        )
    if report.ride_through:
        yield (
            f"{report.ride_through:g} s of that are its ride-through: without it, time would release it "
            f"{report.ride_through:g} s sooner, and a site without its uplink would reset that much sooner"
        )
    if any(way.evidence == "E2" and way.possible is Possible.YES for way in ways):
        yield "as soon as it reports a new boot it is released (E2)"
    if isinstance(prospect, ByTime):
        yield (
            f"{prospect.seconds} s after the marker it is released even without any report (E4), "
            "unless too many of its peers are cut off too"
        )


def _patience(check: NodeHealthCheck) -> float | None:
    """Seconds of Ready=Unknown after which the check acts; None if it has no such threshold."""
    found = [
        duration_seconds(one.period)
        for one in check.spec.thresholds
        if (one.type, one.status) == ("Ready", ConditionStatus.UNKNOWN)
    ]
    return min(found, default=None)


def _peer(name: str, found: ReadResult[AgentInfo]) -> PeerRow:
    match found:
        case Present(agent):
            return PeerRow(node=name, agent=agent.state, renewed_ago=agent.renewed_ago, why=agent.problem)
        case Absent():
            return PeerRow(node=name, agent=AgentReadiness.NONE, renewed_ago=None)
        case Unreadable(why):
            return PeerRow(node=name, agent=AgentReadiness.INVALID, renewed_ago=None, why=why)


def _needed(facts: ProbeFacts) -> Iterator[str]:
    for names in facts.report.peers if facts.report is not None else ():
        if not names:
            yield "it has no peers, and a time proof needs at least 2"
            continue
        rows = [_peer(name, facts.peers.get(name, Absent())) for name in names]
        speak = sum(row.agent is AgentReadiness.REPORTING for row in rows)
        yield (
            f"{fewest_peers(names)} of its {spell_count(len(names), 'peer')} must stay in contact with the "
            f"API server for all of that time; {speak} {'is' if speak == 1 else 'are'} in contact now"
        )


def _notes(facts: ProbeFacts, ways: tuple[ReleasePath, ...]) -> Iterator[str]:
    name = facts.case.name
    if open_remediation(facts.case) is not None:
        yield f"It is under remediation already: kubectl mend tree {name}"
    agent = value_of(facts.agent)
    if agent is not None and agent.state is AgentReadiness.SILENT:
        ago = "" if agent.renewed_ago is None else f" for {spell_seconds(agent.renewed_ago)}"
        yield f"Its agent has been silent{ago}: this is its last report."
    if facts.report is not None and facts.report.held_back:
        yield f"Its boot gate keeps kubelet from starting: {facts.report.held_back}."
    if facts.report is not None and not facts.report.boot_gate:
        yield (
            "This boot started without a boot gate. Until its agent runs, it is reset if the API server "
            f"answers it once and then not for {facts.report.feed_lease:g} s."
        )
    if agent is not None and agent.has_begun:
        yield _certificate(agent)
    if any(way.kind == _SELF_KIND and not way.remedy for way in ways):
        yield "No check requests its SelfRemediation; this assumes a template that accepts no weakness."
    named = facts.templates.items()
    if any(is_of_self_fencing(one) and isinstance(found, Unreadable) for one, found in named):
        yield "Its template cannot be read; this assumes one that accepts no weakness."
    if isinstance(facts.case.behind, Present):
        yield "Its Machine may be under a MachineHealthCheck as well, which this command does not evaluate."
    yield "This command does not evaluate the guard, which may hold the remediation."


def _certificate(agent: AgentInfo) -> str:
    said = f"Its certificate for peers: {spell_certificate(agent)}."
    if agent.certificate is CertificateStanding.FRESH:
        return said
    return f"{said} It should have a newer one: does nodemend-signer run?"


def _next_step(facts: ProbeFacts, ways: tuple[ReleasePath, ...], prospect: Prospect | Unreadable) -> str:
    if open_remediation(facts.case) is not None:
        return f"kubectl mend tree {facts.case.name}"
    if isinstance(facts.case.all_checks, Unreadable):
        return "kubectl mend check"
    if not any(way.remedy for way in ways):
        return "write a NodeHealthCheck that selects it, if it should be watched"
    if isinstance(prospect, OnlyNewBoot | NoRelease) and any(way.kind == _SELF_KIND for way in ways):
        return prospect.to_change[:1].lower() + prospect.to_change[1:].removesuffix(".")
    agent = value_of(facts.agent)
    if agent is not None and agent.state is AgentReadiness.SILENT:
        where = f"-n {AGENT_NAMESPACE} --field-selector spec.nodeName={facts.case.name}"
        return f"check its agent: kubectl get pods {where}"
    if facts.absent and facts.check is not None:
        named = spell_list(sorted(f"{one.namespace}/{one.name}" for one in facts.absent))
        edit = f"kubectl edit nodehealthcheck {facts.check.metadata.name}"
        return f"create the template {named}, or name another: {edit}"
    if all(way.possible is not Possible.YES for way in ways if way.remedy):
        return "ask a user with more read permissions, or the owner of the remedy"
    return "nothing"
