"""The guard's questions about one node, for a person: every node is judged, by the code that decides."""

from collections.abc import Iterator
from math import inf

from nodemend.cli.explain.facts import ExplainFacts, conditions_by_writing
from nodemend.cli.listed_objects import NOW_IN_VIEW
from nodemend.controllers.checking.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.checking.guarding import Guarding, Moment, stormy
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.node_health import Healthy, judge


def guard_facts(facts: ExplainFacts, target: Target) -> GuardFacts:
    """As the checker would see it, if it had watched since the times that are written in the objects."""
    moment = Moment(NOW_IN_VIEW, facts.now)
    roll = ControlPlaneRoll()
    roll.note_etcd(facts.etcd_hosts.nodes, facts.view.nodes.get)
    weather = Weather(stormy_before=stormy(facts.view.policies), now=NOW_IN_VIEW)
    guarding = Guarding(NodeSurroundings(facts.view, roll), weather, last_start=-inf)
    for node in facts.view.nodes.all():
        roll.observe(node)
        other = gather.find_target(facts.view, node.name)
        if other is not None:
            place = guarding.place_of(ward_of(other, facts.now), moment)
            guarding.standings.enter(node.name, place, _entry(facts, other))
    for name, place in _vanished(facts):
        guarding.standings.enter(name, place, Entry(Standing.VANISHED))
    ward = ward_of(target, facts.now)
    return guarding.facts_of(ward, guarding.place_of(ward, moment), moment)


def _vanished(facts: ExplainFacts) -> Iterator[tuple[str, Place]]:
    """Who counts on though the Node is gone: only the checker saw it go, and wrote so."""
    for check in facts.view.checks.all():
        for report in check.status.reports:
            if report.verdict == Standing.VANISHED and facts.view.nodes.get(report.name) is None:
                yield report.name, Place(check.metadata.name)


def _entry(facts: ExplainFacts, target: Target) -> Entry:
    if gather.find_remediation(facts.view, target) is not None:
        return Entry(Standing.REMEDIATING)
    health = judge(target.check.spec.thresholds, conditions_by_writing(target.node, facts.now))
    return HEALTHY if isinstance(health, Healthy) else Entry(Standing.UNHEALTHY)
