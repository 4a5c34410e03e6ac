"""A log line is one JSON object for any field values; in text form it is one line, too."""

import io
import json
import logging
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.telemetry.logging import LibraryLogs, Log, LogForm, LogLevel, LogStream

MOMENT = datetime(2026, 1, 31, 13, 0, 0, 123_987, tzinfo=timezone(timedelta(hours=1)))
FIXED = {"program": "nodemend-checker", "version": "1.2.3", "identity": "pod-0"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def logging_to(stream: io.StringIO, form: LogForm = LogForm.AUTO, level: LogLevel = LogLevel.INFO) -> Log:
    return Log(LogStream(stream), form=form, level=level, fixed=FIXED, wall=lambda: MOMENT)


def test_a_line_has_time_level_event_and_who_says_so() -> None:
    stream = io.StringIO()
    logging_to(stream).info("node judged", node="edge-07", standing="Suspect", age=3.5)

    assert json.loads(stream.getvalue()) == {
        "time": "2026-01-31T12:00:00.123Z",
        "level": "info",
        "event": "node judged",
        **FIXED,
        "node": "edge-07",
        "standing": "Suspect",
        "age": 3.5,
    }


@given(value=st.text(), field=st.sampled_from(["node", "why", "level", "time", "event_", "program"]))
def test_no_string_can_forge_a_line_or_another_field(value: str, field: str) -> None:
    stream = io.StringIO()
    logging_to(stream).warning("held", **{field: value})

    [line] = stream.getvalue().splitlines()
    said = json.loads(line)
    assert (said["level"], said["event"], said["program"]) == ("warning", "held", "nodemend-checker")
    assert line.isprintable()


@given(st.text())
def test_nor_a_line_on_a_terminal(value: str) -> None:
    stream = Terminal()
    logging_to(stream).info("held", why=value)

    [line] = stream.getvalue().splitlines()
    assert line.startswith("2026-01-31T12:00:00.123Z  info     held  why=")
    assert line.isprintable()


def test_a_field_is_never_longer_than_its_limit() -> None:
    stream = io.StringIO()
    logging_to(stream).info("held", why="x" * 1_000_000)

    assert len(stream.getvalue()) < 3000


def test_what_is_no_simple_value_is_shown_as_text() -> None:
    stream = io.StringIO()
    logging_to(stream).info("step", key=("default", "edge-07"), nothing=None, yes=True, much=float("inf"))

    said = json.loads(stream.getvalue())
    assert (said["key"], said["nothing"], said["yes"]) == ("('default', 'edge-07')", None, True)


@pytest.mark.parametrize(
    ("level", "lines"), [(LogLevel.DEBUG, 4), (LogLevel.INFO, 3), (LogLevel.WARNING, 2), (LogLevel.ERROR, 1)]
)
def test_lines_below_the_level_are_not_written(level: LogLevel, lines: int) -> None:
    stream = io.StringIO()
    log = logging_to(stream, level=level)
    for say in (log.debug, log.info, log.warning, log.error):
        say("something happened")

    assert len(stream.getvalue().splitlines()) == lines


def test_a_requested_format_is_kept_on_a_terminal() -> None:
    stream = Terminal()
    logging_to(stream, LogForm.JSON).info("held")

    assert json.loads(stream.getvalue())["event"] == "held"


def test_a_stream_that_is_gone_stops_nothing() -> None:
    stream = LogStream(Broken())
    log = Log(stream, form=LogForm.JSON, level=LogLevel.INFO, fixed=FIXED, wall=lambda: datetime.now(UTC))
    log.info("held")

    assert stream.lost == 1


def test_log_records_of_libraries_use_the_same_format() -> None:
    stream = io.StringIO()
    error = ValueError("bad\nrequest")
    record = logging.LogRecord(
        "aiohttp.server",
        logging.ERROR,
        "web_protocol.py",
        1,
        "Error handling %s",
        ("request",),
        (ValueError, error, None),
    )
    LibraryLogs(logging_to(stream)).handle(record)

    said = json.loads(stream.getvalue())
    assert said["level"] == "error"
    assert said["logger"] == "aiohttp.server"
    assert said["message"] == "Error handling request"
    assert said["error"] == "ValueError: bad\\nrequest"
