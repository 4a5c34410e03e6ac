"""Counts, shares and ranges, against fractions."""

from fractions import Fraction

import pytest

from nodemend.safety.limits import (
    Between,
    Count,
    LimitComparison,
    LimitSemantics,
    Percent,
    can_never_act,
    closed,
    max_allowed_unhealthy,
    parse_comparison,
)


@pytest.mark.conforms("N2")
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (3, Count(3)),
        ("3", Count(3)),
        ("0", Count(0)),
        ("40%", Percent(40)),
        ("0%", Percent(0)),
        ("100%", Percent(100)),
        ("[1-3]", Between(1, 3)),
        ("[2-2]", Between(2, 2)),
    ],
)
def test_a_limit_is_read_as_people_write_it_and_written_back(
    written: str | int, meant: LimitComparison
) -> None:
    assert parse_comparison(written) == meant
    assert str(meant) == str(written)


@pytest.mark.conforms("N2")
@pytest.mark.parametrize(
    "written", ["", "%", "101%", "-1", -1, "4.5%", "a", "1%0", "[3-1]", "[1-]", "40 %", "[1-3", "12345678901"]
)
def test_what_is_no_limit_is_refused(written: str | int) -> None:
    with pytest.raises(ValueError, match="is no limit"):
        parse_comparison(written)


@pytest.mark.conforms("N2")
@pytest.mark.parametrize("reading", LimitSemantics)
@pytest.mark.parametrize("gate", [*map(Count, (0, 1, 3)), *map(Percent, (0, 33, 40, 100))])
def test_the_gate_closes_just_beyond_its_room(gate: Count | Percent, reading: LimitSemantics) -> None:
    for total in range(12):
        for unhealthy in range(total + 1):
            bar = Fraction(gate.value) if isinstance(gate, Count) else Fraction(gate.value * total, 100)
            wanted = unhealthy > bar if reading is LimitSemantics.ABOVE_LIMIT else unhealthy >= bar
            if (
                reading is LimitSemantics.ALLOW_ONE
                and isinstance(gate, Percent)
                and gate.value
                and unhealthy < 2
            ):
                wanted = False
            assert closed(gate, unhealthy, total, reading) == wanted
            assert (unhealthy > max_allowed_unhealthy(gate, total, reading)) == wanted


def test_a_range_is_open_from_its_least_to_its_most() -> None:
    gate = Between(2, 4)
    open_at = [count for count in range(8) if not closed(gate, count, 10, LimitSemantics.AT_LIMIT)]
    assert open_at == [2, 3, 4]
    assert max_allowed_unhealthy(gate, 10, LimitSemantics.AT_LIMIT) == 4


@pytest.mark.parametrize(
    ("gate", "total", "reading", "never"),
    [
        (Count(1), 5, LimitSemantics.AT_LIMIT, True),
        (Count(2), 5, LimitSemantics.AT_LIMIT, False),
        (Count(1), 5, LimitSemantics.ABOVE_LIMIT, False),
        (Count(0), 5, LimitSemantics.ABOVE_LIMIT, True),
        (Percent(20), 5, LimitSemantics.AT_LIMIT, True),
        (Percent(21), 5, LimitSemantics.AT_LIMIT, False),
        (Percent(20), 5, LimitSemantics.ABOVE_LIMIT, False),
        (Percent(19), 5, LimitSemantics.ABOVE_LIMIT, True),
        (Between(0, 0), 5, LimitSemantics.AT_LIMIT, True),
        (Percent(1), 2, LimitSemantics.ALLOW_ONE, False),
        (Percent(0), 2, LimitSemantics.ALLOW_ONE, True),
        (Count(1), 2, LimitSemantics.ALLOW_ONE, True),
        (Count(0), 0, LimitSemantics.AT_LIMIT, False),
        (Count(1), 1, LimitSemantics.AT_LIMIT, True),
    ],
)
def test_a_single_unhealthy_target_can_exceed_the_limit(
    gate: LimitComparison, total: int, reading: LimitSemantics, *, never: bool
) -> None:
    assert can_never_act(gate, total, reading) == never


@pytest.mark.conforms("N2")
def test_a_count_of_more_than_there_are_never_closes() -> None:
    assert not any(
        closed(Count(6), unhealthy, 5, reading) for unhealthy in range(6) for reading in LimitSemantics
    )


def test_the_smallest_share_allows_one_target_and_no_share_allows_none() -> None:
    assert not closed(Percent(1), 1, 10, LimitSemantics.ALLOW_ONE)
    assert closed(Percent(1), 2, 10, LimitSemantics.ALLOW_ONE)
    assert closed(Percent(0), 1, 10, LimitSemantics.ALLOW_ONE)
    assert closed(Percent(0), 0, 10, LimitSemantics.ALLOW_ONE)
