"""Evaluate the facts that `kubectl mend check` reads. Pure.

Evaluate the health checks: the nodes that they select, and whether they could act.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from nodemend.api.crds import CUSTOM_RESOURCES
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.api.resources import OUR_GROUP
from nodemend.cli.check.assess_remediation import (
    GROUP,
    assess_fencing,
    assess_policies,
    assess_remediations,
    is_used,
)
from nodemend.cli.check.facts import CallerFacts, CheckCommandFacts, ClusterFacts, Templates
from nodemend.cli.check.view import (
    CheckView,
    FencingView,
    Finding,
    Group,
    check_view,
    fail,
    fencing_rows,
    ok,
    sum_up,
    unread,
    warn,
)
from nodemend.cli.cluster import LeaderState, LeaderView
from nodemend.cli.text import spell_list, spell_names
from nodemend.health.remediation_index import NotServed
from nodemend.records.live_reads import active_pause
from nodemend.records.node import NodeRecord
from nodemend.rules.request import matches
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.holds import spell_count
from nodemend.safety.limits import LimitSemantics, can_never_act, parse_comparison

WatchedNodes = Mapping[str, Sequence[NodeRecord]]
"""Nodes that each check selects, by the check's name."""


def assess_checks(facts: CheckCommandFacts) -> Iterator[Finding]:
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


def _watched(checks: Sequence[NodeHealthCheck], nodes: ReadResult[list[NodeRecord]]) -> WatchedNodes:
    known = nodes.value if isinstance(nodes, Present) else []
    return {
        check.metadata.name: [node for node in known if matches(check.spec.selector, dict(node.labels))]
        for check in checks
    }


def _coverage(
    checks: Sequence[NodeHealthCheck], watched: WatchedNodes, nodes: ReadResult[list[NodeRecord]]
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


def _one(check: NodeHealthCheck, watched: WatchedNodes, templates: Templates) -> Iterator[Finding]:
    name, nodes = f"nhc/{check.metadata.name}", watched[check.metadata.name]
    reported = {condition.type for node in nodes for condition in node.conditions}
    if nodes:
        for type_ in sorted({threshold.type for threshold in check.spec.thresholds} - reported):
            yield warn(f"{name} watches {type_}, which no node of it reports")
    else:
        yield warn(f"{name} selects no node")
    if can_never_act(parse_comparison(check.spec.max_unhealthy), len(nodes), LimitSemantics.ALLOW_ONE):
        said = f"maxUnhealthy {check.spec.max_unhealthy} of {spell_count(len(nodes), 'node')}"
        yield fail(
            f"{name}: {said} allows no remediation at all", "raise maxUnhealthy: it closes at its limit"
        )
    if check.status.observed_generation != check.metadata.generation:
        yield warn(f"{name} was changed, and the checker has not acted on that yet")
    for template in check.spec.templates:
        yield from _assess_template(name, template, templates)


def _paused(check: NodeHealthCheck, now: datetime) -> Iterator[Finding]:
    pause, name = active_pause(check.spec.pause, now), check.metadata.name
    if pause is not None:
        until = f" until {pause.until}" if pause.until else ""
        said = f"nhc/{name} is paused{until} by {pause.by or 'somebody'}: {pause.reason}"
        yield warn(said, f"kubectl mend resume --check {name}")


def _assess_template(name: str, reference: TemplateReference, templates: Templates) -> Iterator[Finding]:
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


OLDEST_SERVER: Final = (1, 33)
_CREATE_POLICY: Final = (
    """echo '{"apiVersion":"nodemend.io/v1alpha1","kind":"RemediationPolicy","metadata":{"name":"cluster"},"""
    """"spec":{"mode":"Act"}}' | kubectl apply -f -"""
)
_INSTALL: Final = "install or upgrade Nodemend: helm upgrade --install nodemend ..."


def assess(facts: CheckCommandFacts) -> CheckView:
    rows = fencing_rows(facts) if is_used(facts) else ()
    looked_at = is_used(facts) or isinstance(facts.agents, Unreadable)
    of_fencing = (Group(name=GROUP, findings=tuple(assess_fencing(facts, rows))),) if looked_at else ()
    return check_view(
        (
            Group(name="cluster", findings=(*_cluster(facts.cluster), *assess_policies(facts))),
            Group(name="rights", findings=tuple(_assess_caller(facts.caller))),
            Group(name="controllers", findings=tuple(_leaders(facts.leaders, facts.system_namespace))),
            Group(name="policy", findings=tuple(_policy(facts.policy, facts.now))),
            Group(name="checks", findings=tuple(assess_checks(facts))),
            Group(name="remediations", findings=tuple(assess_remediations(facts))),
            *of_fencing,
        ),
        FencingView(reasons=sum_up(rows), nodes=rows) if rows else None,
    )


def _cluster(facts: ClusterFacts) -> Iterator[Finding]:
    version = facts.server.git_version.removeprefix("v") or "of an unknown version"
    oldest = ".".join(str(number) for number in OLDEST_SERVER)
    said = f"server {version}; need {oldest} or newer"
    yield ok(said) if facts.server.numbers >= OLDEST_SERVER else fail(said)
    yield _served(facts.served)


def _served(served: ReadResult[frozenset[str]]) -> Finding:
    ours = {kind.resource.plural for kind in CUSTOM_RESOURCES if kind.resource.group == OUR_GROUP}
    group = f"{CUSTOM_RESOURCES[0].resource.group}/{CUSTOM_RESOURCES[0].resource.version}"
    match served:
        case Unreadable(why):
            return unread(f"the kinds of {group}", why)
        case Absent():
            return fail(f"no kind of {group} is served", _INSTALL)
        case Present(names) if missing := sorted(ours - names):
            return fail(f"{spell_list(missing)} of {group} are not served", _INSTALL)
        case Present():
            return ok(f"all {len(ours)} kinds of {group} are served")


def _assess_caller(caller: CallerFacts) -> Iterator[Finding]:
    may = [ability for ability, allowed in caller.abilities.items() if allowed]
    may_not = [ability for ability, allowed in caller.abilities.items() if not allowed]
    said = [f"you may {spell_list(may)}"] if may else []
    said += [f"you may not {spell_list(may_not, 'or')}"] if may_not else []
    text = f"{caller.name}: {'; '.join(said)}"
    if caller.abilities["view"]:
        yield ok(text)
    else:
        yield warn(text, "the ClusterRole nodemend-viewer allows what the commands need to see")


def _leaders(leaders: Iterable[LeaderView], namespace: str) -> Iterator[Finding]:
    for leader in leaders:
        logs = f"kubectl logs -n {namespace} deploy/nodemend-{leader.component}"
        match leader.state:
            case LeaderState.ALIVE if leader.clock_differs:
                yield warn(leader.sentence, "synchronize the clocks: what people read will be off")
            case LeaderState.ALIVE:
                yield ok(leader.sentence)
            case LeaderState.UNKNOWN:
                yield unread(f"whether the {leader.component} lives", leader.why)
            case LeaderState.SILENT | LeaderState.NO_HOLDER | LeaderState.NEVER:
                yield fail(leader.sentence, logs)


def _policy(policy: ReadResult[RemediationPolicy], now: datetime) -> Iterator[Finding]:
    act = """kubectl patch remediationpolicy cluster --type=merge -p '{"spec":{"mode":"Act"}}'"""
    match policy:
        case Unreadable(why):
            yield unread("the RemediationPolicy", why)
        case Absent():
            yield warn("there is no RemediationPolicy: nothing is remediated, only told", _CREATE_POLICY)
        case Present(found):
            if found.spec.mode is Mode.ACT:
                at_once = spell_count(found.spec.max_concurrent, "node")
                share = found.spec.max_concurrent_percent
                yield ok(f"mode Act: at most {at_once}, or {share} % of them, under remediation at once")
            else:
                yield warn("mode DryRun: nothing is remediated, only told", act)
            pause = active_pause(found.spec.pause, now)
            if pause is None:
                yield ok("not paused")
            else:
                until = f" until {pause.until}" if pause.until else ""
                yield warn(
                    f"paused{until} by {pause.by or 'somebody'}: {pause.reason}", "kubectl mend resume"
                )
