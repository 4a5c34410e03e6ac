"""Evaluates the facts that `kubectl mend check` reads, and groups its findings. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

from nodemend.api import condition_types, well_known
from nodemend.api.crds import CUSTOM_RESOURCES
from nodemend.api.meta import ConditionStatus, Pause, find, parse_time
from nodemend.api.node_health_check import NodeHealthCheck, TemplateReference
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.api.resources import OUR_GROUP
from nodemend.api.upstream_types import Lease
from nodemend.cli.agents import AgentInfo, AgentReadiness, is_of_self_fencing, remove_marker_command
from nodemend.cli.check.facts import CheckCommandFacts, Templates
from nodemend.cli.check.view import (
    GROUP,
    CheckView,
    FencingRow,
    FencingView,
    Finding,
    Group,
    check_view,
    fail,
    fencing_rows,
    ok,
    spell_shares,
    sum_up,
    unread,
    warn,
)
from nodemend.cli.cluster import LeaderState, LeaderView
from nodemend.cli.listing import (
    AnyRemediation,
    contradiction_of,
    is_open,
    node_of,
    spell_contradiction,
    unserved,
)
from nodemend.cli.text import first_sentence, spell_list, spell_names, spell_seconds
from nodemend.guard.policies import ALWAYS, OF_SELF_FENCING, evaluate_policy
from nodemend.guard.shipped_policies import SHIPPED
from nodemend.health.remediation_index import NotServed
from nodemend.records.live_reads import active_pause, value_of
from nodemend.records.node import NodeRecord
from nodemend.remediation.writes import LOCK_PREFIX
from nodemend.rules.request import matches
from nodemend.safety.facts import Absent, Present, ReadResult, Taint, Unreadable
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
                if (pause := active_pause(check.spec.pause, facts.now)) is not None:
                    name = check.metadata.name
                    yield _paused(f"nhc/{name} is ", pause, f"kubectl mend resume --check {name}")


def _watched(checks: Sequence[NodeHealthCheck], nodes: ReadResult[list[NodeRecord]]) -> WatchedNodes:
    known = value_of(nodes) or []
    return {
        check.metadata.name: [node for node in known if matches(check.spec.selector, dict(node.labels))]
        for check in checks
    }


def _coverage(
    checks: Sequence[NodeHealthCheck], watched: WatchedNodes, nodes: ReadResult[list[NodeRecord]]
) -> Iterator[Finding]:
    if not isinstance(nodes, Present):
        yield _unlisted("the nodes", nodes)
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


def _unlisted(what: str, found: Absent | Unreadable) -> Finding:
    return unread(what, found.why if isinstance(found, Unreadable) else "the API server does not serve them")


def _overlap(owners: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node, names in owners.items():
        shared[tuple(names)].append(node)
    for checks, nodes in shared.items():
        named = spell_list([f"nhc/{name}" for name in checks])
        yield warn(
            f"{named} select the same nodes: {spell_names(nodes)}",
            f"nhc/{checks[0]} owns them, because its name comes first; narrow the selectors until each node "
            "has one check",
        )


def _one(check: NodeHealthCheck, watched: WatchedNodes, templates: Templates) -> Iterator[Finding]:
    name, nodes = f"nhc/{check.metadata.name}", watched[check.metadata.name]
    reported = {condition.type for node in nodes for condition in node.conditions}
    if nodes:
        for type_ in sorted({threshold.type for threshold in check.spec.thresholds} - reported):
            yield warn(f"{name} watches the condition {type_}, which none of its nodes reports")
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


def _paused(what: str, pause: Pause, resume: str) -> Finding:
    until = f" until {pause.until}" if pause.until else ""
    return warn(f"{what}paused{until} by {pause.by or 'an unknown user'}: {pause.reason}", resume)


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
            Group(name="cluster", findings=(*_cluster(facts), *assess_policies(facts))),
            Group(name="rights", findings=tuple(_assess_caller(facts))),
            Group(name="controllers", findings=tuple(_leaders(facts.leaders, facts.system_namespace))),
            Group(name="policy", findings=tuple(_policy(facts.policy, facts.now))),
            Group(name="checks", findings=tuple(assess_checks(facts))),
            Group(name="remediations", findings=tuple(assess_remediations(facts))),
            *of_fencing,
        ),
        FencingView(reasons=sum_up(rows), nodes=rows) if rows else None,
    )


def _cluster(facts: CheckCommandFacts) -> Iterator[Finding]:
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


def _assess_caller(facts: CheckCommandFacts) -> Iterator[Finding]:
    may = [ability for ability, allowed in facts.abilities.items() if allowed]
    may_not = [ability for ability, allowed in facts.abilities.items() if not allowed]
    said = [f"you may {spell_list(may)}"] if may else []
    said += [f"you may not {spell_list(may_not, 'or')}"] if may_not else []
    text = f"{facts.caller}: {'; '.join(said)}"
    if facts.abilities["view"]:
        yield ok(text)
    else:
        yield warn(text, "the ClusterRole nodemend-viewer allows what the commands need to see")


def _leaders(leaders: Iterable[LeaderView], namespace: str) -> Iterator[Finding]:
    for leader in leaders:
        logs = f"kubectl logs -n {namespace} deploy/nodemend-{leader.component}"
        match leader.state:
            case LeaderState.ALIVE if leader.clock_differs:
                yield warn(leader.sentence, "synchronize the clocks: displayed times and ages are wrong")
            case LeaderState.ALIVE:
                yield ok(leader.sentence)
            case LeaderState.UNKNOWN:
                yield unread(f"the leader of the {leader.component}", leader.why)
            case LeaderState.SILENT | LeaderState.NO_HOLDER | LeaderState.NEVER:
                yield fail(leader.sentence, logs)


def _policy(policy: ReadResult[RemediationPolicy], now: datetime) -> Iterator[Finding]:
    act = """kubectl patch remediationpolicy cluster --type=merge -p '{"spec":{"mode":"Act"}}'"""
    match policy:
        case Unreadable(why):
            yield unread("the RemediationPolicy", why)
        case Absent():
            yield warn("there is no RemediationPolicy: nothing is remediated, only reported", _CREATE_POLICY)
        case Present(found):
            if found.spec.mode is Mode.ACT:
                at_once = spell_count(found.spec.max_concurrent, "node")
                share = found.spec.max_concurrent_percent
                yield ok(
                    f"mode Act: at most {at_once} and at most {share}% of the watched nodes (at least 1) "
                    "under remediation at once"
                )
            else:
                yield warn("mode DryRun: nothing is remediated, only reported", act)
            pause = active_pause(found.spec.pause, now)
            yield ok("not paused") if pause is None else _paused("", pause, "kubectl mend resume")


OPEN_FOR_LONG: Final = 900.0
"""Seconds; equal to the threshold of the alert on remediations that are held for too long."""
_OTHER_WRITER: Final = (
    "{node} has the taint {taint}, which Nodemend did not set: another writer releases its workloads, and "
    "Nodemend neither adds its own taint nor removes this one"
)
_ASK_OWNER: Final = (
    "find out who set it (medik8s, Cluster API's metal3 provider, Rook, a user); let only one of them heal"
    " nodes"
)


def assess_remediations(facts: CheckCommandFacts) -> Iterator[Finding]:
    match facts.remediations:
        case Unreadable(why):
            yield unread("the remediations", why)
        case Absent():
            yield unread("the remediations", "their kind is not served")
        case Present(remediations):
            yield from _open(remediations, facts.now)
            yield from _taints(remediations, facts.nodes)
            yield from _locks(remediations, facts.locks)


def _open(remediations: Sequence[AnyRemediation], now: datetime) -> Iterator[Finding]:
    open_ = [found for found in remediations if is_open(found)]
    yield ok(f"{spell_count(len(open_), 'remediation is', 'remediations are')} open")
    for found in sorted(open_, key=lambda one: one.metadata.creation_timestamp):
        yield from _amiss(found, now)
        age = (now - parse_time(found.metadata.creation_timestamp)).total_seconds()
        if age > OPEN_FOR_LONG:
            waits = first_sentence(found.status.message) or f"It is {found.status.phase}."
            yield warn(
                f"{node_of(found)} has been under remediation for {spell_seconds(age)}. {waits}",
                f"kubectl mend explain {node_of(found)}",
            )


def _amiss(found: AnyRemediation, now: datetime) -> Iterator[Finding]:
    step = f"kubectl mend explain {node_of(found)}"
    if (twice := contradiction_of(found)) is not None:
        yield fail(f"{node_of(found)}: its workloads may run twice. {spell_contradiction(twice)}", step)
    if (unserved_reason := unserved(found, now)) is not None:
        yield fail(f"{node_of(found)}: {unserved_reason.explain()}", step)


def _taints(remediations: Sequence[AnyRemediation], nodes: ReadResult[list[NodeRecord]]) -> Iterator[Finding]:
    """Report Nodemend's taint without a remediation that would remove it.

    Such a taint keeps workloads away forever.
    """
    if not isinstance(nodes, Present):
        return
    cared_for = {found.status.node_uid for found in remediations if found.status.evidence is not None}
    tainted = [node for node in nodes.value if is_tainted(node)]
    left = sorted(node.name for node in tainted if node.uid not in cared_for)
    for name in left:
        yield fail(
            f"{name} has Nodemend's out-of-service taint, and no remediation that would remove it",
            "make sure that it is down or rebooted, then: "
            f"kubectl taint node {name} {well_known.OUT_OF_SERVICE}-",
        )
    if not left:
        yield ok("no out-of-service taint of Nodemend was left behind")
    for node in sorted(nodes.value, key=lambda one: one.name):
        for taint in node.taints:
            if taint.key == well_known.OUT_OF_SERVICE and taint.value != well_known.OUR_TAINT_VALUE:
                yield warn(
                    _OTHER_WRITER.format(node=node.name, taint=Taint(taint.key, taint.effect, taint.value)),
                    _ASK_OWNER,
                )


def _locks(remediations: Sequence[AnyRemediation], locks: ReadResult[list[Lease]]) -> Iterator[Finding]:
    if not isinstance(locks, Present):
        yield _unlisted("the locks on nodes", locks)
        return
    living = {found.metadata.uid for found in remediations}
    stale = sorted(
        lock.metadata.name
        for lock in locks.value
        if lock.metadata.name.startswith(LOCK_PREFIX) and lock.spec.holder_identity not in living
    )
    if stale:
        yield warn(
            f"{spell_count(len(stale), 'lock')} on nodes whose remediation is gone: {spell_names(stale)}",
            "the next remediation of such a node takes it over; nothing needs to be done",
        )
    else:
        yield ok("no lock on a node was left behind")


def is_tainted(node: NodeRecord) -> bool:
    return any(
        taint.key == well_known.OUT_OF_SERVICE and taint.value == well_known.OUR_TAINT_VALUE
        for taint in node.taints
    )


def is_used(facts: CheckCommandFacts) -> bool:
    """Return whether self-fencing is used: a check has a self-fencing remedy, or agents have Leases."""
    checks = value_of(facts.checks) or []
    asked = any(is_of_self_fencing(remedy.template) for one in checks for remedy in one.spec.remedies)
    agents = value_of(facts.agents)
    return asked or bool(agents)


def assess_fencing(facts: CheckCommandFacts, rows: Sequence[FencingRow]) -> Iterator[Finding]:
    if isinstance(facts.agents, Unreadable):
        yield unread(f"the agents' Leases in {well_known.AGENT_NAMESPACE}", facts.agents.why)
        return
    if not isinstance(facts.nodes, Present):
        return
    agents = value_of(facts.agents) or []
    yield from _agents(rows)
    yield from _missing(rows)
    yield from _silent(rows)
    yield from _held_back(rows)
    yield from _certificates(rows)
    yield from _proposals(agents)
    yield from _by_time(rows)
    yield from _markers(facts, agents)


def _agents(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    having = [row for row in rows if row.agent is not AgentReadiness.NONE]
    said = f"{len(having)} of {spell_count(len(rows), 'node has', 'nodes have')} an agent"
    versions = [f"version {row.version or 'unknown'}" for row in having]
    yield ok(f"{said}: {spell_shares(versions)}" if having else said)


def _missing(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    """Report nodes without an agent, only among nodes whose check relies on self-fencing."""
    wanted = [row for row in rows if row.check]
    bare = [row for row in wanted if row.agent is AgentReadiness.NONE]
    if not bare:
        return
    checks = spell_list(sorted({f"nhc/{row.check}" for row in bare}))
    said = f"{checks} uses self-fencing for nodes without an agent: {spell_names([row.node for row in bare])}"
    hint = "install the agent there before they fail; otherwise an operator must power them off"
    yield fail(said, hint) if len(bare) == len(wanted) else warn(said, hint)


def _silent(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    silent = [row for row in rows if row.agent is AgentReadiness.SILENT]
    if not silent:
        return
    said = [
        f"{row.node} ({spell_seconds(row.renewed_ago)})" if row.renewed_ago is not None else row.node
        for row in sorted(silent, key=lambda row: -(row.renewed_ago or 0.0))
    ]
    count = spell_count(len(silent), "agent has", "agents have")
    yield warn(f"{count} been silent for long: {spell_names(said)}", f"kubectl mend probe {silent[0].node}")


def _held_back(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    for row in rows:
        if row.held_back:
            yield fail(
                f"the boot gate of {row.node} keeps kubelet from starting: {row.held_back}",
                f"find out why; then, on {row.node}: rm /var/lib/nodemend/resets/*",
            )


def _certificates(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    """Report old certificates of agents that renew their Leases.

    The last report of a silent agent is outdated.
    """
    old = [row for row in rows if row.certificate_fresh is False and row.agent is AgentReadiness.REPORTING]
    if not old:
        return
    said = [
        f"{row.node} ({row.certificate})"
        for row in sorted(old, key=lambda row: row.certificate_left_seconds or 0.0)
    ]
    count = spell_count(len(old), "node has", "nodes have")
    yield warn(
        f"{count} no fresh certificate for peers: {spell_names(said)}",
        "does nodemend-signer run? kubectl get csr --field-selector spec.signerName=nodemend.io/agent",
    )


def _proposals(agents: Sequence[AgentInfo]) -> Iterator[Finding]:
    if len(agents) > 1 and not any(one.proposed for one in agents):
        yield warn(
            "no peers were proposed to any agent: nothing can be proven by time",
            "does the remediator run with --self-fencing on?",
        )


def _by_time(rows: Sequence[FencingRow]) -> Iterator[Finding]:
    affected = [row for row in rows if row.affected]
    able = [row for row in affected if row.by_time]
    if able:
        times = spell_shares(f"{row.safe_time_seconds} s" for row in able)
        count = spell_count(len(able), "node")
        yield ok(f"{count} could be released by time (E4), after T_safe: {times}")
    only_boot = sum(row.resets and not row.by_time for row in affected)
    if only_boot:
        count = spell_count(only_boot, "node")
        yield warn(f"{count} could be released only by a new boot (E2), not by time")
    never = sum(not row.resets for row in affected)
    if never:
        yield warn(f"{spell_count(never, 'node')} would not reset at all, as far as is known")


def _markers(facts: CheckCommandFacts, agents: Sequence[AgentInfo]) -> Iterator[Finding]:
    """Report markers without a remediation. Such a marker blocks the node's next boot forever."""
    if not isinstance(facts.remediations, Present):
        return
    living = {one.metadata.uid for one in facts.remediations.value}
    marked = [one for one in agents if one.marked]
    left = [one for one in marked if one.marker is None or one.marker.remediation_uid not in living]
    nodes = value_of(facts.nodes) or []
    tainted = {node.name for node in nodes if is_tainted(node)}
    for one in left:
        by_hand = remove_marker_command(one.node, facts.system_namespace)
        usual = "a remediator with --self-fencing on removes it after a while; or by hand"
        yield fail(
            f"{one.node} has a marker, and no remediation that would remove it: its kubelet will not start",
            f"{'handle its out-of-service taint first; then' if one.node in tainted else usual}: {by_hand}",
        )
    if not left:
        yield ok("no marker was left behind")


T = TypeVar("T")


_INSTALL_POLICIES: Final = (
    "install or upgrade Nodemend, in the version of this command: helm upgrade --install nodemend ..."
)


def assess_policies(facts: CheckCommandFacts) -> Iterator[Finding]:
    """Report each policy that is missing, not bound or not as shipped.

    Such a policy refuses nothing, or the wrong requests.
    """
    policies, bindings = facts.policies, facts.bindings
    for what, found in (("they", policies), ("their bindings", bindings)):
        if not isinstance(found, Present):
            why = found.why if isinstance(found, Unreadable) else "the API server does not know their kind"
            yield fail(
                f"it is unknown whether the admission policies are in force: {what} were not read: {why}"
            )
            return
    names = _expected(facts)
    results = (
        evaluate_policy(one, _named(policies, one), _named(bindings, one), SHIPPED[one]) for one in names
    )
    problems = [problem for problem in results if problem is not None]
    for problem in problems:
        yield fail(f"the admission policy {problem.policy} is not in force: {problem.why}", _INSTALL_POLICIES)
    if not problems:
        yield ok(f"all {len(names)} admission policies are as shipped, and bound")
    yield from _by_the_checker(facts.policy)


def _expected(facts: CheckCommandFacts) -> Sequence[str]:
    """Return the required policies, plus every other policy of Nodemend that is installed."""
    there = facts.policies.value.keys() if isinstance(facts.policies, Present) else set()
    fencing = OF_SELF_FENCING if is_used(facts) else ()
    return sorted({*ALWAYS, *fencing, *(there & SHIPPED.keys())})


def _named(found: ReadResult[Mapping[str, T]], name: str) -> ReadResult[T]:
    if not isinstance(found, Present):
        return found
    return Present(found.value[name]) if name in found.value else Absent()


def _by_the_checker(policy: ReadResult[RemediationPolicy]) -> Iterator[Finding]:
    """Report the checker's own test of the policies.

    It also detects an API server that has the policies but does not evaluate them.
    """
    known = value_of(policy)
    conditions = known.status.conditions if known is not None else ()
    doubted = find(conditions, condition_types.ADMISSION_POLICY_UNPROVEN)
    if doubted is not None and doubted.status is not ConditionStatus.FALSE:
        yield fail(f"the checker holds everything: {doubted.message}")
