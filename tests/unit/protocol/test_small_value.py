"""Small values behave like frozen dataclasses, as far as the code relies on that."""

import pytest

from nodemend.protocol.values import SmallValue


class Point(SmallValue):
    x: int
    y: int = 7


class Spot(Point):
    name: str = ""


class Twin(SmallValue):
    x: int
    y: int = 7


def test_fields_by_place_by_name_and_by_default() -> None:
    assert (Point(1).x, Point(1).y, Point(1, 2).y, Point(x=1, y=3).y) == (1, 7, 2, 3)
    assert (Spot(1, 2, "a").name, Spot(1).name) == ("a", "")


def test_equal_by_kind_and_content() -> None:
    assert Point(1) == Point(1, 7)
    assert hash(Point(1)) == hash(Point(1, 7))
    assert Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert Point(1) != (1, 7)


def test_a_value_does_not_change() -> None:
    with pytest.raises(AttributeError, match="its x does not change"):
        Point(1).x = 2  # type: ignore[misc]  # which is the point
    assert Point(1).x == 1


def test_printed_as_it_was_made() -> None:
    assert repr(Point(1)) == "Point(x=1, y=7)"


def test_matched_by_place() -> None:
    match Spot(1, 2, "a"):
        case Spot(x, y, name):
            assert (x, y, name) == (1, 2, "a")


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((1,), {"x": 1}), ((), {"y": 1})],
)
def test_missing_and_unknown_fields_are_refused(values: tuple[int, ...], named: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="Point"):
        Point(*values, **named)
