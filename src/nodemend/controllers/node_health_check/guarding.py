"""What the guard asks about a target, from counts that are kept as things change."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus, find
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import STORM, RemediationPolicy
from nodemend.controllers.node_health_check.control_plane_roll import ControlPlaneRoll
from nodemend.controllers.node_health_check.gather import Target, View, policy_in_view, under_remediation
from nodemend.controllers.node_health_check.standings import Place, Standings
from nodemend.controllers.node_health_check.weather import CLUSTER, Region, Scope, Weather
from nodemend.controllers.pauses import in_force
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen
from nodemend.decide.guard_facts import Census, CheckFacts, Domain, GuardFacts, Sight
from nodemend.decide.holds import Hold
from nodemend.decide.limits import Gate, Reading, closed, parse_gate
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.node_record import NOBODY, NodeRecord

VIEW_GOOD_FOR: Final = 90.0
CALM_NEEDED: Final = 20.0
"""Seconds without a failed read of the Nodes before what they show is acted upon."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, by our own clock and by the wall's: the latter only ends pauses."""

    now: float
    wall: datetime


class Guarding:
    """The counts and the memory of one leadership."""

    def __init__(self, view: View, roll: ControlPlaneRoll, weather: Weather, *, last_start: float) -> None:
        self.standings = Standings()
        self.last_start = last_start
        self._view = view
        self._roll = roll
        self._weather = weather
        self._known: tuple[RemediationPolicy | None, Seen[PolicyFacts]] = None, Absent()

    def policy(self, moment: Moment) -> Seen[PolicyFacts]:
        """Read once a version: every target asks."""
        found = self._view.policies.get(keys.POLICY_NAME)
        if found is not self._known[0] or (found is not None and found.spec.pause is not None):
            self._known = found, policy_in_view(self._view, moment.wall)
        return self._known[1]

    def place_of(self, target: Target, moment: Moment) -> Place:
        policy = self.policy(moment)
        domains = policy.value.domains if isinstance(policy, Present) else None
        domain = target.node.labels.get(domains.key, "") if domains is not None else ""
        return Place(target.check.metadata.name, domain)

    def look_around(self, target: Target, place: Place, moment: Moment) -> None:
        """Notice a storm, or its end, wherever this target is counted."""
        policy = self.policy(moment)
        if isinstance(policy, Present):
            for scope, raging in self._storms(target, place, policy.value):
                self._weather.look(scope, raging=raging, now=moment.now)

    def facts_of(self, target: Target, place: Place, moment: Moment) -> GuardFacts:
        policy = self.policy(moment)
        settle_time = policy.value.settle_time if isinstance(policy, Present) else 0.0
        busy = under_remediation(self._view.remedies.all())
        name = target.node.name
        scopes = (CLUSTER, Scope(Region.CHECK, place.check), Scope(Region.DOMAIN, place.domain))
        return GuardFacts(
            policy=policy,
            sight=self._sight(moment.now),
            check=check_facts(target, moment.wall),
            of_check=self.standings.census_of_check(place.check),
            of_cluster=self.standings.census(),
            of_domain=Domain(place.domain, self.standings.census_of_domain(place.domain))
            if place.domain
            else None,
            others=Present(len(busy - {name})),
            control_plane=self._roll.around(name, busy),
            settling=self._weather.settling(scopes, settle_time, moment.now),
            since_last_start=moment.now - self.last_start,
            excluded_by=excluded_by(target.node),
            maintained_by=maintained_by(target),
        )

    def of_check(self, check: NodeHealthCheck, moment: Moment) -> Go | Hold:
        """Whether anything at all may begin under this check, for its status."""
        anyone = Target(NOBODY, check, ())
        return guard(replace(self.facts_of(anyone, Place(check.metadata.name), moment), since_last_start=inf))

    def weather(self, moment: Moment) -> str:
        """Raging, Settling, or nothing."""
        policy = self.policy(moment)
        settle_time = policy.value.settle_time if isinstance(policy, Present) else 0.0
        return self._weather.told(settle_time, moment.now)

    def _storms(self, target: Target, place: Place, policy: PolicyFacts) -> Iterator[tuple[Scope, bool]]:
        yield CLUSTER, _rages(policy.max_unhealthy, self.standings.census())
        of_check = self.standings.census_of_check(place.check)
        gate = parse_gate(target.check.spec.max_unhealthy)
        yield Scope(Region.CHECK, place.check), _rages(gate, of_check)
        if policy.domains is not None and place.domain:
            here = self.standings.census_of_domain(place.domain)
            rages = here.total >= policy.domains.min_nodes and _rages(policy.domains.max_unhealthy, here)
            yield Scope(Region.DOMAIN, place.domain), rages

    def _sight(self, now: float) -> Sight:
        troubled = self._view.nodes.troubled_at
        calm_for = inf if troubled is None else now - troubled
        return Sight(self._view.age(now), VIEW_GOOD_FOR, calm_for, CALM_NEEDED)


def _rages(gate: Gate, census: Census) -> bool:
    """A limit that the first sick node closes is no storm, and leaves nothing to settle."""
    return census.unhealthy > 1 and closed(gate, census.unhealthy, census.total, Reading.SPARES_ONE)


def stormy(view: View) -> bool:
    """Whether the last leadership wrote that a storm raged or settled."""
    policy = view.policies.get(keys.POLICY_NAME)
    storm = find(policy.status.conditions, STORM) if policy is not None else None
    return storm is not None and storm.status is ConditionStatus.TRUE


def check_facts(target: Target, wall: datetime) -> CheckFacts:
    spec = target.check.spec
    return CheckFacts(
        name=target.check.metadata.name,
        gate=parse_gate(spec.max_unhealthy),
        reading=Reading.SPARES_ONE,
        dry_run=spec.dry_run,
        pause=in_force(spec.pause, wall),
    )


def excluded_by(node: NodeRecord) -> str:
    """The label or annotation that asks to leave a node alone, or nothing."""
    labels = node.labels
    said = labels.get(keys.EXCLUDE, node.annotation(keys.EXCLUDE))
    if said is not None and said != "false":
        return keys.EXCLUDE
    return keys.MEDIK8S_EXCLUDE if labels.get(keys.MEDIK8S_EXCLUDE) == "true" else ""


def maintained_by(target: Target) -> str:
    """The condition by which the node says that somebody works on it, or nothing."""
    for awaited in target.check.spec.maintenance:
        shown = target.node.condition(awaited.type)
        if shown is not None and shown.status == awaited.status:
            return f"{awaited.type}={ConditionStatus(awaited.status)}"
    return ""
