"""Worlds of Machines, as the checker's own tests have them."""

from tests.unit.health.machine.conftest import new_world

__all__ = ("new_world",)
