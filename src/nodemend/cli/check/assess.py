"""Judges what `kubectl mend check` looked at. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from nodemend.api.custom_resources import CUSTOM_RESOURCES
from nodemend.api.group_versions import OUR_GROUP
from nodemend.api.remediation_policy import Mode, RemediationPolicy
from nodemend.cli.check.assess_checks import assess_checks
from nodemend.cli.check.assess_fencing import GROUP, assess_fencing, is_used
from nodemend.cli.check.assess_policies import assess_policies
from nodemend.cli.check.assess_remediations import assess_remediations
from nodemend.cli.check.facts import CallerFacts, CheckFacts, ClusterFacts
from nodemend.cli.check.fencing_view import FencingView, fencing_rows, sum_up
from nodemend.cli.check.view import CheckView, Finding, Group, check_view, fail, ok, unread, warn
from nodemend.cli.leaders import LeaderState, LeaderView
from nodemend.cli.words import spell_list
from nodemend.controllers.pauses import in_force
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

OLDEST_SERVER: Final = (1, 33)
_CREATE_POLICY: Final = (
    """echo '{"apiVersion":"nodemend.io/v1alpha1","kind":"RemediationPolicy","metadata":{"name":"cluster"},"""
    """"spec":{"mode":"Act"}}' | kubectl apply -f -"""
)
_INSTALL: Final = "install or upgrade Nodemend: helm upgrade --install nodemend ..."


def assess(facts: CheckFacts) -> CheckView:
    rows = fencing_rows(facts) if is_used(facts) else ()
    looked_at = is_used(facts) or isinstance(facts.agents, Unreadable)
    of_fencing = (Group(name=GROUP, findings=tuple(assess_fencing(facts, rows))),) if looked_at else ()
    return check_view(
        (
            Group(name="cluster", findings=(*_cluster(facts.cluster), *assess_policies(facts))),
            Group(name="rights", findings=tuple(_caller(facts.caller))),
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


def _served(served: Seen[frozenset[str]]) -> Finding:
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


def _caller(caller: CallerFacts) -> Iterator[Finding]:
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
            case LeaderState.SILENT | LeaderState.NOBODY | LeaderState.NEVER:
                yield fail(leader.sentence, logs)


def _policy(policy: Seen[RemediationPolicy], now: datetime) -> Iterator[Finding]:
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
            pause = in_force(found.spec.pause, now)
            if pause is None:
                yield ok("not paused")
            else:
                until = f" until {pause.until}" if pause.until else ""
                yield warn(
                    f"paused{until} by {pause.by or 'somebody'}: {pause.reason}", "kubectl mend resume"
                )
