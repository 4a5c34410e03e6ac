"""The page of the power table: every row, its difference from seed 001, and the sequence of steps."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from nodemend.remediation.metal3.power_table import TABLE, Move, PowerState, Row, move_for
from nodemend.safety.host_power import Power

MOST_STEPS: Final = 12


class SeedRow(NamedTuple):
    """A row of seed 001: Node reference, needs remediation, powered on, reboot annotation."""

    node: bool
    need: bool
    on: bool
    hold: bool
    says: str
    move: Move
    """Nodemend's step, for a host that went off after its power-off request and was not cycled yet."""
    decision: str = ""
    """The decision for the difference; empty without a difference."""

    @property
    def bits(self) -> str:
        return "".join(str(int(bit)) for bit in self[:4])

    @property
    def state(self) -> PowerState:
        power = Power.ON if self.on else Power.OFF
        return PowerState(self.node, self.need, power, self.hold, cycled=False, dated=True)


_BEFORE: Final = "0027-a-host-that-was-already-off"
_TAKEN_BACK: Final = "0028-deleting-a-remediation"
_CYCLED: Final = "0029-the-status-records-the-power-off"
_TAINT: Final = "0030-release-by-the-out-of-service-taint"
_NOT_HERE: Final = "0057-identity-of-host-machine-and-node"
_WELL: Final = "0068-limits-before-fencing"


def _rows() -> Iterator[SeedRow]:
    said = {
        "0110": ("Add reboot annotation", Move.REQUEST_POWER_OFF, _NOT_HERE),
        "1110": ("Add reboot annotation", Move.REQUEST_POWER_OFF, _WELL),
        "1101": ("Delete node", Move.RELEASE, _TAINT),
        "0010": ("nothing", Move.NOTHING, ""),
        "0011": ("nothing", Move.CLEAR_POWER_OFF, _TAKEN_BACK),
        "0100": ("nothing", Move.AWAIT_ON, _BEFORE),
        "0111": ("nothing", Move.AWAIT_OFF, ""),
        "1000": ("nothing", Move.NOTHING, ""),
        "1010": ("nothing", Move.NOTHING, ""),
        "1011": ("nothing", Move.CLEAR_POWER_OFF, _TAKEN_BACK),
        "1100": ("nothing", Move.AWAIT_ON, _BEFORE),
        "1111": ("nothing", Move.AWAIT_OFF, ""),
        "0101": ("Remove needs-remediation annotation", Move.COUNT_CYCLED, _CYCLED),
        "0001": ("Remove reboot annotation", Move.CLEAR_POWER_OFF, ""),
        "1001": ("Remove reboot annotation", Move.CLEAR_POWER_OFF, ""),
        "0000": ("(not printed)", Move.NOTHING, ""),
    }
    for bits, (says, move, decision) in said.items():
        node, need, on, hold = (bit == "1" for bit in bits)
        yield SeedRow(node, need, on, hold, says, move, decision)


SEED_ROWS: Final = tuple(_rows())
"""The rows in the seed's order; the last row is not in the seed."""


def power_table_page() -> Iterator[str]:
    yield from ("# The power table", "")
    yield (
        "The table decides the next move of a power cycle from six facts. This page is generated from the"
        " data in `remediation/metal3/power_table`. [How a power cycle works](../explanation/power_cycle.md)"
        " describes when a move is due, and what must precede it: the node's lock, the guard, the evidence,"
        " the end of a release."
    )
    yield ""
    yield "| Node | needed | power | requested off | cycled | observed to go off | move | reason |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from map(_line, TABLE)
    yield from ("", *_columns(), "")
    yield (
        "A dash matches every value. Power is unknown while any fact contradicts the power state that the"
        " host reports: see [decision 31](../decisions/0031-evidence-of-power-off-through-metal3.md)."
    )
    yield from ("", "## A power cycle in which every step succeeds", "")
    yield from ("```mermaid", "stateDiagram-v2", "  direction LR", *_diagram(), "```")
    yield from ("", "## Differences from seed 001", "")
    yield (
        "Columns of the seed's table: Node reference, needs remediation, powered on, reboot annotation."
        " Nodemend's power-off request is an annotation with"
        " [another key](../decisions/0081-a-power-off-request-names-its-remediation.md). The seed adds its"
        " annotation at"
        " once. Nodemend may hold first: it does not power off a healthy node (row 1110), nor the host of a"
        " Cluster API Machine whose Node is not in this cluster (row 0110)."
    )
    yield from ("", "| row | seed 001 | Nodemend | decision |", "|---|---|---|---|")
    for row in SEED_ROWS:
        number = row.decision.split("-")[0].lstrip("0")
        why = f"[decision {number}](../decisions/{row.decision}.md)" if row.decision else ""
        yield f"| {row.bits} | {row.says} | {row.move} | {why} |"


def _columns() -> Iterator[str]:
    yield "- Node: a Node exists whose workloads may need a release."
    yield "- needed: a remediation needs the host off."
    yield "- requested off: Nodemend's power-off request is on the host."
    yield "- cycled: the host has already been off for this remediation, and the release is complete."
    yield "- observed to go off: the host went off after the power-off request."


def _line(row: Row) -> str:
    power = ", ".join(row.power) if row.power else "-"
    cells = (row.node, row.need), (row.hold, row.cycled, row.dated)
    first, last = (tuple(_bit(bit) for bit in part) for part in cells)
    return f"| {' | '.join((*first, power, *last, row.move, row.why))} |"


def _bit(value: bool | None) -> str:
    return {None: "-", True: "yes", False: "no"}[value]


def _diagram() -> Iterator[str]:
    """From an unhealthy node to its return, if every step succeeds."""
    state = PowerState(node=True, need=True, power=Power.ON, hold=False, cycled=False, dated=False)
    yield f"  [*] --> {_name(state)}"
    for _ in range(MOST_STEPS):
        move = move_for(state)
        if move is Move.AWAIT_NODE:
            yield f"  {_name(state)} --> [*]: {move}"
            return
        following = _after(state, move)
        yield f"  {_name(state)} --> {_name(following)}: {move}"
        state = following
    raise AssertionError(f"the table does not reach the end in {MOST_STEPS} moves")


def _after(state: PowerState, move: Move) -> PowerState:
    node, need, power, hold, cycled, dated = (
        state.node,
        state.need,
        state.power,
        state.hold,
        state.cycled,
        state.dated,
    )
    match move:
        case Move.REQUEST_POWER_OFF:
            hold, dated = True, True
        case Move.AWAIT_OFF:
            power = Power.OFF
        case Move.RELEASE | Move.COUNT_CYCLED:
            cycled = True
        case Move.CLEAR_POWER_OFF:
            hold = False
        case Move.AWAIT_ON:
            power = Power.ON
        case _:
            raise AssertionError(f"{move} has no next state")
    return PowerState(node, need, power, hold, cycled, dated)


def _name(state: PowerState) -> str:
    request = "requested" if state.hold else "unrequested"
    return f"{state.power}_{request}{'_released' if state.cycled else ''}"
