"""The log of a controller, by structlog: one JSON object a line, or one line for a person at a terminal."""

from collections.abc import Callable, Mapping, MutableMapping
from datetime import datetime
from typing import Any, cast

import structlog

from nodemend.telemetry.log_lines import (
    LEVELS,
    LibraryLogs,
    Log,
    LogForm,
    LogLevel,
    LogStream,
    bounded,
    console_line,
    json_line,
    print_moment,
)

__all__ = ["LibraryLogs", "Log", "LogForm", "LogLevel", "LogStream", "open_log", "print_moment"]


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
    render = console_line if console else json_line

    def finish(_logger: object, method: str, fields: MutableMapping[str, Any]) -> str:
        said = {name: bounded(value) for name, value in fields.items()}
        header = {"time": print_moment(wall()), "level": method, "event": said.pop("event", "")}
        return render(header, said if console else {**fixed, **said, **fixed})

    logger = structlog.wrap_logger(
        _Writer(stream),
        processors=[finish],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
    return cast("Log", logger.bind())


class _Writer:
    """What structlog hands finished lines to, whatever their level."""

    def __init__(self, stream: LogStream) -> None:
        self.debug = self.info = self.warning = self.error = stream.write
