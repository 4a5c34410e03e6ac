"""The power table: the next move of a power cycle, from six facts. Total, and small enough to read at once.

Seed 001 has four of the columns and 15 of their 16 rows. It lacked three more values: a power state that
cannot be trusted, "this host was already cycled for this complaint" (without it a host is cycled forever),
and "it was observed to go off after our request" (without it an old reading is taken for an answer).

`release` in a row is only a request: it must still pass the release gate.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nodemend.safety.host_power import Power

ON, OFF, UNKNOWN = Power.ON, Power.OFF, Power.UNKNOWN


class Move(StrEnum):
    REQUEST_POWER_OFF = "place our hold"
    AWAIT_OFF = "wait until it is off"
    RELEASE = "release the node's workloads"
    COUNT_CYCLED = "note that it was off"
    CLEAR_POWER_OFF = "take our hold off"
    AWAIT_ON = "wait until it is on"
    AWAIT_NODE = "wait until the node is back"
    AWAIT_POWER_STATE = "wait until its power can be seen"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, order=True)
class PowerState:
    """The facts that a row matches."""

    node: bool
    """A Node exists whose workloads may need a release."""
    need: bool
    """A remediation of it is requested."""
    power: Power
    """The trusted power state."""
    hold: bool
    """Nodemend's power-off request is on the host."""
    cycled: bool
    """It was off, and its workloads were released, for this complaint."""
    dated: bool
    """It was observed to go off after Nodemend's power-off request."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; None matches every value. `why` is its text in the docs."""

    move: Move
    why: str
    node: bool | None = None
    need: bool | None = None
    power: tuple[Power, ...] | None = None
    hold: bool | None = None
    cycled: bool | None = None
    dated: bool | None = None

    def covers(self, state: PowerState) -> bool:
        return (
            self.node in (None, state.node)
            and self.need in (None, state.need)
            and (self.power is None or state.power in self.power)
            and self.hold in (None, state.hold)
            and self.cycled in (None, state.cycled)
            and self.dated in (None, state.dated)
        )


TABLE: Final = (
    # A remediation needs it off, and it has not been off for that remediation yet.
    Row(
        Move.REQUEST_POWER_OFF,
        "It runs, and nobody holds it for us yet.",
        need=True,
        cycled=False,
        hold=False,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_ON,
        "It is off by somebody else's will. That cannot be dated, and going on it boots unfenced: so it is "
        "held only once it is seen on.",
        need=True,
        cycled=False,
        hold=False,
        power=(OFF,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "Nobody can vouch for its power: a hold would be carried out at a moment that nobody knows.",
        need=True,
        cycled=False,
        hold=False,
        power=(UNKNOWN,),
    ),
    Row(
        Move.AWAIT_OFF,
        "Asked for; off is what is seen, never what was asked.",
        need=True,
        cycled=False,
        hold=True,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "Asked for, and now nobody can see.",
        need=True,
        cycled=False,
        hold=True,
        power=(UNKNOWN,),
    ),
    Row(
        Move.RELEASE,
        "Off since our hold: its workloads may go, by the release gate.",
        node=True,
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=True,
    ),
    Row(
        Move.COUNT_CYCLED,
        "Off since our hold, and no Node that holds workloads.",
        node=False,
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=True,
    ),
    Row(
        Move.CLEAR_POWER_OFF,
        "Off, but perhaps from before our hold: it has to be seen on first.",
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=False,
    ),
    # It has been off; it must now come back.
    Row(
        Move.CLEAR_POWER_OFF,
        "It was off and its workloads are gone: power comes back.",
        need=True,
        cycled=True,
        hold=True,
    ),
    Row(
        Move.AWAIT_NODE,
        "Power is back; the node has to come.",
        need=True,
        cycled=True,
        hold=False,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_ON,
        "Our hold is gone; power has to come.",
        need=True,
        cycled=True,
        hold=False,
        power=(OFF,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "Our hold is gone; nobody can see whether power came.",
        need=True,
        cycled=True,
        hold=False,
        power=(UNKNOWN,),
    ),
    # No remediation needs it any longer.
    Row(
        Move.CLEAR_POWER_OFF,
        "Nobody wants it off any more. What was begun to be released is released first.",
        need=False,
        hold=True,
    ),
    Row(Move.NOTHING, "Nobody wants anything, and nothing of ours is on the host.", need=False, hold=False),
)


def move_for(state: PowerState) -> Move:
    """Return the move of the row that covers `state`. A test over all states proves that exactly one does."""
    return next(row.move for row in TABLE if row.covers(state))
