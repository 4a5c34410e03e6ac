"""What the checker makes of the simulated cluster, by the functions that it runs in a real one."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from nodemend.cli.simulate.world import World
from nodemend.controllers.checking.guarding import Guarding, Moment, stormy
from nodemend.controllers.checking.standings import HEALTHY, REMEDIATING, Entry, Place, Standing
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Found, Target
from nodemend.controllers.node_health_check.rungs import Rungs
from nodemend.controllers.node_health_check.surroundings import NodeSurroundings
from nodemend.controllers.node_health_check.wards import anybody_under, ward_of
from nodemend.decide.facts import Present
from nodemend.decide.guard_facts import Census
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.remediation_request import Create, Open, Request, Wishes, decide
from nodemend.decide.storm_guard import Go, guard

SICK: Final = Entry(Standing.UNHEALTHY)
"""For everybody who is neither healthy nor under remediation: they count alike, and nobody reads more."""


@dataclass(frozen=True, slots=True)
class Case:
    """A target at one moment."""

    target: Target
    health: NodeHealth
    found: Found | None
    existing: Open | None
    ward: Ward
    place: Place

    @property
    def ours(self) -> Found | None:
        return self.found if self.existing is not None and self.existing.ours else None


class SimulatedChecker:
    """One leadership that begins when the snapshot is taken, and has watched since long before."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._around = NodeSurroundings(world.view, world.seen.roll)
        weather = Weather(stormy_before=stormy(world.view.policies), now=0.0)
        self._guarding = Guarding(self._around, weather, last_start=-inf)
        self._rungs = Rungs(world.view)
        self._wards: dict[str, tuple[Ward, Place]] = {}
        self._known_wishes: dict[str, Wishes] = {}

    def count_everybody(self, moment: Moment) -> Iterator[str]:
        """Before anybody is judged. Yields those that are not simply healthy."""
        for node in list(self._world.view.nodes.all()):
            case = self.case_of(node.name, moment)
            if case is None:
                continue
            entry = self._enter(case, remediating=case.found is not None)
            if entry is not HEALTHY:
                self._world.remember(node)
                yield node.name

    def case_of(self, name: str, moment: Moment) -> Case | None:
        """None for a node that no check watches."""
        view, seen = self._world.view, self._world.seen
        target = self._world.target(name)
        if target is None:
            return None
        found = gather.find_remediation(view, target) if self._world.remediations.has(name) else None
        existing = None
        if found is not None:
            since = seen.remediations.get(found.record.uid, moment.now)
            existing = gather.as_open(found, target, view, moment.now - since)
        health = gather.judge_target(target, seen.ages, moment.now)
        ward, place = self._ward(target, moment)
        return Case(target, health, found, existing, ward, place)

    def _ward(self, target: Target, moment: Moment) -> tuple[Ward, Place]:
        """The same as long as labels are, but for pauses that end and conditions that say maintenance."""
        name, spec = target.node.name, target.check.spec
        known = self._wards.get(name)
        if known is None or spec.pause is not None or spec.maintenance:
            ward = ward_of(target, moment.wall)
            known = self._wards[name] = ward, self._guarding.place_of(ward, moment)
        return known

    def _wishes(self, target: Target) -> Wishes:
        check = target.check.metadata.name
        if check not in self._known_wishes:
            self._known_wishes[check] = gather.wishes_of(target)
        return self._known_wishes[check]

    def wish(self, case: Case) -> Request:
        """What the target needs, if the guard were open."""
        return decide(case.health, case.existing, Go(), self._wishes(case.target))

    def ask(self, case: Case, moment: Moment) -> Request:
        """The same, with the guard asked."""
        guarded = guard(self._guarding.facts_of(case.ward, case.place, moment))
        return decide(case.health, case.existing, guarded, self._wishes(case.target))

    def ask_for_all(self, moment: Moment) -> dict[str, HoldReason | None]:
        """By check, why nobody at all may begin; None where it depends on the target."""
        answers: dict[str, HoldReason | None] = {}
        for check in self._world.view.checks.all():
            anybody, place = anybody_under(check, moment.wall), Place(check.metadata.name)
            guarded = guard(self._guarding.facts_of(anybody, place, moment))
            answers[place.check] = guarded.reason if isinstance(guarded, Hold) else None
        return answers

    def note(self, case: Case, request: Request) -> None:
        """Write down where the target stands, before the guard is asked."""
        self._enter(case, remediating=case.ours is not None)
        self._rungs.note(case.target, case.health, case.ours, request)

    def begin(self, case: Case, moment: Moment) -> None:
        """Its remediation begins now."""
        self._guarding.last_start = moment.now
        self._enter(case, remediating=True)
        self._rungs.note(case.target, case.health, case.ours, Create())

    def _enter(self, case: Case, *, remediating: bool) -> Entry:
        healthy = isinstance(case.health, Healthy)
        entry = REMEDIATING if remediating else HEALTHY if healthy else SICK
        self._guarding.standings.enter(case.target.node.name, case.place, entry)
        return entry

    def next_remedy(self, target: Target) -> int:
        return self._rungs.next_of(target)

    def look_around(self, case: Case, moment: Moment) -> None:
        self._guarding.look_around(case.ward, case.place, moment)

    def weather(self, moment: Moment) -> str:
        """Raging, Settling, or nothing."""
        return self._guarding.weather(moment)

    def settle_time(self, moment: Moment) -> float:
        policy = self._guarding.policy(moment)
        return policy.value.settle_time if isinstance(policy, Present) else 0.0

    def is_control_plane(self, name: str) -> bool:
        return self._world.seen.roll.around(name, frozenset()) is not None

    @property
    def at_work(self) -> int:
        """How many are under remediation."""
        return len(gather.under_remediation(self._world.view.remedies.all()))

    @property
    def census(self) -> Census:
        return self._guarding.standings.census()
