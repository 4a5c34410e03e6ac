"""What a log line is: its level, its form, where it goes. Nothing foreign can forge one."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Protocol, TextIO

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


class Log(Protocol):
    """Writes one line a call. `event` is a fixed phrase, what varies goes into fields. Never raises."""

    def debug(self, event: str, **fields: object) -> object: ...

    def info(self, event: str, **fields: object) -> object: ...

    def warning(self, event: str, **fields: object) -> object: ...

    def error(self, event: str, **fields: object) -> object: ...


class LogStream:
    """Where lines go. One that cannot be written is counted and lost: logging must not stop the healing."""

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


class LibraryLogs(logging.Handler):
    """Carries what libraries log the usual way into our lines, so that the stream holds nothing else."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        say = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        why = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}" if record.exc_info else ""
        say("library", logger=record.name, message=record.getMessage(), error=why)


def bounded(value: object) -> object:
    """What a field may hold: a number, a truth, or a text that is printable and not too long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return printable(str(value))


def json_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    # The header comes first for people and last for truth: no field may take the place of one of its own.
    return msgspec.json.encode({**header, **fields, **header}).decode()


def console_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    said = "".join(f"  {name}={_quoted(value)}" for name, value in fields.items())
    return f"{header['time']}  {header['level']:<7}  {header['event']}{said}"


def _quoted(value: object) -> str:
    text = str(value)
    return msgspec.json.encode(text).decode() if not text or set(text) & set(' ="') else text
