"""A flow of the checks: its precondition, its actions, and the states that must follow."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from nodemend.api.resources import Resource
from simulation.cluster.direct import Object
from tests.simulation.checks.world import MACHINE, SPACE, SWITCH_ON, ChecksWorld

Wanted = Callable[[], bool]
Script = Callable[[ChecksWorld], Iterator[Wanted]]
"""Changes the world, then yields the condition to wait for; any number of times."""


def nothing(_world: ChecksWorld) -> Iterator[Wanted]:
    yield from ()


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow. Crashes happen at writes during `script`; `before` runs without a crash."""

    name: str
    script: Script
    before: Script = nothing
    prepare: Callable[[ChecksWorld], None] = lambda _world: None
    """Prepares the world before the run starts."""
    policy: Mapping[str, Any] = field(default_factory=dict)
    medik8s_leases: str = ""
    annotation_template: str = ""
    """Template for remediations that an annotation requests; empty: the annotation is ignored."""
    kinds: tuple[Resource, ...] = ()
    """Kinds that are served in addition to the usual ones."""
    from_the_start: bool = False
    """True if writes count from the start of the run instead of after the initial reports."""


def fixes(world: ChecksWorld) -> list[str]:
    """Return all Fixes, with their namespaces if these are not the usual one."""
    found = (one["metadata"] for one in world.fixes())
    return sorted(
        one["name"] if one["namespace"] == SPACE else f"{one['namespace']}/{one['name']}" for one in found
    )


def marks_of(world: ChecksWorld, machine: str) -> dict[str, str]:
    """Return type and reason of all conditions that Nodemend's checks set."""
    found = world.marks(world.api.get(MACHINE, machine, SPACE) or {})
    return {type_: one["reason"] for type_, one in found.items() if type_ != "Booted"}


def switched_on(world: ChecksWorld) -> list[str]:
    """Return the nodes with an active recovery."""
    return sorted(one["metadata"]["name"] for one in world.api.list(SWITCH_ON))


def say_of(kind: Resource, world: ChecksWorld, name: str, **said: str) -> None:
    """Set conditions of an object as its controller does."""
    conditions = [{"type": type_, "status": status} for type_, status in said.items()]
    world.api.patch(kind, name, {"status": {"conditions": conditions}}, at=(SPACE, "status"))


def condition(found: Object | None, type_: str) -> tuple[str, str]:
    """Return status and reason of a condition, or two empty strings."""
    shown = (found or {}).get("status", {}).get("conditions") or ()
    return next(((one["status"], one["reason"]) for one in shown if one["type"] == type_), ("", ""))
