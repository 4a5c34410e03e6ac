"""Texts become values, or a sentence that says what they must be."""

from collections.abc import Callable

import pytest

from nodemend.settings.setting import (
    Setting,
    choice_of,
    parse_name,
    parse_namespace,
    parse_port,
    parse_seconds,
)
from nodemend.telemetry.logging import LogLevel


def test_flag_and_variable_are_made_from_one_name() -> None:
    setting = Setting("probe-port", parse_port, "8081", "The port.")

    assert (setting.flag, setting.variable, setting.key) == (
        "--probe-port",
        "NODEMEND_PROBE_PORT",
        "probe_port",
    )


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_port, "0", 0),
        (parse_port, "65535", 65535),
        (parse_seconds, "1m30s", 90.0),
        (parse_namespace, "nodemend-system", "nodemend-system"),
        (parse_name, "pod-0", "pod-0"),
        (choice_of(LogLevel), "warning", LogLevel.WARNING),
    ],
)
def test_good_texts(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "must_be"),
    [
        (parse_port, "65536", "a port"),
        (parse_port, "-1", "a port"),
        (parse_port, "http", "a port"),
        (parse_port, "٣", "a port"),
        (parse_port, "", "a port"),
        (parse_seconds, "15", "a duration such as 15s"),
        (parse_seconds, "0s", "longer than 0s"),
        (parse_namespace, "Nodemend_System", "the name of a namespace"),
        (parse_namespace, "x" * 64, "the name of a namespace"),
        (parse_name, "two words", "one printable word"),
        (parse_name, "a\n", "one printable word"),
        (choice_of(LogLevel), "loud", "one of debug, info, warning, error"),
    ],
)
def test_bad_texts(parse: Callable[[str], object], text: str, must_be: str) -> None:
    with pytest.raises(ValueError, match=must_be):
        parse(text)
