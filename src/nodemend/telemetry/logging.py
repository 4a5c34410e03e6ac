"""Writes log lines: one JSON object per line, or one line for a terminal. Foreign text cannot forge a line.

The agent imports this module, so it needs no logging library: structlog loads rich and costs megabytes.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TextIO

import msgspec

from nodemend.telemetry.printable import printable

LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogForm(StrEnum):
    """`auto` is console on a terminal and json elsewhere."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


class LogStream:
    """Writes lines. A line that cannot be written is counted and lost: logging must not stop healing."""

    def __init__(self, stream: TextIO) -> None:
        self.lost = 0
        self._stream = stream

    @property
    def is_terminal(self) -> bool:
        return self._stream.isatty()

    def write(self, line: str) -> None:
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self.lost += 1


def print_moment(moment: datetime) -> str:
    """UTC, to the millisecond."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def bounded(value: object) -> object:
    """The value for a field: None, a number, a boolean, or a text that is printable and not too long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return printable(str(value))


def json_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    # The header comes first for readers and again last for safety: no field may replace a field of the
    # header.
    return msgspec.json.encode({**header, **fields, **header}).decode()


def console_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    said = "".join(f"  {name}={_quoted(value)}" for name, value in fields.items())
    return f"{header['time']}  {header['level']:<7}  {header['event']}{said}"


def _quoted(value: object) -> str:
    text = str(value)
    return msgspec.json.encode(text).decode() if not text or set(text) & set(' ="') else text


@dataclass(frozen=True, slots=True)
class Log:
    """Writes one line per call, with the `fixed` fields (program, version, identity). Never raises.

    `event` is a fixed phrase; variable parts are fields.
    """

    stream: LogStream
    form: LogForm
    level: LogLevel
    fixed: Mapping[str, str]
    wall: Callable[[], datetime]

    def debug(self, event: str, **fields: object) -> None:
        self._write(LogLevel.DEBUG, event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write(LogLevel.INFO, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write(LogLevel.WARNING, event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write(LogLevel.ERROR, event, fields)

    def _write(self, level: LogLevel, event: str, fields: Mapping[str, object]) -> None:
        if LEVELS[level] < LEVELS[self.level]:
            return
        said = {name: bounded(value) for name, value in fields.items()}
        header = {"time": print_moment(self.wall()), "level": level.value, "event": bounded(event)}
        console = self.stream.is_terminal if self.form is LogForm.AUTO else self.form is LogForm.CONSOLE
        if console:
            self.stream.write(console_line(header, said))
        else:
            self.stream.write(json_line(header, {**self.fixed, **said, **self.fixed}))


class LibraryLogs(logging.Handler):
    """Writes the log records of libraries as Nodemend's lines, so that the stream holds nothing else."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        why = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}" if record.exc_info else ""
        say("library", logger=record.name, message=record.getMessage(), error=why)
