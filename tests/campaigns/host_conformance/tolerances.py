"""Tolerances by which a recorded time may lie outside the simulated times, with reasons.

As tight as possible.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Seconds by which a recorded time may be before the simulated one, or after."""

    early: float
    late: float


# No machine is involved: the delays are those of the API server and a busy computer.
_FIXTURE: Final = Tolerance(early=0.2, late=0.5)
# The lab was loaded: a reply of Ironic took up to 4 s, and so could a command on its way to the BMC. Up to a
# second earlier, since half of the BMC's commands are recorded with whole seconds.
_IRONIC: Final = Tolerance(early=1.1, late=4.0)
# Because of the load, or because Ironic had locked the host for its own work, the operator had to retry.
_ONE_POLL_LATER: Final = Tolerance(early=1.1, late=14.0)
_TWO_POLLS_LATER: Final = Tolerance(early=1.1, late=18.0)
_FOUR_POLLS_LATER: Final = Tolerance(early=1.1, late=47.0)
# The time of Ironic's next sync depends on its start, which was not recorded.
_WITHIN_A_SYNC_PERIOD: Final = Tolerance(early=120.0, late=120.0)
_WITHIN_A_SHORT_SYNC_PERIOD: Final = Tolerance(early=60.0, late=60.0)

BY_STACK: Final = {"fixture": _FIXTURE, "ironic": _IRONIC}
BY_STEP: Final = {
    ("ironic/bmc-unreachable-long", 1): _FOUR_POLLS_LATER,
    ("ironic/bmc-unreachable-long", 2): _WITHIN_A_SHORT_SYNC_PERIOD,
    ("ironic/credentials-missing", 2): _ONE_POLL_LATER,
    ("ironic/credentials-missing", 3): _ONE_POLL_LATER,
    ("ironic/credentials-missing", 7): _TWO_POLLS_LATER,
    ("ironic/detached-switched-on", 5): _TWO_POLLS_LATER,
    ("ironic/disable-power-off", 2): _ONE_POLL_LATER,
    ("ironic/hold-and-one-shot", 1): _TWO_POLLS_LATER,
    ("ironic/hold-and-online-false", 4): _TWO_POLLS_LATER,
    ("ironic/hold-soft", 1): _ONE_POLL_LATER,
    ("ironic/power-changed-out-of-band", 1): _WITHIN_A_SYNC_PERIOD,
    ("ironic/power-changed-out-of-band", 4): _WITHIN_A_SYNC_PERIOD,
    ("ironic/soft-ignored", 1): _ONE_POLL_LATER,
}
"""By the scenario's name and the number of the step, from 1."""


def tolerance(scenario: str, step: int) -> Tolerance:
    return BY_STEP.get((scenario, step), BY_STACK[scenario.partition("/")[0]])
