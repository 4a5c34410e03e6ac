"""Two versions understand one another: what is written stays the same to the byte, and is read."""

import pytest

from tests.unit.agent.written_formats import formats, golden

NAMES = tuple(formats())


def test_each_format_has_its_golden_bytes() -> None:
    assert golden().keys() == formats().keys()


@pytest.mark.parametrize("name", NAMES)
def test_it_is_written_as_by_the_version_of_the_golden_bytes(name: str) -> None:
    assert formats()[name].written == golden()[name]


@pytest.mark.parametrize("name", NAMES)
def test_golden_bytes_are_read(name: str) -> None:
    found = formats()[name]
    assert found.read(golden()[name]) == found.means
