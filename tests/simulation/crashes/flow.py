"""A flow of the checks: what comes before, what happens then, and what is waited for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nodemend.api.group_versions import Resource
from nodemend.testing.cluster.direct import Object
from tests.simulation.checks.world import MACHINE, SPACE, SWITCH_ON, ChecksWorld

Wanted = Callable[[], bool]
Script = Callable[[ChecksWorld], Iterator[Wanted]]
"""Does something to the world, and then waits for what it yields; as often as it likes."""


def nothing(_world: ChecksWorld) -> Iterator[Wanted]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Flow:
    """The writes of `script` are its own. `before` is played without a crash."""

    name: str
    script: Script
    before: Script = nothing
    prepare: Callable[[ChecksWorld], None] = lambda _world: None
    """What the world has from its first moment."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    medik8s_leases: str = ""
    annotation_template: str = ""
    """From which is made what an annotation asks for; empty where that is not heeded."""
    kinds: tuple[Resource, ...] = ()
    """Served beside the usual."""
    from_the_start: bool = False
    """Whether the writes count from the first moment, not from when all that is there was reported."""


def fixes(world: ChecksWorld) -> list[str]:
    """All that are there, with their namespaces where these are not the usual."""
    found = (one["metadata"] for one in world.fixes())
    return sorted(
        one["name"] if one["namespace"] == SPACE else f"{one['namespace']}/{one['name']}" for one in found
    )


def marks_of(world: ChecksWorld, machine: str) -> dict[str, str]:
    """Type and reason of all that our checks put there."""
    found = world.marks(world.api.get(MACHINE, machine, SPACE) or {})
    return {type_: one["reason"] for type_, one in found.items() if type_ != "Booted"}


def switched_on(world: ChecksWorld) -> list[str]:
    """The nodes whose recovery is at work."""
    return sorted(one["metadata"]["name"] for one in world.api.list(SWITCH_ON))


def say_of(kind: Resource, world: ChecksWorld, name: str, **said: str) -> None:
    """Its controller says how it goes."""
    conditions = [{"type": type_, "status": status} for type_, status in said.items()]
    world.api.patch(kind, name, {"status": {"conditions": conditions}}, at=(SPACE, "status"))


def condition(found: Object | None, type_: str) -> tuple[str, str]:
    """Status and reason."""
    shown = (found or {}).get("status", {}).get("conditions") or ()
    return next(((one["status"], one["reason"]) for one in shown if one["type"] == type_), ("", ""))
