"""What happens to simulated nodes: they fail, they heal, their remediations end."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from nodemend.cli.simulate.agenda import (
    Agenda,
    Event,
    Fails,
    Failure,
    Heals,
    Look,
    Over,
    Recovery,
    Wake,
)
from nodemend.cli.simulate.invention import Choice, Invention
from nodemend.cli.simulate.picking import members, moments, share, spread
from nodemend.cli.simulate.plan import Plan
from nodemend.cli.simulate.story import Story, What
from nodemend.cli.simulate.world import World
from nodemend.kube.node_record import NodeRecord
from nodemend.kube.remediation_record import RemediationRecord


class Happenings:
    """Raises NobodyError at once when the plan speaks of nodes that there are not."""

    def __init__(self, plan: Plan, nodes: Mapping[str, NodeRecord], agenda: Agenda, story: Story) -> None:
        self._plan = plan
        self._agenda = agenda
        self._story = story
        choices = [one.choice for one in (*plan.fails, *plan.heals)]
        self._members: dict[Choice, tuple[str, ...]] = {one: members(one, nodes) for one in choices}
        self._stays_sick = frozenset(name for one in plan.stays_sick for name in _chosen(one, nodes))
        for invention in plan.fails:
            agenda.note(invention.when.begins, Failure(invention))
        for invention in plan.heals:
            agenda.note(invention.when.begins, Recovery(invention))

    def happen(self, event: Event, world: World, now: float) -> Iterable[str]:
        """Returns the nodes that must be looked at because of it."""
        match event:
            case Failure(invention):
                self._choose_failing(invention, world)
            case Recovery(invention):
                self._choose_healing(invention, world)
            case Fails(node):
                return self._fail(node, world, now)
            case Heals(node):
                return self._heal(node, world, now)
            case Over(record):
                return self._end(record, world, now)
            case Look(node):
                return (node,)
            case Wake():
                pass
            case _:
                assert_never(event)
        return ()

    def _choose_failing(self, invention: Invention, world: World) -> None:
        """Of those that do not fail yet; the share is one of all."""
        everybody = self._members[invention.choice]
        well = [name for name in everybody if not world.is_sick(name)]
        chosen = spread(well, share(invention.choice.how_many, len(everybody)))
        for at, name in zip(moments(invention.when, len(chosen)), chosen, strict=True):
            self._agenda.note(at, Fails(name))

    def _choose_healing(self, invention: Invention, world: World) -> None:
        """Of those that fail now."""
        everybody = self._members[invention.choice]
        sick = [name for name in everybody if world.is_sick(name)]
        chosen = spread(sick, share(invention.choice.how_many, len(sick)))
        for at, name in zip(moments(invention.when, len(chosen)), chosen, strict=True):
            self._agenda.note(at, Heals(name))

    def _fail(self, node: str, world: World, now: float) -> Iterable[str]:
        if world.is_sick(node):
            return ()
        world.fail(node, now)
        self._story.tell(now, What.FAIL, node)
        return (node,)

    def _heal(self, node: str, world: World, now: float) -> Iterable[str]:
        if not world.is_sick(node):
            return ()
        world.heal(node, now)
        self._story.tell(now, What.HEAL, node)
        return (node,)

    def _end(self, record: RemediationRecord, world: World, now: float) -> Iterable[str]:
        found = world.remediations.find(record)
        if found is None:
            return ()
        node, healed = record.name, record.name not in self._stays_sick
        if healed and world.is_sick(node):
            world.heal(node, now)
            self._story.tell(now, What.BACK, node)
        elif not healed:
            self._story.tell(now, What.STILL_SICK, node)
        world.remediations.end(found, succeeded=healed, now=now)
        return (node,)


def _chosen(choice: Choice, nodes: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    everybody = members(choice, nodes)
    return spread(everybody, share(choice.how_many, len(everybody)))
