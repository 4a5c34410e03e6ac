"""Whether a node could end itself and be released by time, as its agent tells now. Pure: decide/ judges."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from nodemend.api.agent_lease import AgentReport
from nodemend.api.group_versions import SELF_REMEDIATION_TEMPLATE
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.self_remediation import SelfRemediationSpec, SelfRemediationTemplate
from nodemend.cli.agents import AgentSeen
from nodemend.decide.facts import Present
from nodemend.decide.fencing_holds import NoTimeProof
from nodemend.decide.label_match import matches
from nodemend.decide.proven_seconds import enough
from nodemend.decide.time_proof import USUALLY, needed_for

_LOOK: Final = "Look at what its agent logs."


@dataclass(frozen=True, slots=True)
class NodeNamed:
    """The very Node, and the boot that it names; empty before its kubelet has said."""

    name: str
    uid: str
    boot_id: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a SelfRemediation of the node would be: the check that asks for it, and its spec."""

    check: str
    spec: SelfRemediationSpec


@dataclass(frozen=True, slots=True)
class ByTime:
    """So many seconds after its marker its boot is over (T_safe)."""

    seconds: int


@dataclass(frozen=True, slots=True)
class OnlyNewBoot:
    """Time proves nothing for it; a new boot that it reports does."""

    why: str
    to_change: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing would be asked of it, or nothing would come of it."""

    why: str
    to_change: str


Prospect = ByTime | OnlyNewBoot | Nothing


def wanted_of(
    node: NodeNamed, checks: Iterable[NodeHealthCheck], templates: Mapping[TemplateReference, object]
) -> Wanted | None:
    """By the first check by name that selects it, as its checker has it; None where that is no remedy of it.

    A template that is not there, or not to be seen, counts as one that accepts nothing.
    """
    for check in sorted(checks, key=lambda one: one.metadata.name):
        if not matches(check.spec.selector, dict(node.labels)):
            continue
        named = (remedy.template for remedy in check.spec.remedies)
        for template in named:
            if is_of_self_fencing(template):
                return Wanted(check.metadata.name, _spec(templates.get(template)))
        return None
    return None


def is_of_self_fencing(template: TemplateReference) -> bool:
    ours = SELF_REMEDIATION_TEMPLATE
    return template.kind == ours.kind and template.api_version.partition("/")[0] == ours.group


def _spec(found: object) -> SelfRemediationSpec:
    if isinstance(found, Present) and isinstance(found.value, SelfRemediationTemplate):
        return found.value.spec.template.spec
    return SelfRemediationSpec()


def judge_prospect(
    node: NodeNamed, agent: AgentSeen | None, spec: SelfRemediationSpec, speaking: AbstractSet[str]
) -> Prospect:
    """`speaking` are the nodes whose agents are heard of now."""
    if agent is None:
        return Nothing("no agent of ours has ever run there", "Install the agent there before it fails.")
    report = agent.report
    if report is None:
        return Nothing(f"what its agent has reported cannot be read: {agent.doubt}", _LOOK)
    if report.node_uid != node.uid:
        return Nothing("its agent's Lease is of another Node of that name", _LOOK)
    if node.boot_id not in ("", report.boot_id) and report.held_back:
        return OnlyNewBoot("its boot gate holds a new boot back", "That new boot is evidence enough (E2).")
    if node.boot_id not in ("", report.boot_id):
        return Nothing("its agent's Lease and its Node name different boots", _LOOK)
    if report.watchdog.effective <= 0:
        why = report.watchdog.why or "it reports none"
        return Nothing(f"no watchdog would reset it: {why}", "Let a remedy of another kind heal it.")
    needed = needed_for(report, spec)
    if isinstance(needed, NoTimeProof):
        return OnlyNewBoot(needed.why, needed.remedy)
    return _by_peers(report, speaking) or ByTime(needed)


def _by_peers(report: AgentReport, speaking: AbstractSet[str]) -> OnlyNewBoot | None:
    """None where enough of every list are in contact with the API server now."""
    if enough(speaking, report.peers, USUALLY.liars):
        return None
    return OnlyNewBoot(
        "too few of its peers have a living agent now", "It is possible again when their agents speak."
    )


def fewest_peers(names: Sequence[str]) -> int:
    """How many of a list must stay in contact for a proof; one more than there are where none would do."""
    return next(
        (number for number in range(len(names) + 1) if enough(set(names[:number]), (names,), USUALLY.liars)),
        len(names) + 1,
    )
