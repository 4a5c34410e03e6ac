"""The expressions are CEL. These tests read the regular expressions in them, which Python reads alike."""

import re

import pytest

from nodemend.api import meta
from nodemend.api.meta import Rule
from nodemend.api.quantities import parse_duration

CASES = [
    (
        meta.OBJECT_NAME,
        ["a", "call-the-admin", "a.b-c.d"],
        ["", "A", "-a", "a-", "a..b", "a b", "a_b"],
    ),
    (meta.NAMESPACE_NAME, ["a", "kube-system", "0"], ["", "a.b", "a-", "Kube"]),
    (
        meta.LABEL_KEY,
        ["rack", "a.io/rack_1.x", "A"],
        ["", "a b", "/rack", "a/", "A.io/rack", "a/b/c"],
    ),
    (meta.LABEL_VALUE, ["", "a", "A_1.b-c"], ["-a", "a-", "a b", "ä"]),
    (meta.CONDITION_TYPE, ["Ready", "a.io/DiskBroken"], ["", "not ready"]),
    (
        meta.DURATION,
        ["5m", "1h30m", "90s", "1h2m3s", "999999h"],
        ["5", "m", "5 m", "1.5h", "-5m", "1m1h"],
    ),
]


@pytest.mark.parametrize(("rule", "good", "bad"), CASES)
def test_a_valid_name_format_is_distinguished_from_similar_strings(
    rule: Rule, good: list[str], bad: list[str]
) -> None:
    pattern = re.compile(rule.expression.partition("self.matches('")[2].partition("')")[0])

    assert [text for text in good if not pattern.search(text)] == []
    assert [text for text in bad if pattern.search(text)] == []


def test_every_duration_that_the_api_server_accepts_can_be_read() -> None:
    for text in ("999999h999999m", "999999s"):
        assert parse_duration(text).total_seconds() > 0
