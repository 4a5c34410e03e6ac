"""The gate issues a ticket only on evidence that is still valid, for exactly the boot and version that was
read.
"""

from dataclasses import replace

import pytest

from nodemend.safety import guard_holds, holds
from nodemend.safety.confirmation import Confirmed
from nodemend.safety.facts import NodeFacts
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import Hold, HoldReason
from nodemend.safety.release import ReleaseTicket, open_gate
from tests.unit.safety.worlds import CONFIRMATION, EVIDENCE, SILENT_NODE

PAUSED = Hold(guard_holds.Paused("anna", "switch swap"))


def test_a_ticket_names_what_it_is_good_for() -> None:
    ticket = open_gate(SILENT_NODE, EVIDENCE, Confirmed(CONFIRMATION), Allowed(), 7)
    assert ticket == ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, EVIDENCE)


@pytest.mark.parametrize(
    ("node", "now", "guarded", "expected"),
    [
        (SILENT_NODE, Confirmed(CONFIRMATION), PAUSED, PAUSED),
        (SILENT_NODE, holds.WaitingForConfirmation("n1"), PAUSED, PAUSED),
        (
            SILENT_NODE,
            holds.WaitingForConfirmation("n1"),
            Allowed(),
            Hold(holds.WaitingForConfirmation("n1")),
        ),
        (
            replace(SILENT_NODE, uid="uid-2"),
            Confirmed(CONFIRMATION),
            Allowed(),
            Hold(holds.EvidenceForOther("node", "uid-1", "uid-2")),
        ),
        (
            replace(SILENT_NODE, boot_id="boot-2"),
            Confirmed(CONFIRMATION),
            Allowed(),
            Hold(holds.EvidenceForOther("boot", "boot-1", "boot-2")),
        ),
    ],
)
def test_the_gate_stays_shut(
    node: NodeFacts, now: Confirmed | HoldReason, guarded: Allowed | Hold, expected: Hold
) -> None:
    assert open_gate(node, EVIDENCE, now, guarded, 7) == expected
