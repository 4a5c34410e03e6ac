"""One Machine as the checker would judge it, by the code that decides. Pure."""

from dataclasses import dataclass
from math import inf

from nodemend.cli.explain.machine_facts import MachineSight
from nodemend.cli.listed_objects import NOW_IN_VIEW
from nodemend.controllers.checking.entries import entry_of
from nodemend.controllers.checking.guarding import Guarding, Moment, stormy
from nodemend.controllers.checking.remedies import NotServed
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.machine_health_check import gather
from nodemend.controllers.machine_health_check.clusters import ClusterNodes
from nodemend.controllers.machine_health_check.fleet import key_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.rivals import find_rival
from nodemend.controllers.machine_health_check.wards import MachineSurroundings, ward_of
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.machine_health import judge_machine
from nodemend.decide.machine_marks import NO_TEMPLATE
from nodemend.decide.machine_request import Ask, Delete, Request, Way, decide_machine
from nodemend.decide.node_health import NodeHealth
from nodemend.decide.remediation_request import Create
from nodemend.decide.storm_guard import guard
from nodemend.kube.machine_record import MachineRecord


@dataclass(frozen=True, slots=True)
class JudgedMachine:
    """A Machine under a check. Every other is judged for it too, as the guard counts them all."""

    target: Target
    health: NodeHealth
    way: Way
    guarding: GuardFacts
    request: Request
    seen_here: bool
    """Whether the nodes of its cluster are in the cluster that was asked. Else the checker may know more."""


def judge(sight: MachineSight, machine: MachineRecord) -> JudgedMachine | None:
    """None when no check of ours watches it."""
    target = gather.find_target(sight.view, key_of(machine))
    if target is None:
        return None
    moment = Moment(NOW_IN_VIEW, sight.around.now)
    guarding = _survey(sight, moment)
    policy = value_of(guarding.policy(moment))
    ward = ward_of(sight.view, target, policy)
    facts = guarding.facts_of(ward, guarding.place_of(ward, moment), moment)
    health = _health(sight, target)
    way = gather.way_of(sight.view, target, policy, NOW_IN_VIEW)
    request = decide_machine(health, way, machine.marks, guard(facts))
    return JudgedMachine(
        target=target,
        health=health,
        way=way,
        guarding=facts,
        request=_second_thought(sight, target, request),
        seen_here=isinstance(sight.view.clusters.nodes_of(machine), ClusterNodes),
    )


def _survey(sight: MachineSight, moment: Moment) -> Guarding:
    """As the checker would count, if it had watched since the times that are written in the objects."""
    view = sight.view
    weather = Weather(stormy_before=stormy(view.policies), now=moment.now)
    guarding = Guarding(MachineSurroundings(view), weather, last_start=-inf)
    for key in view.fleet.machine_keys():
        target = gather.find_target(view, key)
        if target is None:
            continue
        at_work = target.machine.marks.asks_owner or gather.find_remediation(view, target) is not None
        ward = ward_of(view, target, value_of(guarding.policy(moment)))
        entry = entry_of(_health(sight, target), None, remediating=at_work)
        guarding.standings.enter(ward.name, guarding.place_of(ward, moment), entry)
    return guarding


def _health(sight: MachineSight, target: Target) -> NodeHealth:
    facts = gather.machine_facts(sight.view, target, sight.seen, NOW_IN_VIEW)
    return judge_machine(target.check.rules, facts)


def _second_thought(sight: MachineSight, target: Target, request: Request) -> Request:
    """What the checker finds when it looks a second time, before it begins."""
    if not isinstance(request, Ask | Create | Delete):
        return request
    rival = find_rival(sight.view, target, sight.view.remedies.all())
    if rival is not None:
        return Hold(OtherRemediation(str(rival)))
    return _without_template(sight, target) or request


def _without_template(sight: MachineSight, target: Target) -> Hold | None:
    """There is no such kind; or the checker has written that it could not read the template."""
    template, external = target.check.rules.template, target.machine.marks.external
    if template is None:
        return None
    kind = sight.view.remedies.kind_of(template)
    if isinstance(kind, NotServed) and kind.certain:
        return Hold(CannotRead(f"the template {template.kind}", kind.why))
    if external is not None and external.reason == NO_TEMPLATE:
        what = f"the template {target.check.namespace}/{template.name}"
        return Hold(CannotRead(what, "so the checker wrote when it last tried"))
    return None
