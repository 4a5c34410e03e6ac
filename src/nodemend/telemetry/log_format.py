"""Log lines: one JSON object each, or one line for a person at a terminal. Nothing foreign can forge one."""

import logging
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, Protocol, TextIO, cast

import msgspec
import structlog

from nodemend.telemetry.printable import printable

_LEVELS: Final = {"debug": 10, "info": 20, "warning": 30, "error": 40}


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


def open_log(
    stream: LogStream,
    *,
    form: LogForm,
    level: LogLevel,
    fixed: Mapping[str, str],
    wall: Callable[[], datetime],
) -> Log:
    """A log whose every line carries the `fixed` fields (program, version, identity)."""
    console = stream.is_terminal if form is LogForm.AUTO else form is LogForm.CONSOLE
    render = _console_line if console else _json_line

    def finish(_logger: object, method: str, fields: MutableMapping[str, Any]) -> str:
        said = {name: _bounded(value) for name, value in fields.items()}
        header = {"time": print_moment(wall()), "level": method, "event": said.pop("event", "")}
        return render(header, said if console else {**fixed, **said, **fixed})

    logger = structlog.wrap_logger(
        _Writer(stream),
        processors=[finish],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
    )
    return cast("Log", logger.bind())


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


class _Writer:
    """What structlog hands finished lines to, whatever their level."""

    def __init__(self, stream: LogStream) -> None:
        self.debug = self.info = self.warning = self.error = stream.write


def _bounded(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return printable(str(value))


def _json_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    # The header comes first for people and last for truth: no field may take the place of one of its own.
    return msgspec.json.encode({**header, **fields, **header}).decode()


def _console_line(header: Mapping[str, object], fields: Mapping[str, object]) -> str:
    said = "".join(f"  {name}={_quoted(value)}" for name, value in fields.items())
    return f"{header['time']}  {header['level']:<7}  {header['event']}{said}"


def _quoted(value: object) -> str:
    text = str(value)
    return msgspec.json.encode(text).decode() if not text or set(text) & set(' ="') else text
