"""What was listed once, as the caches that the controllers live on."""

from typing import TypeVar

from nodemend.kube.object_cache import ObjectCache
from nodemend.kube.projection import Projection, Wire, key_of

W = TypeVar("W", bound=Wire)
R = TypeVar("R")

NOW_IN_VIEW = 0.0
"""The monotonic moment at which the view was read. There is only this one."""


def as_cache(projection: Projection[W, R], wires: list[W]) -> ObjectCache[R]:
    cache: ObjectCache[R] = ObjectCache(projection.uid_of)
    cache.replace({key_of(wire.metadata): projection.project(wire, None) for wire in wires}, [])
    cache.synced_at = cache.last_contact = NOW_IN_VIEW
    return cache
