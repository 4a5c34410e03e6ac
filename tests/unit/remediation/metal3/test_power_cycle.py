"""The power table: total, unambiguous, as safe as it says, and why it differs from seed 001."""

from collections.abc import Callable
from itertools import product

import pytest

from nodemend.remediation.metal3.power_table import TABLE, Move, PowerState, move_for
from nodemend.safety.host_power import Power
from tests.campaigns.power_table.states import all_states

STATES = tuple(all_states())

SAME = ""
SEED: list[tuple[tuple[int, int, int, int], str, Move, str]] = [
    ((0, 1, 1, 0), "add reboot annotation", Move.REQUEST_POWER_OFF, SAME),
    ((1, 1, 1, 0), "add reboot annotation", Move.REQUEST_POWER_OFF, SAME),
    (
        (1, 1, 0, 1),
        "delete node",
        Move.RELEASE,
        "a release is a taint until all is gone: a Node that is deleted can be back before its pods are",
    ),
    ((0, 0, 1, 0), "nothing", Move.NOTHING, SAME),
    (
        (0, 0, 1, 1),
        "nothing",
        Move.CLEAR_POWER_OFF,
        "001-04: a cancelled remediation would still switch a healthy host off",
    ),
    (
        (0, 1, 0, 0),
        "nothing",
        Move.AWAIT_ON,
        "001-03: off by others cannot be dated; it is told, and held once it is seen on",
    ),
    ((0, 1, 1, 1), "nothing", Move.AWAIT_OFF, "the same, but it has a time limit and is told"),
    ((1, 0, 0, 0), "nothing", Move.NOTHING, SAME),
    ((1, 0, 1, 0), "nothing", Move.NOTHING, SAME),
    (
        (1, 0, 1, 1),
        "nothing",
        Move.CLEAR_POWER_OFF,
        "001-04: a cancelled remediation would still switch a healthy host off",
    ),
    (
        (1, 1, 0, 0),
        "nothing",
        Move.AWAIT_ON,
        "001-03: off by others cannot be dated; it is told, and held once it is seen on",
    ),
    ((1, 1, 1, 1), "nothing", Move.AWAIT_OFF, "the same, but it has a time limit and is told"),
    (
        (0, 1, 0, 1),
        "remove needs-remediation annotation",
        Move.COUNT_CYCLED,
        "that it was off is our own note: without it the checker asks again, and it is cycled for ever",
    ),
    ((0, 0, 0, 1), "remove reboot annotation", Move.CLEAR_POWER_OFF, SAME),
    ((1, 0, 0, 1), "remove reboot annotation", Move.CLEAR_POWER_OFF, SAME),
    ((0, 0, 0, 0), "", Move.NOTHING, "001-02: not printed; off by somebody else's will is none of ours"),
]
SAID = {
    "add reboot annotation": Move.REQUEST_POWER_OFF,
    "remove reboot annotation": Move.CLEAR_POWER_OFF,
    "nothing": Move.NOTHING,
}


@pytest.mark.parametrize("state", STATES, ids=str)
def test_exactly_one_row_covers_each_state(state: PowerState) -> None:
    assert len([row for row in TABLE if row.covers(state)]) == 1


def test_there_are_96_states_and_no_row_is_idle() -> None:
    assert len(set(STATES)) == 96
    assert all(any(row.covers(state) for state in STATES) for row in TABLE)


def test_all_16_seed_states_are_covered() -> None:
    assert sorted(bits for bits, *_ in SEED) == sorted(product((0, 1), repeat=4))
    assert [bits for bits, said, *_ in SEED if not said] == [(0, 0, 0, 0)]


@pytest.mark.parametrize(("bits", "said", "ours", "why"), SEED, ids=[str(bits) for bits, *_ in SEED])
def test_the_seed_and_where_we_differ(
    bits: tuple[int, int, int, int], said: str, ours: Move, why: str
) -> None:
    node, need, on, hold = map(bool, bits)
    power = Power.ON if on else Power.OFF
    assert move_for(PowerState(node, need, power, hold, cycled=False, dated=True)) is ours
    assert (SAID.get(said) is ours) == (why == SAME)


PROPERTIES: list[tuple[str, Callable[[PowerState, Move], bool]]] = [
    (
        "released only when wanted, off since our hold, and not had yet",
        lambda state, move: (
            (move is Move.RELEASE)
            == (
                state.node
                and state.need
                and state.hold
                and state.power is Power.OFF
                and state.dated
                and not state.cycled
            )
        ),
    ),
    (
        "counted as off on the same evidence, where there is no Node",
        lambda state, move: (
            (move is Move.COUNT_CYCLED)
            == (
                not state.node
                and state.need
                and state.hold
                and state.power is Power.OFF
                and state.dated
                and not state.cycled
            )
        ),
    ),
    (
        "held only when wanted, seen on, and not had yet",
        lambda state, move: (
            (move is Move.REQUEST_POWER_OFF)
            == (state.need and state.power is Power.ON and not state.cycled and not state.hold)
        ),
    ),
    (
        "not knowing never switches off, releases, or counts",
        lambda state, move: (
            state.power is not Power.UNKNOWN
            or move not in (Move.RELEASE, Move.REQUEST_POWER_OFF, Move.COUNT_CYCLED)
        ),
    ),
    (
        "nothing is placed or released when nobody needs it",
        lambda state, move: state.need or move in (Move.CLEAR_POWER_OFF, Move.NOTHING),
    ),
    (
        "our hold is never left when nobody needs it",
        lambda state, move: state.need or (move is Move.CLEAR_POWER_OFF) == state.hold,
    ),
    ("only what is ours is given back", lambda state, move: move is not Move.CLEAR_POWER_OFF or state.hold),
    (
        "what was off already gets its power back, whatever can be seen",
        lambda state, move: not (state.need and state.cycled and state.hold) or move is Move.CLEAR_POWER_OFF,
    ),
    (
        "off without a date is not kept: it has to be seen on",
        lambda state, move: (
            not (
                state.need
                and not state.cycled
                and state.hold
                and state.power is Power.OFF
                and not state.dated
            )
            or move is Move.CLEAR_POWER_OFF
        ),
    ),
    (
        "whoever needs something always has a move",
        lambda state, move: (move is Move.NOTHING) == (not state.need and not state.hold),
    ),
]


@pytest.mark.parametrize("holds", [pytest.param(holds, id=name) for name, holds in PROPERTIES])
def test_in_every_state(holds: Callable[[PowerState, Move], bool]) -> None:
    assert [state for state in STATES if not holds(state, move_for(state))] == []


def test_every_move_is_made_somewhere_and_every_row_says_why() -> None:
    assert {move_for(state) for state in STATES} == set(Move)
    assert all(row.why.endswith(".") for row in TABLE)
