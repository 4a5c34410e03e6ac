"""The storm guard at the switch: one leadership's counts of Nodes, its storms, and when it last began.

The counts are kept as Nodes change, so that a question costs as much as there are remediations open, and not
as much as there are Nodes.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.controllers.checking.guarding import Guarding, Moment, Surroundings, stormy
from nodemend.controllers.checking.node_checks import check_facts, maintained_by, meets_threshold, selecting
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.checking.vanished import Vanished
from nodemend.controllers.checking.ward import Busy, Ward
from nodemend.controllers.checking.weather import Weather
from nodemend.controllers.fresh_reads import node_facts, project
from nodemend.controllers.node_exclusion import excluded_by
from nodemend.controllers.remediating.at_work import AtWork, Others
from nodemend.decide.facts import Absent, LeaseFacts, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.guard_facts import Census, CheckFacts, ControlPlane, GuardFacts
from nodemend.decide.guard_holds import Pacing
from nodemend.decide.holds import Hold
from nodemend.decide.switch_guard import Grounds, SwitchFacts, Target, may_begin
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.object_cache import Change, ObjectCache
from nodemend.kube.ports import Runtime

COUNTED_AT_A_TIME: Final = 500
COUNTS_ON_AFTER: Final = 120.0
"""Seconds for which a Node must have been seen not Ready to count on after its deletion: when a cluster
shrinks, Nodes go sooner than that."""
_UNWELL: Final = Entry(Standing.UNHEALTHY)
_NO_CHECK: Final = CheckFacts("")


Members = Callable[[Node, Seen[Others]], Coroutine[Any, Any, Seen[ControlPlane]]]
"""As in controllers/remediating/surroundings."""
_NOT_ASKED: Final = Unreadable("not asked")


class View(Surroundings, Protocol):
    """What is known of the cluster at large: the caches of the remediator, or the lists of a command."""

    @property
    def nodes(self) -> ObjectCache[NodeRecord]: ...
    @property
    def checks(self) -> ObjectCache[NodeHealthCheck]: ...
    @property
    def synced(self) -> bool: ...

    def not_ready_for(self, uid: str) -> float:
        """Seconds for which a node has been seen not Ready; 0 where it was not."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was read afresh about one remediation that may go to the switch."""

    uid: str
    """Of the remediation."""
    name: str
    """Of the node, there or gone."""
    node: Node | None
    lease: Seen[LeaseFacts]
    policy: Seen[PolicyFacts]
    grounds: Grounds
    begun: bool = False
    """It has said that it begins: others count it."""
    asks: Callable[[Seen[SwitchFacts]], Hold | None] = may_begin
    """What is asked before it begins."""
    members: Members | None = None
    """Reads the control plane around the node; None where nobody need ask."""


class _Scope:
    """Some of the Nodes, as the guard counts them."""

    def __init__(self, view: View, now: float) -> None:
        weather = Weather(stormy_before=stormy(view.policies), now=now)
        self.guarding = Guarding(view, weather, last_start=now)
        self.vanished = Vanished(self.guarding.standings)

    def enter(self, ward: Ward, entry: Entry, moment: Moment) -> None:
        self.vanished.forget(ward.name)
        self.guarding.standings.enter(ward.name, self.guarding.place_of(ward, moment), entry)

    def leave(self, name: str, now: float, *, counts_on: bool) -> None:
        if not counts_on or self.vanished.count_on(name, now) is None:
            self.vanished.forget(name)
            self.guarding.standings.strike(name)

    def look_around(self, ward: Ward, moment: Moment) -> None:
        self.guarding.look_around(ward, self.guarding.place_of(ward, moment), moment)

    def expire(self, now: float) -> None:
        for name in self.vanished.names:
            self.leave(name, now, counts_on=True)


class SwitchGuard:
    """Counts a node under a NodeHealthCheck among all that are, as the checker does; another among all."""

    def __init__(self, view: View, runtime: Runtime, at_work: AtWork, *, last_start: float) -> None:
        """`last_start` is when a remediation may last have begun."""
        self.at_work = at_work
        self._view = view
        self._runtime = runtime
        self._last_start = last_start
        self._checked = _Scope(view, runtime.monotonic())
        self._all = _Scope(view, runtime.monotonic())
        self._counted_by: object = None
        """None before the first count, and while one goes on."""
        self._listening = False
        self._counting = Turn(runtime)
        self._claims: dict[str, tuple[float, float]] = {}

    async def ask(self, asked: Question) -> Present[SwitchFacts]:
        """Counts a remediation among those about to begin only if nothing else holds it."""
        await self._count_everybody()
        alone = Present(self._facts(asked, Present(Others()), Absent()))
        if not asked.begun and asked.asks(alone) is not None:
            return alone
        others = await self.at_work.others(asked.uid, asked.name, may_begin=not asked.begun)
        around: Seen[ControlPlane] = Absent()
        if asked.members is not None and asked.node is not None:
            # Who has begun is in the others' sight. If each took the other for lost, both would wait.
            around = await asked.members(asked.node, _NOT_ASKED if asked.begun else others)
        return Present(self._facts(asked, others, around))

    def _facts(self, asked: Question, others: Seen[Others], control_plane: Seen[ControlPlane]) -> SwitchFacts:
        moment = self._moment()
        node = asked.node
        labels = node.metadata.labels if node is not None else {}
        check = next(iter(selecting(self._view.checks.all(), labels)), None) if node is not None else None
        scope = self._all if check is None else self._checked
        scope.expire(moment.now)
        ward = _ward_of(node, check, moment)
        guarded = replace(self._guard_facts(scope.guarding, ward, moment, others), policy=asked.policy)
        return SwitchFacts(guarded, control_plane, self._target(node, asked.lease), asked.grounds)

    def claim(self, uid: str, facts: Seen[SwitchFacts]) -> Hold | None:
        """Right before the write by which a remediation begins. Two passes may both have found it time.

        From here on the interval counts, also where the outcome of the write is never known.
        """
        now = self._runtime.monotonic()
        if isinstance(facts, Present) and isinstance(policy := facts.value.guard.policy, Present):
            missing = policy.value.min_interval - (now - self._last_start)
            if missing > 0 and not facts.value.grounds.past_guard:
                return Hold(Pacing(missing))
        self._claims[uid] = self._last_start, now
        self._last_start = now
        return None

    def answered(self, uid: str, *, refused: bool) -> None:
        """The write is over. A refused one began nothing."""
        before, claimed = self._claims.pop(uid, (0.0, None))
        if refused and claimed == self._last_start:
            self._last_start = before

    def node_changed(self, change: Change[NodeRecord]) -> None:
        if not self._listening:
            return
        moment = self._moment()
        if change.new is not None:
            # While not all are counted, the first few would look like a storm.
            self._enter(change.new, moment, look=self._counted_by is not None)
        elif change.old is not None:
            lasting = self._view.not_ready_for(change.old.uid) >= COUNTS_ON_AFTER
            for scope in (self._all, self._checked):
                scope.leave(change.key, moment.now, counts_on=lasting)

    async def _count_everybody(self) -> None:
        """Before anything is asked by new rules: a storm is a share of all, not of the first few."""
        if not self._view.synced or _rules_in_force(self._view) == self._counted_by:
            return
        async with self._counting.taken():
            rules = _rules_in_force(self._view)
            if rules == self._counted_by:
                return
            self._counted_by, self._listening = None, True
            names = list(self._view.nodes.keys())
            for first in range(0, len(names), COUNTED_AT_A_TIME):
                moment = self._moment()
                for name in names[first : first + COUNTED_AT_A_TIME]:
                    if (record := self._view.nodes.get(name)) is not None:
                        self._enter(record, moment, look=False)
                await self._runtime.sleep(0)
            self._counted_by = rules

    def _enter(self, node: NodeRecord, moment: Moment, *, look: bool) -> None:
        check = next(iter(selecting(self._view.checks.all(), node.labels)), None)
        ward = Ward(node.name, node.labels, check_facts(check, moment.wall) if check else _NO_CHECK)
        well = is_ready(node) and not (check and meets_threshold(check, node.conditions))
        entry = HEALTHY if well else _UNWELL
        self._all.enter(ward, entry, moment)
        if check is not None:
            self._checked.enter(ward, entry, moment)
        else:
            self._checked.leave(node.name, moment.now, counts_on=False)
        if look:
            self._all.look_around(ward, moment)
            if check is not None:
                self._checked.look_around(ward, moment)

    def _guard_facts(self, guarding: Guarding, ward: Ward, moment: Moment, seen: Seen[Others]) -> GuardFacts:
        """Counts and storms by our own view, and what is open as it was just read."""
        place = guarding.place_of(ward, moment)
        guarding.look_around(ward, place, moment)
        others = seen.value if isinstance(seen, Present) else Others()
        facts = guarding.facts_of(ward, place, moment, Busy())
        away = [place_of for name in others.away | {ward.name} if (place_of := _looks_well(guarding, name))]
        busy = [there for name in others.nodes if (there := guarding.standings.place_of(name))]
        released = others.released - {ward.name}
        gone = [there for name in released if (there := guarding.standings.place_of(name))]
        domain = facts.of_domain
        if domain is not None:
            here = sum(one.domain == place.domain for one in away)
            at_work = sum(one.domain == place.domain for one in busy)
            elsewhere = sum(one.domain == place.domain for one in gone)
            domain = replace(domain, census=_with(domain.census, here, at_work), released=elsewhere)
        return replace(
            facts,
            of_check=_with(facts.of_check, sum(one.check == place.check for one in away), len(busy)),
            of_cluster=_with(facts.of_cluster, len(away), len(busy)),
            of_domain=domain,
            others=project(seen, lambda found: found.at_work),
            released=len(released),
            since_last_start=moment.now - self._last_start,
        )

    def _target(self, node: Node | None, lease: Seen[LeaseFacts]) -> Target | None:
        if node is None:
            return None
        silent = isinstance(lease, Present) and lease.value.silent
        seen_for = self._view.not_ready_for(node.metadata.uid)
        return Target(node.metadata.name, node_facts(node).ready, seen_for, silent)

    def _moment(self) -> Moment:
        return Moment(self._runtime.monotonic(), self._runtime.wall())


def _ward_of(node: Node | None, check: NodeHealthCheck | None, moment: Moment) -> Ward:
    """As the Node was just read."""
    if node is None:
        return Ward("", {}, _NO_CHECK)
    metadata = node.metadata
    return Ward(
        name=metadata.name,
        labels=metadata.labels,
        check=check_facts(check, moment.wall) if check is not None else _NO_CHECK,
        excluded_by=excluded_by(metadata.labels, metadata.annotations),
        maintained_by=maintained_by(check, node.status.conditions) if check is not None else "",
    )


def _looks_well(guarding: Guarding, name: str) -> Place | None:
    """Where a node is counted that shows nothing, though a remediation has it in hand."""
    stood = guarding.standings.stood(name)
    return stood[0] if stood is not None and stood[1] == HEALTHY else None


def _with(census: Census, away: int, remediating: int) -> Census:
    return Census(census.total, census.unhealthy + away, remediating)


def is_ready(node: NodeRecord) -> bool:
    ready = node.condition("Ready")
    return ready is not None and ready.status == ConditionStatus.TRUE


def _rules_in_force(view: View) -> object:
    """Changes whenever many Nodes may be counted otherwise than before."""
    checks = sorted((check.metadata.uid, check.metadata.generation) for check in view.checks.all())
    policy = view.policies.get(keys.POLICY_NAME)
    domains = policy.spec.failure_domains if policy is not None else None
    return tuple(checks), domains.key if domains is not None else ""
