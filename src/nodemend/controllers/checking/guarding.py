"""What the guard asks about a target, from counts that are kept as things change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final, Protocol

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus, find
from nodemend.api.remediation_policy import STORM, RemediationPolicy
from nodemend.controllers.checking.standings import Place, Standing, Standings
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.checking.weather import Region, Scope, Weather
from nodemend.controllers.fresh_reads import policy_facts
from nodemend.decide.admission_policies import Doubt
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen
from nodemend.decide.guard_facts import Blind, Census, ControlPlane, Domain, GuardFacts, Sight
from nodemend.decide.holds import Hold
from nodemend.decide.limits import Gate, Reading, closed
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.object_cache import ObjectCache

VIEW_GOOD_FOR: Final = 90.0
"""Seconds without a sign from the API server after which a view is stale: a bookmark comes each minute."""
CALM_NEEDED: Final = 20.0
"""Seconds without a failed read of the Nodes before what they show is acted upon."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Now, by our own clock and by the wall's: the latter only ends pauses."""

    now: float
    wall: datetime


class Surroundings(Protocol):
    """What a guard looks at around its targets."""

    @property
    def policies(self) -> ObjectCache[RemediationPolicy]: ...

    def sight(self, ward: Ward, now: float) -> Sight | Blind: ...

    def busy(self, ward: Ward, now: float) -> Busy:
        """Those under remediation in the ward's cluster."""
        ...

    def control_plane(self, ward: Ward, busy: Busy) -> ControlPlane | None:
        """The control plane around a ward that is part of one."""
        ...


class Labelled(Protocol):
    """Whoever has labels. They may cost something to read."""

    @property
    def labels(self) -> Mapping[str, str]: ...


class Guarding:
    """The counts and the memory of one leadership."""

    def __init__(
        self,
        around: Surroundings,
        weather: Weather,
        *,
        last_start: float,
        doubt: Callable[[], Doubt | None] = lambda: None,
    ) -> None:
        """`doubt` tells what speaks against the admission policies that everything rests on."""
        self._doubt = doubt
        self.standings = Standings()
        self.last_start = last_start
        self._around = around
        self._weather = weather
        self._known: tuple[RemediationPolicy | None, Seen[PolicyFacts]] = None, Absent()

    def policy(self, moment: Moment) -> Seen[PolicyFacts]:
        """Read once a version: every target asks."""
        found = self._around.policies.get(keys.POLICY_NAME)
        if found is not self._known[0] or (found is not None and found.spec.pause is not None):
            self._known = found, Absent() if found is None else Present(policy_facts(found, moment.wall))
        facts, doubt = self._known[1], self._doubt()
        return Present(replace(facts.value, doubt=doubt)) if doubt and isinstance(facts, Present) else facts

    def place_of(self, ward: Ward, moment: Moment) -> Place:
        return self.place(ward.check.name, ward, moment, ward.cluster)

    def place(self, check: str, who: Labelled, moment: Moment, cluster: str = "") -> Place:
        """Where a target is counted."""
        policy = self.policy(moment)
        domains = policy.value.domains if isinstance(policy, Present) else None
        return Place(check, who.labels.get(domains.key, "") if domains is not None else "", cluster)

    def look_around(self, ward: Ward, place: Place, moment: Moment) -> None:
        """Notice a storm, or its end, wherever this target is counted."""
        policy = self.policy(moment)
        if isinstance(policy, Present):
            for scope, raging in self._storms(ward, place, policy.value):
                self._weather.look(scope, raging=raging, now=moment.now)

    def facts_of(self, ward: Ward, place: Place, moment: Moment, busy: Busy | None = None) -> GuardFacts:
        """`busy` are those for whom something goes on by a fresh look; else our watches tell."""
        policy = self.policy(moment)
        settle_time = policy.value.settle_time if isinstance(policy, Present) else 0.0
        busy = self._around.busy(ward, moment.now) if busy is None else busy
        domain = place.domain and self._domain(ward, place, busy)
        return GuardFacts(
            policy=policy,
            sight=self._around.sight(ward, moment.now),
            check=ward.check,
            of_check=self.standings.census_of_check(place.check),
            of_cluster=self.standings.census_of_cluster(place.cluster),
            of_domain=domain or None,
            others=Present(len(busy.names - busy.released - busy.unserved - {ward.name})),
            released=len(busy.released - {ward.name}),
            control_plane=self._around.control_plane(ward, busy),
            settling=self._weather.settling(_scopes(place), settle_time, moment.now),
            since_last_start=moment.now - self.last_start,
            excluded_by=ward.excluded_by,
            maintained_by=ward.maintained_by,
        )

    def _domain(self, ward: Ward, place: Place, busy: Busy) -> Domain:
        """A census counts all that are under remediation; the guard, those that take a place."""
        census = self.standings.census_of_domain(place)

        def here(names: frozenset[str]) -> int:
            stood = (self.standings.stood(name) for name in names - {ward.name})
            return sum(
                one is not None
                and one[0].domain == place.domain
                and one[0].cluster == place.cluster
                and one[1].standing is Standing.REMEDIATING
                for one in stood
            )

        released = here(busy.released)
        at_work = census.remediating - released - here(busy.unserved)
        return Domain(place.domain, replace(census, remediating=at_work), released)

    def of_check(self, anybody: Ward, moment: Moment) -> Go | Hold:
        """Whether anything at all may begin under a check, for its status."""
        place = Place(anybody.check.name, cluster=anybody.cluster)
        return guard(replace(self.facts_of(anybody, place, moment), since_last_start=inf))

    def weather(self, moment: Moment) -> str:
        """Raging, Settling, or nothing."""
        policy = self.policy(moment)
        settle_time = policy.value.settle_time if isinstance(policy, Present) else 0.0
        return self._weather.told(settle_time, moment.now)

    def _storms(self, ward: Ward, place: Place, policy: PolicyFacts) -> Iterator[tuple[Scope, bool]]:
        of_cluster, of_check, of_domain = _scopes(place)
        yield of_cluster, _rages(policy.max_unhealthy, self.standings.census_of_cluster(place.cluster))
        if ward.check.gate is not None:
            yield of_check, _rages(ward.check.gate, self.standings.census_of_check(place.check))
        if policy.domains is not None and place.domain:
            here = self.standings.census_of_domain(place)
            rages = here.total >= policy.domains.min_nodes and _rages(policy.domains.max_unhealthy, here)
            yield of_domain, rages


def _scopes(place: Place) -> tuple[Scope, Scope, Scope]:
    return (
        Scope(Region.CLUSTER, place.cluster),
        Scope(Region.CHECK, place.check),
        Scope(Region.DOMAIN, place.domain, place.cluster),
    )


def _rages(gate: Gate, census: Census) -> bool:
    """A limit that the first sick node closes is no storm, and leaves nothing to settle."""
    return census.unhealthy > 1 and closed(gate, census.unhealthy, census.total, Reading.SPARES_ONE)


def stormy(policies: ObjectCache[RemediationPolicy]) -> bool:
    """Whether the last leadership wrote that a storm raged or settled."""
    policy = policies.get(keys.POLICY_NAME)
    storm = find(policy.status.conditions, STORM) if policy is not None else None
    return storm is not None and storm.status is ConditionStatus.TRUE
