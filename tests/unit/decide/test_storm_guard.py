"""What the cluster allows."""

import pytest

from nodemend.api.remediation_policy import Mode, Pause
from nodemend.decide import holds
from nodemend.decide.facts import Absent, PolicyFacts, Present, Seen, Unreadable
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import Go, guard

PAUSE = Pause(reason="switch swap", by="anna")


@pytest.mark.parametrize(
    ("policy", "others", "expected"),
    [
        (Present(PolicyFacts(Mode.ACT, None, 1)), Present(0), Go()),
        (Present(PolicyFacts(Mode.ACT, None, 1)), Absent(), Go()),
        (Present(PolicyFacts(Mode.ACT, None, 2)), Present(1), Go()),
        (Present(PolicyFacts(Mode.ACT, None, 2)), Present(2), Hold(holds.TooManyAtOnce(2, 2))),
        (Present(PolicyFacts(Mode.ACT, None, 2)), Present(3), Hold(holds.TooManyAtOnce(3, 2))),
        (
            Present(PolicyFacts(Mode.ACT, None, 1)),
            Unreadable("500"),
            Hold(holds.CannotRead("the other remediations", "500")),
        ),
        (Present(PolicyFacts(Mode.ACT, PAUSE, 9)), Present(0), Hold(holds.Paused("anna", "switch swap"))),
        (Present(PolicyFacts(Mode.DRY_RUN, None, 9)), Present(0), Hold(holds.DryRun(policy_exists=True))),
        (Absent(), Present(0), Hold(holds.DryRun(policy_exists=False))),
        (Unreadable("500"), Present(0), Hold(holds.CannotRead("the RemediationPolicy", "500"))),
    ],
)
def test_guard(policy: Seen[PolicyFacts], others: Seen[int], expected: Go | Hold) -> None:
    assert guard(policy, others) == expected
