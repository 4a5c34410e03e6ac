"""On which evidence the node could be released, remedy by remedy. Pure."""

from collections.abc import Iterator
from typing import Final

from nodemend.api.group_versions import (
    MANUAL_REMEDIATION,
    MANUAL_REMEDIATION_TEMPLATE,
    METAL3_REMEDIATION,
    METAL3_REMEDIATION_TEMPLATE,
    SELF_REMEDIATION,
    Resource,
)
from nodemend.api.node_health_check import TemplateReference
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationSpec
from nodemend.cli.agents import AgentState, spell_watchdog
from nodemend.cli.node_case import open_remediation
from nodemend.cli.probe.facts import ProbeFacts
from nodemend.cli.probe.view import Possible, Way
from nodemend.cli.self_fencing import (
    ByTime,
    NodeNamed,
    Nothing,
    OnlyNewBoot,
    Prospect,
    fewest_peers,
    is_of_self_fencing,
    judge_prospect,
    wanted_of,
)
from nodemend.controllers.power_cycle.host_reading import host_facts
from nodemend.controllers.power_cycle.locate import Missing
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.host_explanations import explain_host
from nodemend.decide.host_holds import HostDoubtful
from nodemend.decide.host_power import doubt

_SELF: Final = SELF_REMEDIATION.kind


def prospect_of(facts: ProbeFacts) -> Prospect | Unreadable:
    """Of self-fencing, by the remediation under way, else by the template in use."""
    if isinstance(facts.agent, Unreadable):
        return facts.agent
    agent = facts.agent.value if isinstance(facts.agent, Present) else None
    return judge_prospect(_named(facts), agent, spec_of(facts), _speaking(facts))


def spec_of(facts: ProbeFacts) -> SelfRemediationSpec:
    under_way = open_remediation(facts.case)
    if isinstance(under_way, SelfRemediation):
        return under_way.spec
    wanted = wanted_of(_named(facts), facts.case.checks, facts.templates)
    return wanted.spec if wanted is not None else SelfRemediationSpec()


def ways_of(facts: ProbeFacts) -> tuple[Way, ...]:
    """In the order of the remedies; of self-fencing also where no check asks for it, if there is an agent."""
    check = facts.check
    remedies = check.spec.remedies if check is not None else ()
    found = [way for number, one in enumerate(remedies, 1) for way in _ways(facts, number, one.template)]
    asked = any(way.kind == _SELF for way in found)
    return tuple(found if asked or isinstance(facts.agent, Absent) else (*found, *_by_itself(facts, 0)))


def _ways(facts: ProbeFacts, number: int, template: TemplateReference) -> Iterator[Way]:
    if template in facts.absent:
        yield Way(
            remedy=number,
            kind=template.kind.removesuffix("Template"),
            evidence="-",
            possible=Possible.NO,
            because=f"its template {template.namespace}/{template.name} does not exist",
            to_change="create it, or name another remedy in the check",
        )
    elif is_of_self_fencing(template):
        yield from _by_itself(facts, number)
    elif _is(template, METAL3_REMEDIATION_TEMPLATE):
        yield _by_power(facts, number)
    elif _is(template, MANUAL_REMEDIATION_TEMPLATE):
        yield Way(
            remedy=number,
            kind=MANUAL_REMEDIATION.kind,
            evidence="E5",
            possible=Possible.YES,
            after="when somebody confirms",
            rests_on="the word of a person who saw that it is down",
        )
    else:
        yield Way(
            remedy=number,
            kind=template.kind.removesuffix("Template"),
            evidence="-",
            possible=Possible.UNKNOWN,
            because="it is not ours: what it proves is its own to say",
        )


def _is(template: TemplateReference, resource: Resource) -> bool:
    return (template.kind, template.api_version.partition("/")[0]) == (resource.kind, resource.group)


def _by_itself(facts: ProbeFacts, number: int) -> Iterator[Way]:
    prospect = prospect_of(facts)
    match prospect:
        case Unreadable(why):
            said = f"its agent's Lease cannot be read: {why}"
            for evidence in ("E2", "E4"):
                yield _of_self(number, evidence, Possible.UNKNOWN, because=said)
        case Nothing(why, to_change):
            for evidence in ("E2", "E4"):
                yield _of_self(number, evidence, Possible.NO, because=why, to_change=to_change)
        case OnlyNewBoot(why, to_change):
            yield _by_new_boot(facts, number)
            yield _of_self(number, "E4", Possible.NO, because=why, to_change=to_change)
        case ByTime(seconds):
            yield _by_new_boot(facts, number)
            yield Way(
                remedy=number,
                kind=_SELF,
                evidence="E4",
                possible=Possible.YES,
                after=f"{seconds} s after the marker",
                after_seconds=seconds,
                rests_on=_rests_on(facts),
            )


def _of_self(number: int, evidence: str, possible: Possible, *, because: str, to_change: str = "") -> Way:
    return Way(
        remedy=number,
        kind=_SELF,
        evidence=evidence,
        possible=possible,
        because=because,
        to_change=to_change,
    )


def _by_new_boot(facts: ProbeFacts, number: int) -> Way:
    report = facts.agent.value.report if isinstance(facts.agent, Present) else None
    gated = report is not None and report.boot_gate
    return Way(
        remedy=number,
        kind=_SELF,
        evidence="E2",
        possible=Possible.YES,
        after="as soon as it reports a new boot",
        rests_on="its boot gate, which reports before kubelet starts"
        if gated
        else "its kubelet or its agent",
    )


def _rests_on(facts: ProbeFacts) -> str:
    if not isinstance(facts.agent, Present) or facts.agent.value.report is None:
        return ""
    report = facts.agent.value.report
    watchdog = f"its {spell_watchdog(report.watchdog)} watchdog"
    peers = " and ".join(f"{fewest_peers(names)} of {len(names)} peers" for names in report.peers)
    return f"{watchdog}, and {peers}"


def _by_power(facts: ProbeFacts, number: int) -> Way:
    kind = METAL3_REMEDIATION.kind
    match facts.case.host:
        case Present(host):
            address = f"{host.metadata.namespace}/{host.metadata.name}"
            against = doubt(host_facts(host, ""))
            because = "" if against is None else explain_host(HostDoubtful(address, against)).sentence
            return Way(
                remedy=number,
                kind=kind,
                evidence="E1",
                possible=Possible.YES if against is None else Possible.NO,
                after="when its host was seen to go off" if against is None else "",
                rests_on=f"BareMetalHost {address} and its BMC",
                because=because.removesuffix("."),
            )
        case Missing(why):
            return Way(remedy=number, kind=kind, evidence="E1", possible=Possible.NO, because=why)
        case Absent():
            return Way(
                remedy=number, kind=kind, evidence="E1", possible=Possible.NO, because="its host is gone"
            )
        case Unreadable(why):
            said = f"its host cannot be read: {why}"
            return Way(remedy=number, kind=kind, evidence="E1", possible=Possible.UNKNOWN, because=said)


def _named(facts: ProbeFacts) -> NodeNamed:
    node = facts.node
    return NodeNamed(
        node.metadata.name, node.metadata.uid, node.status.node_info.boot_id, node.metadata.labels
    )


def _speaking(facts: ProbeFacts) -> frozenset[str]:
    return frozenset(
        name
        for name, found in facts.peers.items()
        if isinstance(found, Present) and found.value.state is AgentState.SPEAKS
    )
