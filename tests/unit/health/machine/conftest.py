"""Worlds that end with their test, however that ends."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.health.machine.machine_world import MachineWorld

NewWorld = Callable[..., MachineWorld]


@pytest.fixture
def new_world() -> Iterator[NewWorld]:
    made: list[MachineWorld] = []

    def make(*arguments: Any, **policy: Any) -> MachineWorld:
        made.append(MachineWorld(*arguments, **policy))
        return made[-1]

    yield make
    for world in made:
        world.close()
