"""Public strings are an API: a change of one is a visible change of the golden file."""

import pytest

from nodemend.api import condition_reasons, condition_types
from nodemend.remediation.metal3.model import RequestPowerOff
from nodemend.safety.guard_holds import StartInterval
from tests.tidy.public_strings import GOLDEN, lines

AGAIN = "Read the difference, then run `python -m tests.tidy.public_strings`."


def test_public_strings_are_those_of_the_golden_file() -> None:
    known, found = GOLDEN.read_text().splitlines(), lines()
    changed = [
        *(f"- {one}" for one in known if one not in found),
        *(f"+ {one}" for one in found if one not in known),
    ]
    assert known == found, "\n".join([AGAIN, *changed])


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (condition_types, "FENCED"),
        (condition_reasons, "WORKLOADS_GONE"),
        (StartInterval, "reason"),
        (RequestPowerOff, "step"),
    ],
    ids=lambda one: str(getattr(one, "__name__", one)),
)
def test_a_string_that_changes_is_noticed(where: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, "SomethingElse")
    assert GOLDEN.read_text().splitlines() != lines()


def test_no_string_is_listed_twice_in_one_kind() -> None:
    found = [one for one in lines() if not one.startswith("file of")]
    assert not {one for one in found if found.count(one) > 1}
