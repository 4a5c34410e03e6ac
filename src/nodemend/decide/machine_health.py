"""Whether a machine is healthy: by its own conditions, by its node, and by how long that takes to appear."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.findings import AskedFor, Finding, Match, NeverStarted, NodeGone, PhaseFailed, Subject
from nodemend.decide.machine_rules import MachineRules, Watched
from nodemend.decide.node_health import ConditionSeen, Healthy, NodeHealth, Suspect, Unhealthy, Unjudged


@dataclass(frozen=True, slots=True)
class NodeFound:
    conditions: tuple[ConditionSeen, ...]


@dataclass(frozen=True, slots=True)
class NodeAwaited:
    """The machine names no node yet, and could have for so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class NodeMissing:
    """It names one that the API server does not have."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeUnseen:
    """Nobody can tell: its cluster does not answer, or we cannot be sure that it is the right one."""

    why: str


NodeSeen = NodeFound | NodeAwaited | NodeMissing | NodeUnseen


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """A machine and its node. `asked_by` and `not_yet` are empty when they say nothing."""

    node: NodeSeen
    conditions: tuple[ConditionSeen, ...] = ()
    asked_by: str = ""
    """The annotation by which somebody asks for its remediation."""
    asked_externally_for: float | None = None
    """For how many seconds another annotation has asked so, as far as we saw; None when it does not."""
    not_yet: str = ""
    """Why its cluster is not ready to be judged."""
    failed: str | None = None
    """What its phase Failed says; None when it is in another."""
    deleting: bool = False


def judge_machine(rules: MachineRules, machine: MachineFacts) -> NodeHealth:
    """The gravest that anything says; what the machine says of itself before what its node says."""
    if machine.deleting:
        return Unjudged("it is being deleted")
    if machine.asked_by:
        return Unhealthy(AskedFor(machine.asked_by))
    if machine.not_yet:
        return Unjudged(machine.not_yet)
    if isinstance(machine.node, NodeUnseen):
        return Unjudged(machine.node.why)
    findings = list(_findings(rules, machine))
    over = [finding for finding in findings if finding.remaining == 0]
    if over:
        return Unhealthy(over[0], tuple(over[1:]))
    if findings:
        return Suspect(min(findings, key=lambda finding: finding.remaining))
    return _unblemished(machine.node)


def _findings(rules: MachineRules, machine: MachineFacts) -> Iterator[Finding]:
    if machine.failed is not None:
        yield PhaseFailed(machine.failed)
    yield from _met(rules.of_machine, machine.conditions, Subject.MACHINE)
    match machine.node:
        case NodeMissing(node):
            yield NodeGone(node)
        case NodeAwaited(seconds) if rules.startup is not None:
            yield NeverStarted(seconds, rules.startup)
        case NodeFound(conditions):
            yield from _met(rules.of_node, conditions, Subject.NODE)
        case NodeAwaited() | NodeUnseen():
            pass
        case _:
            assert_never(machine.node)


def _met(watched: Sequence[Watched], conditions: Iterable[ConditionSeen], of: Subject) -> Iterator[Match]:
    seen = {condition.type: condition for condition in conditions}
    for one in watched:
        shown = seen.get(one.type)
        if shown is not None and shown.status is one.status:
            yield Match(one.type, one.status, shown.seen_for, one.seconds, of, shown.reason)


def _unblemished(node: NodeSeen) -> NodeHealth:
    match node:
        case NodeFound(conditions):
            ready = next((one for one in conditions if one.type == "Ready"), None)
            return Healthy(ready.seen_for if ready and ready.status is ConditionStatus.TRUE else None)
        case NodeAwaited():
            return Unjudged("it has no node yet, and nobody asks for how long")
        case NodeMissing() | NodeUnseen():
            # Both are findings or verdicts of their own, above.
            raise ValueError(f"{node} is no unblemished machine's")
        case _:
            assert_never(node)
