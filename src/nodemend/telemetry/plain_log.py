"""The same lines without structlog, which brings rich with it and costs megabytes that an agent lacks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from nodemend.telemetry.log_lines import (
    LEVELS,
    LogForm,
    LogLevel,
    LogStream,
    bounded,
    console_line,
    json_line,
    print_moment,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainLog:
    """A Log. Every line carries the `fixed` fields (program, version, identity)."""

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
