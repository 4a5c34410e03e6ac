"""The map of CAPM3's tests: every name has existing tests or a reason, and the page is up to date."""

from conformance.capm3_map import collect
from conformance.name_map import (
    Held,
    NameMap,
    Names,
    cases_of,
    missing_tests,
    named_tests,
    read_map,
    summary_of,
)
from conformance.name_map_page import PAGE, page

SMALL = NameMap(
    "T",
    "a",
    {"x": "tests/x.py"},
    [Names("S", {"one": Held(["x::a", "x::b[1]"]), "two": "no need", "three": None, "four": Held(["x::a"])})],
)


def test_every_test_that_it_names_is_there() -> None:
    names = read_map()

    assert missing_tests(named_tests(names), collect(names)) == []


def test_no_name_is_unmapped_and_no_file_is_idle() -> None:
    names = read_map()
    used = {test.partition("::")[0] for test in named_tests(names)}

    assert summary_of(names).unmapped == []
    assert used == set(names.files.values())


def test_the_page_is_that_of_the_map() -> None:
    """`just capm3-map --table` regenerates the page."""
    assert PAGE.read_text() == page(read_map())


def test_a_test_is_counted_once_and_an_unknown_name_is_reported() -> None:
    assert str(summary_of(SMALL)) == "4 names: 2 tested by 2 tests, 1 by reason, 1 unmapped"
    assert summary_of(SMALL).unmapped == ["S: three"]


def test_a_case_is_missing_when_it_is_not_there_and_a_test_when_it_has_none() -> None:
    named = named_tests(SMALL)

    assert missing_tests(named, {"tests/x.py::a[9]": False, "tests/x.py::b[1]": True}) == []
    assert missing_tests(named, {"tests/x.py::b[2]": False}) == ["tests/x.py::a", "tests/x.py::b[1]"]


def test_all_cases_are_run_of_a_test_and_one_of_a_case() -> None:
    there = {
        "tests/x.py::a[1]": False,
        "tests/x.py::a[2]": False,
        "tests/x.py::b[1]": True,
        "tests/x.py::b[2]": False,
    }

    assert cases_of(named_tests(SMALL), there) == {
        "tests/x.py::a[1]": False,
        "tests/x.py::a[2]": False,
        "tests/x.py::b[1]": True,
    }
