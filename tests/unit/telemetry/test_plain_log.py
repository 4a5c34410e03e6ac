"""The agent's log writes exactly the lines that structlog would."""

import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream, PlainLog, open_log

MOMENT = datetime(2026, 1, 31, 13, 0, 0, 123_987, tzinfo=UTC)
FIXED = {"program": "nodemend-agent", "version": "1.2.3", "node": "n1"}
FIELDS = st.dictionaries(
    st.sampled_from(["why", "level", "time", "program", "seconds"]),
    st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.none(), st.booleans()),
)


def both(form: LogForm, level: LogLevel) -> tuple[tuple[Log, io.StringIO], tuple[Log, io.StringIO]]:
    first, second = io.StringIO(), io.StringIO()
    plain = PlainLog(stream=LogStream(first), form=form, level=level, fixed=FIXED, wall=lambda: MOMENT)
    by_structlog = open_log(LogStream(second), form=form, level=level, fixed=FIXED, wall=lambda: MOMENT)
    return (plain, first), (by_structlog, second)


@given(form=st.sampled_from(LogForm), event=st.text(), fields=FIELDS)
def test_the_same_line(form: LogForm, event: str, fields: dict[str, object]) -> None:
    (plain, said), (other, expected) = both(form, LogLevel.INFO)
    plain.warning(event, **fields)
    other.warning(event, **fields)

    assert said.getvalue() == expected.getvalue() != ""


@pytest.mark.parametrize("level", LogLevel)
def test_the_same_levels(level: LogLevel) -> None:
    (plain, said), (other, expected) = both(LogForm.JSON, level)
    for log in (plain, other):
        log.debug("a")
        log.info("b")
        log.warning("c")
        log.error("d")

    assert said.getvalue() == expected.getvalue() != ""
