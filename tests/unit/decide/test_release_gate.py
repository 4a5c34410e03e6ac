"""The gate gives a ticket only on evidence that still stands, for the very boot and version that was read."""

from dataclasses import replace

import pytest

from nodemend.decide import guard_holds, holds
from nodemend.decide.facts import NodeFacts
from nodemend.decide.holds import Hold, HoldReason
from nodemend.decide.human_word import Believed
from nodemend.decide.release_gate import ReleaseTicket, open_gate
from nodemend.decide.storm_guard import Go
from tests.unit.decide.worlds import EVIDENCE, SILENT_NODE, WORD

PAUSED = Hold(guard_holds.Paused("anna", "switch swap"))


def test_a_ticket_names_what_it_is_good_for() -> None:
    ticket = open_gate(SILENT_NODE, EVIDENCE, Believed(WORD), Go(), 7)
    assert ticket == ReleaseTicket("n1", "uid-1", "100", "boot-1", 7, EVIDENCE)


@pytest.mark.parametrize(
    ("node", "now", "guarded", "expected"),
    [
        (SILENT_NODE, Believed(WORD), PAUSED, PAUSED),
        (SILENT_NODE, holds.NoWord("n1"), PAUSED, PAUSED),
        (SILENT_NODE, holds.NoWord("n1"), Go(), Hold(holds.NoWord("n1"))),
        (
            replace(SILENT_NODE, uid="uid-2"),
            Believed(WORD),
            Go(),
            Hold(holds.EvidenceForOther("node", "uid-1", "uid-2")),
        ),
        (
            replace(SILENT_NODE, boot_id="boot-2"),
            Believed(WORD),
            Go(),
            Hold(holds.EvidenceForOther("boot", "boot-1", "boot-2")),
        ),
    ],
)
def test_the_gate_stays_shut(
    node: NodeFacts, now: Believed | HoldReason, guarded: Go | Hold, expected: Hold
) -> None:
    assert open_gate(node, EVIDENCE, now, guarded, 7) == expected
