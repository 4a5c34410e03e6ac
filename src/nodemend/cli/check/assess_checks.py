"""Judges the health checks: whom they watch, and whether they could act."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.cli.check.facts import CheckFacts, Templates
from nodemend.cli.check.view import Finding, fail, ok, unread, warn
from nodemend.cli.words import spell_list, spell_names
from nodemend.controllers.checking.remedies import NotServed
from nodemend.controllers.pauses import in_force
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.label_match import matches
from nodemend.decide.limits import Reading, can_never_act, parse_gate
from nodemend.kube.node_record import NodeRecord

Watched = Mapping[str, Sequence[NodeRecord]]
"""The nodes that each check selects."""


def assess_checks(facts: CheckFacts) -> Iterator[Finding]:
    match facts.checks:
        case Unreadable(why):
            yield unread("the NodeHealthChecks", why)
        case Absent() | Present([]):
            yield warn("there is no NodeHealthCheck: no node is watched")
        case Present(checks):
            watched = _watched(checks, facts.nodes)
            yield from _coverage(checks, watched, facts.nodes)
            for check in checks:
                yield from _one(check, watched, facts.templates)
                yield from _paused(check, facts.now)


def _watched(checks: Sequence[NodeHealthCheck], nodes: Seen[list[NodeRecord]]) -> Watched:
    known = nodes.value if isinstance(nodes, Present) else []
    return {
        check.metadata.name: [node for node in known if matches(check.spec.selector, dict(node.labels))]
        for check in checks
    }


def _coverage(
    checks: Sequence[NodeHealthCheck], watched: Watched, nodes: Seen[list[NodeRecord]]
) -> Iterator[Finding]:
    if not isinstance(nodes, Present):
        yield unread("the nodes", nodes.why if isinstance(nodes, Unreadable) else "there are none")
        return
    owners: dict[str, list[str]] = defaultdict(list)
    for check, selected in sorted(watched.items()):
        for node in selected:
            owners[node.name].append(check)
    overlap = {name: names for name, names in sorted(owners.items()) if len(names) > 1}
    covered = f"{len(owners)} of {spell_count(len(nodes.value), 'node')}"
    said = f"{spell_count(len(checks), 'check covers', 'checks cover')} {covered}"
    yield ok(f"{said}, {'some overlap' if overlap else 'no overlap'}")
    if bare := sorted(node.name for node in nodes.value if node.name not in owners):
        yield warn(f"watched by no check: {spell_names(bare)}")
    yield from _overlap(overlap)


def _overlap(owners: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node, names in owners.items():
        shared[tuple(names)].append(node)
    for checks, nodes in shared.items():
        named = spell_list([f"nhc/{name}" for name in checks])
        yield warn(
            f"{named} select the same nodes: {spell_names(nodes)}",
            f"nhc/{checks[0]} has them, as the first by name; narrow the selectors to say what you mean",
        )


def _one(check: NodeHealthCheck, watched: Watched, templates: Templates) -> Iterator[Finding]:
    name, nodes = f"nhc/{check.metadata.name}", watched[check.metadata.name]
    reported = {condition.type for node in nodes for condition in node.conditions}
    if nodes:
        for type_ in sorted({threshold.type for threshold in check.spec.thresholds} - reported):
            yield warn(f"{name} watches {type_}, which no node of it reports")
    else:
        yield warn(f"{name} selects no node")
    if can_never_act(parse_gate(check.spec.max_unhealthy), len(nodes), Reading.SPARES_ONE):
        said = f"maxUnhealthy {check.spec.max_unhealthy} of {spell_count(len(nodes), 'node')}"
        yield fail(
            f"{name}: {said} allows no remediation at all", "raise maxUnhealthy: it closes at its limit"
        )
    if check.status.observed_generation != check.metadata.generation:
        yield warn(f"{name} was changed, and the checker has not acted on that yet")
    for template in check.spec.templates:
        yield from _template(name, template, templates)


def _paused(check: NodeHealthCheck, now: datetime) -> Iterator[Finding]:
    pause, name = in_force(check.spec.pause, now), check.metadata.name
    if pause is not None:
        until = f" until {pause.until}" if pause.until else ""
        said = f"nhc/{name} is paused{until} by {pause.by or 'somebody'}: {pause.reason}"
        yield warn(said, f"kubectl mend resume --check {name}")


def _template(name: str, reference: TemplateReference, templates: Templates) -> Iterator[Finding]:
    where = f"{reference.namespace}/{reference.name}"
    match templates.get(reference, Absent()):
        case NotServed(why):
            yield fail(f"{name}: its remedy {reference.kind} cannot be used: {why}")
        case Present():
            yield ok(f"{name}: its template {where} exists")
        case Absent():
            edit = f"kubectl edit nodehealthcheck {name.removeprefix('nhc/')}"
            yield fail(
                f"{name}: its template {where} does not exist, so nothing can be remediated",
                f"create it, or name another: {edit}",
            )
        case Unreadable(why):
            yield unread(f"{name}: its template {where}", why)
