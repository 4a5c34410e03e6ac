"""Headers with a time. tests/integration/test_http_transport.py tests the transport on a network."""

import pytest

from nodemend.kube.http_transport import read_http_date, read_retry_after

_DATE = "Sun, 15 Nov 2026 04:05:42 GMT"


def test_a_date_is_seconds_since_the_epoch() -> None:
    assert read_http_date(_DATE) == 1794715542.0


@pytest.mark.parametrize("text", ["", "yesterday", "99", "Sun, 99 Nov 2026 04:05:42 GMT"])
def test_an_invalid_date_is_ignored(text: str) -> None:
    assert read_http_date(text) is None


@pytest.mark.parametrize(
    ("text", "server_time", "seconds"),
    [
        ("5", None, 5.0),
        (" 0 ", None, 0.0),
        (_DATE, 1794715540.0, 2.0),
        (_DATE, 1794715549.0, 0.0),
        # A date means nothing without the clock that it was read from.
        (_DATE, None, None),
        ("", 0.0, None),
        ("-3", 0.0, None),
        ("soon", 0.0, None),
    ],
)
def test_retry_after_is_a_number_or_a_date_by_the_server_s_clock(
    text: str, server_time: float | None, seconds: float | None
) -> None:
    assert read_retry_after(text, server_time) == seconds


@pytest.mark.attack("S5")
@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 99999999999 08:49:37 GMT",
        "Thu, 31 Dec 0000 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 +1400",
        "Mon, 01 Jan 9999 23:59:59 -1400",
        "Mon, 01 Jan 2020 00:00:00 +99999999999",
        "Sun, 06 Nov 1994 08:49:37 GMT" + " " * 100_000,
        "1" * 5000,
        "\u0663",
        "\x00",
        "(((((((",
        "0" * 64,
    ],
)
def test_no_date_of_a_server_raises(text: str) -> None:
    moment = read_http_date(text)
    assert moment is None or 0.0 <= moment <= 253402300799.0
    for now in (None, 0.0, 1e12):
        wait = read_retry_after(text, now)
        assert wait is None or 0.0 <= wait <= 86400.0
