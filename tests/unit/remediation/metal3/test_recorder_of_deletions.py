"""Events of a release by deletion, on the node."""

import pytest

from nodemend.api.metal3_remediation import NodeBackup
from nodemend.api.upstream_types import EventType
from nodemend.kube.events import EventRecord
from nodemend.remediation.metal3.decide import decide
from nodemend.remediation.metal3.model import BackUp, DeleteNode, ForgetBackup, PowerFacts, Restore, Step
from nodemend.safety.lifecycle import DropFinalizer
from simulation.scheduler import Scheduler
from tests.unit.remediation.metal3.power_worlds import POWERING_ON, remediation
from tests.unit.remediation.metal3.recorded_power_events import RecordedEvents
from tests.unit.remediation.metal3.test_node_deletion import KEEPING, KEPT, NEW_NODE, deleting_node

STATUS = POWERING_ON.but(backup=KEPT)


def heard(step: Step) -> list[EventRecord]:
    reported = RecordedEvents(Scheduler(1))
    reported.recorder.took(remediation(STATUS), step)
    return reported.events


def the_deletion() -> Step:
    """The step with its ticket, which only the release gate makes."""
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
            (
                "Deleted the Node n1, because BareMetalHost metal3/h1 is off: its pods and volumes "
                "are released."
            ),
        ),
        (
            Restore(NEW_NODE, KEPT),
            EventType.NORMAL,
            "NodeRestored",
            "The Node n1 exists again, and Nodemend restores: rack, team.",
        ),
        (
            ForgetBackup("no right"),
            EventType.WARNING,
            "NodeNotRestored",
            "Nodemend could not restore the metadata of Node n1 (no right): rack, team.",
        ),
        (
            DropFinalizer(lost=("rack", "team")),
            EventType.WARNING,
            "NodeNotRestored",
            "The Node n1 does not exist again. It had: rack, team.",
        ),
        (
            DropFinalizer("metal3/h1", ("rack",)),
            EventType.WARNING,
            "NodeNotRestored",
            "The Node n1 does not exist again, and metal3/h1 is not powered on again. It had: rack.",
        ),
    ],
)
def test_the_reported_text_and_event(step: Step, type_: EventType, reason: str, note: str) -> None:
    [event] = heard(step)
    assert (event.type, event.reason, event.note) == (type_, reason, note)


@pytest.mark.parametrize("step", [BackUp(NodeBackup()), ForgetBackup()])
def test_what_is_only_written_down_is_no_event(step: Step) -> None:
    assert heard(step) == []
