"""A simulated cluster: the caches that a checker lives on, and what happens to the nodes in them."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from math import inf
from typing import Final, TypeVar

from msgspec.structs import replace

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.timestamps import print_micro_time
from nodemend.cli.simulate.invention import Symptom
from nodemend.cli.simulate.remediations import Remediations, remedies_of
from nodemend.cli.simulate.snapshot import Snapshot
from nodemend.cli.written_ages import written_age
from nodemend.controllers.checking.guarding import Moment
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target, View
from nodemend.kube.node_record import NodeCondition, NodeRecord
from nodemend.kube.object_cache import Change, ObjectCache

R = TypeVar("R")

READY: Final = "Ready"


class World:
    """Time is an argument: whole seconds after the snapshot was taken. Labels and checks stay as they are."""

    def __init__(self, snapshot: Snapshot, symptom: Symptom) -> None:
        self._taken_at = snapshot.taken_at
        self._symptom = symptom
        policies = {} if snapshot.policy is None else {keys.POLICY_NAME: snapshot.policy}
        self.view = View(
            nodes=_cache(_trimmed(snapshot, symptom), lambda node: node.uid),
            checks=_cache({one.metadata.name: one for one in snapshot.checks}, lambda one: one.metadata.uid),
            remedies=remedies_of(snapshot.kinds, snapshot.remediations),
            policies=_cache(policies, lambda one: one.metadata.uid),
            # Nobody orders anything in a simulation.
            orders=_cache({}, lambda one: one.metadata.uid),
        )
        self.seen = Observations()
        self.remediations = Remediations(self.view.remedies, self.seen)
        self._targets = {name: gather.find_target(self.view, name) for name in snapshot.nodes}
        self.seen.roll.note_etcd(snapshot.etcd_hosts, self.view.nodes.get)
        for node in self.view.nodes.all():
            self.seen.roll.observe(node)

    def moment(self, now: float) -> Moment:
        return Moment(now, self._taken_at + timedelta(seconds=now))

    def target(self, name: str) -> Target | None:
        """As it is now; None for a node that no check watches, or that there is not."""
        known, node = self._targets.get(name), self.view.nodes.get(name)
        if known is None or node is None:
            return None
        return known if known.node is node else Target(node, known.check, known.overlapping)

    def remember(self, node: NodeRecord) -> None:
        """Its conditions have stood since the times written in them, as for a checker that has watched."""
        since = {one.type: -_age(one.last_transition_time, self._taken_at) for one in node.conditions}
        told = node.conditions
        for begin in sorted(set(since.values())):
            self.seen.ages.observe(node.uid, [one for one in told if since[one.type] <= begin], begin)

    def is_sick(self, name: str) -> bool:
        """Whether it shows something that its check calls unhealthy, or the symptom of a failure."""
        return bool(self._sick_conditions(name))

    def fail(self, name: str, now: float) -> None:
        self._show(name, {self._symptom.type: self._symptom.status}, now)

    def heal(self, name: str, now: float) -> None:
        """All that is over, and it is Ready."""
        well = {type_: _well(type_, status) for type_, status in self._sick_conditions(name)}
        self._show(name, {READY: ConditionStatus.TRUE, **well}, now)

    def _sick_conditions(self, name: str) -> list[tuple[str, str]]:
        node, known = self.view.nodes.get(name), self._targets.get(name)
        shown = [(one.type, one.status) for one in node.conditions] if node is not None else []
        bad = [(one.type, one.status) for one in known.check.spec.thresholds] if known is not None else []
        bad.append((self._symptom.type, self._symptom.status))
        return [one for one in shown if one in bad]

    def _show(self, name: str, statuses: Mapping[str, str], now: float) -> None:
        node = self.view.nodes.get(name)
        if node is None:
            return
        kept = tuple(one for one in node.conditions if statuses.get(one.type, one.status) == one.status)
        known, at = {one.type for one in kept}, print_micro_time(self.moment(now).wall)
        new = tuple(
            NodeCondition(type_, str(status), at) for type_, status in statuses.items() if type_ not in known
        )
        changes: list[Change[NodeRecord]] = []
        self.view.nodes.put(name, replace(node, conditions=kept + new), changes)
        for change in changes:
            self.seen.note(change, now)


def _trimmed(snapshot: Snapshot, symptom: Symptom) -> dict[str, NodeRecord]:
    """Without conditions that nobody asks about: they are most of what judging a node would cost."""
    specs = [check.spec for check in snapshot.checks]
    asked = {READY, symptom.type}
    asked |= {one.type for spec in specs for one in spec.thresholds}
    asked |= {one.type for spec in specs for one in spec.maintenance}
    return {
        name: replace(node, conditions=tuple(one for one in node.conditions if one.type in asked))
        for name, node in snapshot.nodes.items()
    }


def _cache(records: dict[str, R], uid_of: Callable[[R], str]) -> ObjectCache[R]:
    """A view that never grows old: in here the API server always answers."""
    cache = ObjectCache(uid_of)
    cache.replace(records, [])
    cache.synced_at = cache.last_contact = inf
    return cache


def _age(changed: str | None, now: datetime) -> int:
    return int(written_age(changed, now))


def _well(type_: str, status: str) -> ConditionStatus:
    """Ready=True is well, and so is the opposite of whatever was wrong."""
    if type_ == READY or status == ConditionStatus.FALSE:
        return ConditionStatus.TRUE
    return ConditionStatus.FALSE
