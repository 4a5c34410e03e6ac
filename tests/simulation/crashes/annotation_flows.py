"""Flows of an annotation that requests the remediation of a Machine."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, METAL3_REMEDIATION_TEMPLATE
from simulation.cluster.direct import Object
from tests.simulation.checks.world import CHECK, MACHINE, SPACE, ChecksWorld
from tests.simulation.crashes.flow import Flow, Wanted

ASKED: Final = "owned-1"
TEMPLATE: Final = "reboot"


def _furnish(world: ChecksWorld) -> None:
    """Remove the check of some Machines, and give each of these a host."""
    world.api.delete(CHECK, "owned", SPACE)
    spec: Object = {"template": {"spec": {}}}
    world.api.create(METAL3_REMEDIATION_TEMPLATE, {"metadata": {"name": TEMPLATE}, "spec": spec}, SPACE)
    for name in world.names["owned"]:
        _annotate(world, name, well_known.HOST_OF_MACHINE, f"{SPACE}/{name}")


def _annotate(world: ChecksWorld, machine: str, key: str, value: str | None) -> None:
    world.api.patch(MACHINE, machine, {"metadata": {"annotations": {key: value}}}, at=(SPACE, ""))


def _is_asked(world: ChecksWorld) -> bool:
    found = world.api.get(MACHINE, ASKED, SPACE) or {}
    return well_known.EXTERNAL_REMEDIATION in found["metadata"]["annotations"]


def _cycles(world: ChecksWorld) -> list[str]:
    return [one["metadata"]["name"] for one in world.api.list(METAL3_REMEDIATION)]


def _ask(world: ChecksWorld) -> Iterator[Wanted]:
    world.report(ASKED, "Unknown")
    _annotate(world, ASKED, well_known.EXTERNAL_REMEDIATION, "")
    yield lambda: _cycles(world) == [ASKED]


def _heal(world: ChecksWorld) -> Iterator[Wanted]:
    said = {"reason": "Told", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    conditions = [{"type": type_, "status": "True", **said} for type_ in ("Fenced", "Succeeded")]
    change = {"status": {"conditions": conditions}}
    world.api.patch(METAL3_REMEDIATION, ASKED, change, at=(SPACE, "status"))
    world.report(ASKED, "True")
    yield lambda: not _is_asked(world) and not _cycles(world)


def _take_back(world: ChecksWorld) -> Iterator[Wanted]:
    _annotate(world, ASKED, well_known.EXTERNAL_REMEDIATION, None)
    yield lambda: not _cycles(world)


def _ask_in_vain(world: ChecksWorld) -> Iterator[Wanted]:
    """Request the remediation of a healthy node."""
    _annotate(world, ASKED, well_known.EXTERNAL_REMEDIATION, "")
    yield lambda: not _is_asked(world)


_flow: Final = partial(Flow, prepare=_furnish, annotation_template=TEMPLATE, kinds=(METAL3_REMEDIATION,))
ANNOTATION_FLOWS: Final = (
    _flow("an annotation is answered", _ask),
    _flow("an annotation is cleared when the node has healed", _heal, _ask),
    _flow("an annotation is taken back", _take_back, _ask),
    _flow("an annotation asks for a node that is well", _ask_in_vain),
)
