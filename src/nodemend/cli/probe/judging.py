"""What would happen if the node fell silent now. Pure."""

from collections.abc import Iterator
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.quantities import parse_duration
from nodemend.cli.agents import AgentSeen, AgentState, spell_certificate
from nodemend.cli.next_steps import split_step
from nodemend.cli.node_case import PODS, VOLUMES, open_remediation
from nodemend.cli.probe.facts import ProbeFacts
from nodemend.cli.probe.view import PeerRow, Possible, ProbeView, Way
from nodemend.cli.probe.ways import prospect_of, ways_of
from nodemend.cli.self_fencing import ByTime, Nothing, OnlyNewBoot, Prospect, fewest_peers
from nodemend.cli.words import spell_list, spell_seconds
from nodemend.decide.certificate_life import CertificateStanding
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

_SELF: Final = "SelfRemediation"


def probe_view(facts: ProbeFacts) -> ProbeView:
    ways, prospect, agent = ways_of(facts), prospect_of(facts), _agent(facts)
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


def _agent(facts: ProbeFacts) -> AgentSeen | None:
    return facts.agent.value if isinstance(facts.agent, Present) else None


def _headline(facts: ProbeFacts, ways: tuple[Way, ...]) -> str:
    asked = [way for way in ways if way.remedy]
    if isinstance(facts.case.all_checks, Unreadable):
        return "nobody can tell from here what would be done: the health checks cannot be read"
    if not asked:
        return "nothing would be done about it: no NodeHealthCheck watches it"
    able = [way for way in asked if way.possible is Possible.YES]
    if not able:
        unknown = any(way.possible is Possible.UNKNOWN for way in asked)
        return "it cannot be told what could release it" if unknown else "nothing could release it"
    said = spell_list([_by(way) for way in able], "or")
    not_by_time = any((way.evidence, way.possible) == ("E4", Possible.NO) for way in asked)
    return f"it could be released {said}{'; not by time' if not_by_time else ''}"


def _by(way: Way) -> str:
    said = {"E1": "by its power (E1)", "E2": "by a new boot (E2)", "E5": "on a person's word (E5)"}
    return said.get(way.evidence, f"by time (E4) {way.after_seconds} s after its marker")


def _steps(facts: ProbeFacts, ways: tuple[Way, ...], prospect: Prospect | Unreadable) -> Iterator[str]:
    check = facts.check
    if check is None:
        return
    name = f"nhc/{check.metadata.name}"
    patience = _patience(check)
    if patience is None:
        yield f"{name} does not watch for Ready=Unknown: it would ask for nothing"
        return
    first = check.spec.remedies[0].template
    kind, of = first.kind.removesuffix("Template"), len(check.spec.remedies)
    yield f"{name} asks for {kind} (remedy 1 of {of}) once Ready=Unknown has lasted {spell_seconds(patience)}"
    if kind != _SELF or not isinstance(facts.agent, Present) or facts.agent.value.report is None:
        return
    report = facts.agent.value.report
    if isinstance(prospect, ByTime | OnlyNewBoot):
        yield (
            f"its Lease is marked: after at most {report.feed_lease:g} s it may feed its watchdog no more, "
            f"which resets it {report.watchdog.effective:g} s after the last ping"
        )
    if report.ride_through:
        yield (
            f"{report.ride_through:g} s of that are its ride-through: without it, time would release it "
            f"{report.ride_through:g} s sooner, and a site without its uplink would end that much sooner"
        )
    if any(way.evidence == "E2" and way.possible is Possible.YES for way in ways):
        yield "as soon as it reports a new boot it is released (E2)"
    if isinstance(prospect, ByTime):
        yield (
            f"{prospect.seconds} s after the marker it is released even if nothing is heard of it (E4), "
            "unless too many of its peers are cut off too"
        )


def _patience(check: NodeHealthCheck) -> float | None:
    """How long a silent node must be so."""
    found = [
        parse_duration(one.period).total_seconds()
        for one in check.spec.thresholds
        if (one.type, one.status) == ("Ready", ConditionStatus.UNKNOWN)
    ]
    return min(found, default=None)


def _peer(name: str, found: Seen[AgentSeen]) -> PeerRow:
    match found:
        case Present(agent):
            return PeerRow(node=name, agent=agent.state, renewed_ago=agent.renewed_ago, why=agent.doubt)
        case Absent():
            return PeerRow(node=name, agent=AgentState.NONE, renewed_ago=None)
        case Unreadable(why):
            return PeerRow(node=name, agent=AgentState.UNREAD, renewed_ago=None, why=why)


def _needed(facts: ProbeFacts) -> Iterator[str]:
    agent = _agent(facts)
    lists = agent.report.peers if agent is not None and agent.report is not None else ()
    for names in lists:
        if not names:
            yield "it has no peers: without at least two nothing is proven by time"
            continue
        rows = [_peer(name, facts.peers.get(name, Absent())) for name in names]
        speak = sum(row.agent is AgentState.SPEAKS for row in rows)
        yield (
            f"{fewest_peers(names)} of its {spell_count(len(names), 'peer')} must stay in contact with the "
            f"API server for all of that time; {speak} {'is' if speak == 1 else 'are'} in contact now"
        )


def _notes(facts: ProbeFacts, ways: tuple[Way, ...]) -> Iterator[str]:
    name = facts.case.name
    if open_remediation(facts.case) is not None:
        yield f"It is under remediation already: kubectl mend tree {name}"
    agent = _agent(facts)
    if agent is not None and agent.state is AgentState.SILENT:
        ago = "" if agent.renewed_ago is None else f" for {spell_seconds(agent.renewed_ago)}"
        yield f"Its agent has been silent{ago}: this is what it last said."
    if agent is not None and agent.report is not None and agent.report.held_back:
        yield f"Its boot gate keeps kubelet from starting: {agent.report.held_back}."
    if agent is not None and agent.report is not None and not agent.report.boot_gate:
        yield (
            "No boot gate guarded this boot. Such a boot is reset if the API server answers it once, and "
            f"then not for {agent.report.feed_lease:g} s before its agent has begun."
        )
    if agent is not None and agent.has_begun:
        yield _certificate(agent)
    if any(way.kind == _SELF and not way.remedy for way in ways):
        yield "No check asks for its SelfRemediation; this is by a template that accepts no weakness."
    if any(isinstance(found, Unreadable) for found in facts.templates.values()):
        yield "Its template cannot be read; this is by one that accepts no weakness."
    if isinstance(facts.case.behind, Present):
        yield "Its Machine may be under a MachineHealthCheck as well, which is not looked at here."
    yield "Whether the guard would let it begin is not looked at here."


def _certificate(agent: AgentSeen) -> str:
    said = f"Its certificate for peers: {spell_certificate(agent)}."
    if agent.certificate is CertificateStanding.FRESH:
        return said
    return f"{said} It should have a younger one: is nodemend-signer well?"


def _next_step(facts: ProbeFacts, ways: tuple[Way, ...], prospect: Prospect | Unreadable) -> str:
    if open_remediation(facts.case) is not None:
        return f"kubectl mend tree {facts.case.name}"
    if isinstance(facts.case.all_checks, Unreadable):
        return "kubectl mend check"
    if not any(way.remedy for way in ways):
        return "write a NodeHealthCheck that selects it, if it should be watched"
    if isinstance(prospect, OnlyNewBoot | Nothing) and any(way.kind == _SELF for way in ways):
        return prospect.to_change[:1].lower() + prospect.to_change[1:].removesuffix(".")
    agent = _agent(facts)
    if agent is not None and agent.state is AgentState.SILENT:
        where = f"-n {AGENT_NAMESPACE} --field-selector spec.nodeName={facts.case.name}"
        return f"look at its agent: kubectl get pods {where}"
    if facts.absent and facts.check is not None:
        named = spell_list(sorted(f"{one.namespace}/{one.name}" for one in facts.absent))
        edit = f"kubectl edit nodehealthcheck {facts.check.metadata.name}"
        return f"create the template {named}, or name another: {edit}"
    if all(way.possible is not Possible.YES for way in ways if way.remedy):
        return "ask somebody who may see what you may not, or whose remedy it is"
    return "nothing"
