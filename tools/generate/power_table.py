"""The page of the power table: every row, how it differs from seed 001's, and the sequence of steps."""

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


_BEFORE: Final = "0027-a-host-that-was-off-before"
_TAKEN_BACK: Final = "0028-a-remediation-that-is-taken-back"
_CYCLED: Final = "0029-cycled-is-written-down"
_TAINT: Final = "0030-released-by-the-taint"
_NOT_HERE: Final = "0057-what-ties-a-host-to-a-node"
_WELL: Final = "0068-limits-at-the-switch"


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
"""In the order in which the seed prints them; the one that it does not print last."""


def power_table_page() -> Iterator[str]:
    yield from ("# The power table", "")
    yield (
        "What a power cycle does next with a host, from six facts. "
        "`remediation/metal3/power_table` has it as data; this"
        " page is generated from it. When a move is due, and what has to come before it (a lock, the guard,"
        " the evidence, the end of a release), stands in"
        " [how a power cycle works](../explanation/power_cycle.md)."
    )
    yield ""
    yield "| Node | needed | power | our hold | was off for this | seen to go off | move | why |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from map(_line, TABLE)
    yield from ("", "A dash stands for every value. Power is unknown whenever something speaks against what")
    yield "the host says: see [decision 31](../decisions/0031-what-off-through-metal3-proves.md)."
    yield from ("", "## The way through it", "", "```mermaid", "stateDiagram-v2", "  direction LR")
    yield from _diagram()
    yield from ("```", "", "## Beside seed 001", "")
    yield (
        "Its columns: Node reference, needs remediation, powered on, reboot annotation. Our hold is an"
        " annotation of [another name](../decisions/0081-a-hold-names-its-remediation.md). Where the seed"
        " adds its annotation at once, ours may be held first: a node that is well is not switched off (row"
        " 1110), nor a Machine of Cluster API whose Node is not in this cluster (row 0110)."
    )
    yield from ("", "| row | the seed | ours | why it differs |", "|---|---|---|---|")
    for row in SEED_ROWS:
        number = row.decision.split("-")[0].lstrip("0")
        why = f"[decision {number}](../decisions/{row.decision}.md)" if row.decision else ""
        yield f"| {row.bits} | {row.says} | {row.move} | {why} |"


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
    raise AssertionError("the table leads nowhere")


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
            raise AssertionError(f"{move} leads nowhere")
    return PowerState(node, need, power, hold, cycled, dated)


def _name(state: PowerState) -> str:
    held = "held" if state.hold else "free"
    return f"{state.power}_{held}{'_released' if state.cycled else ''}"
