"""What people hear of a release by deletion, on the node's own events."""

import pytest

from nodemend.api.event import EventType
from nodemend.api.node_deletion import NodeBackup
from nodemend.decide.power_cycle_facts import PowerFacts
from nodemend.decide.power_cycle_phases import decide
from nodemend.decide.power_cycle_steps import BackUp, DeleteNode, ForgetBackup, Restore, Step
from nodemend.decide.remediation_steps import DropFinalizer
from nodemend.kube.event_book import Happening
from nodemend.testing.scheduler import Scheduler
from tests.unit.controllers.power_cycle.power_telling import Told
from tests.unit.decide.power_worlds import POWERING_ON, remediation
from tests.unit.decide.test_node_deletion import KEEPING, KEPT, NEW_NODE, deleting_node

STATUS = POWERING_ON.but(backup=KEPT)


def heard(step: Step) -> list[Happening]:
    told = Told(Scheduler(1))
    told.recorder.took(remediation(STATUS), step)
    return told.events


def the_deletion() -> Step:
    """With its ticket, which the gate alone makes."""
    world: PowerFacts = deleting_node(KEEPING)
    step = decide(world)
    assert isinstance(step, DeleteNode)
    return step


@pytest.mark.parametrize(
    ("step", "type_", "reason", "note"),
    [
        (
            the_deletion(),
            EventType.WARNING,
            "ReleaseStarted",
            ("The Node n1 is deleted: its pods and volumes are released, as BareMetalHost metal3/h1 is off."),
        ),
        (
            Restore(NEW_NODE, KEPT),
            EventType.NORMAL,
            "NodeRestored",
            "The Node n1 is there again, and gets back: rack, team.",
        ),
        (
            ForgetBackup("no right"),
            EventType.WARNING,
            "NodeNotRestored",
            "The Node n1 did not get back what it had (no right): rack, team.",
        ),
        (
            DropFinalizer(lost=("rack", "team")),
            EventType.WARNING,
            "NodeNotRestored",
            "The Node n1 has not come back. It had: rack, team.",
        ),
        (
            DropFinalizer("metal3/h1", ("rack",)),
            EventType.WARNING,
            "NodeNotRestored",
            "The Node n1 has not come back, nor has metal3/h1 come back on. It had: rack.",
        ),
    ],
)
def test_told(step: Step, type_: EventType, reason: str, note: str) -> None:
    [event] = heard(step)
    assert (event.type, event.reason, event.note) == (type_, reason, note)


@pytest.mark.parametrize("step", [BackUp(NodeBackup()), ForgetBackup()])
def test_what_is_only_written_down_is_no_event(step: Step) -> None:
    assert heard(step) == []
