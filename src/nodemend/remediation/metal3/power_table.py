"""The power table: the next move of a power cycle, from six facts. Total: one row covers each state.

Seed 001 has four of the columns and 15 of their 16 rows. It lacks three more values: a power state that
cannot be trusted; "this remediation has already cycled the host" (without it a host is cycled forever);
and "observed to go off after the power-off request" (without it an old power state passes for a new one).

`RELEASE` in a row is only a request: it must still pass the release gate.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nodemend.safety.host_power import Power

ON, OFF, UNKNOWN = Power.ON, Power.OFF, Power.UNKNOWN


class Move(StrEnum):
    REQUEST_POWER_OFF = "request power-off"
    AWAIT_OFF = "wait until the host is off"
    RELEASE = "release the node's workloads"
    COUNT_CYCLED = "record that the host was off"
    CLEAR_POWER_OFF = "clear the power-off request"
    AWAIT_ON = "wait until the host is on"
    AWAIT_NODE = "wait until the node is back"
    AWAIT_POWER_STATE = "wait until the power state is known"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, order=True)
class PowerState:
    """The facts that a row matches."""

    node: bool
    """A Node exists whose workloads may need a release."""
    need: bool
    """A remediation needs the host off."""
    power: Power
    """The trusted power state."""
    hold: bool
    """Nodemend's power-off request is on the host."""
    cycled: bool
    """The host was off for this remediation, and the node's workloads were released, or there was no Node."""
    dated: bool
    """The host was observed to go off after Nodemend's power-off request."""


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
    # A remediation needs the host off, and the host has not been off for that remediation yet.
    Row(
        Move.REQUEST_POWER_OFF,
        "The host is on, and it has no power-off request of this remediation yet.",
        need=True,
        cycled=False,
        hold=False,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_ON,
        "The host is off, but not by this remediation's request. The time of that is unknown, and the host "
        "can boot unfenced at any time, so power-off is requested only after the host has been observed on.",
        need=True,
        cycled=False,
        hold=False,
        power=(OFF,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "The power state cannot be trusted, so metal3 could act on a power-off request at an unknown time.",
        need=True,
        cycled=False,
        hold=False,
        power=(UNKNOWN,),
    ),
    Row(
        Move.AWAIT_OFF,
        "Power-off is requested. The request is no proof: only an observed power state is.",
        need=True,
        cycled=False,
        hold=True,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "Power-off is requested, and the power state cannot be trusted now.",
        need=True,
        cycled=False,
        hold=True,
        power=(UNKNOWN,),
    ),
    Row(
        Move.RELEASE,
        "Off since the power-off request: the release gate decides about the node's workloads.",
        node=True,
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=True,
    ),
    Row(
        Move.COUNT_CYCLED,
        "Off since the power-off request, and no Node exists whose workloads need a release.",
        node=False,
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=True,
    ),
    Row(
        Move.CLEAR_POWER_OFF,
        "Off, but possibly since before the power-off request: the host must be observed on first.",
        need=True,
        cycled=False,
        hold=True,
        power=(OFF,),
        dated=False,
    ),
    # The host has been off; it must now be powered on.
    Row(
        Move.CLEAR_POWER_OFF,
        "The host was off and the node's workloads are released: power is restored.",
        need=True,
        cycled=True,
        hold=True,
    ),
    Row(
        Move.AWAIT_NODE,
        "The host is on; its node is not back yet.",
        need=True,
        cycled=True,
        hold=False,
        power=(ON,),
    ),
    Row(
        Move.AWAIT_ON,
        "The power-off request is cleared; metal3 has not powered the host on yet.",
        need=True,
        cycled=True,
        hold=False,
        power=(OFF,),
    ),
    Row(
        Move.AWAIT_POWER_STATE,
        "The power-off request is cleared; the power state cannot be trusted.",
        need=True,
        cycled=True,
        hold=False,
        power=(UNKNOWN,),
    ),
    # No remediation needs the host off any longer.
    Row(
        Move.CLEAR_POWER_OFF,
        "No remediation needs the host off any longer. A release that has started is completed first.",
        need=False,
        hold=True,
    ),
    Row(
        Move.NOTHING,
        "No remediation needs the host off, and it has no power-off request of Nodemend.",
        need=False,
        hold=False,
    ),
)


def move_for(state: PowerState) -> Move:
    """Return the move of the row that covers `state`. A test over all states proves that exactly one does."""
    return next(row.move for row in TABLE if row.covers(state))
