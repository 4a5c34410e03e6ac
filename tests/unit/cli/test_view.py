"""Views as JSON and YAML."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import StrEnum
from typing import ClassVar

import pytest
import yaml

from nodemend.cli.options import Form
from nodemend.cli.output import as_document, as_line, as_plain


class Level(StrEnum):
    FAIL = "FAIL"


@dataclass(frozen=True)
class Inner:
    node_uid: str
    boot_id: str
    for_seconds: float | None


@dataclass(frozen=True)
class Outer:
    kind: ClassVar[str] = "Outer"
    level: Level
    when: datetime
    rows: tuple[Inner, ...]
    abilities: dict[str, bool]


VIEW = Outer(
    Level.FAIL,
    datetime(2026, 1, 31, 13, 0, tzinfo=timezone(timedelta(hours=1))),
    (Inner("u", "b", 1.23456), Inner("u", "b", None)),
    {"view": True},
)
PLAIN = {
    "level": "FAIL",
    "when": "2026-01-31T12:00:00.000Z",
    "rows": [
        {"nodeUID": "u", "bootID": "b", "forSeconds": 1.235},
        {"nodeUID": "u", "bootID": "b", "forSeconds": None},
    ],
    "abilities": {"view": True},
}


def test_fields_are_named_as_kubernetes_names_them() -> None:
    assert as_plain(VIEW) == PLAIN
    typed = {"apiVersion": "cli.nodemend.io/v1alpha1", "kind": "Outer", **PLAIN}
    assert json.loads(as_document(VIEW, Form.JSON)) == typed
    assert json.loads(as_line(VIEW)) == typed
    assert yaml.safe_load(as_document(VIEW, Form.YAML)) == typed


def test_a_number_that_json_cannot_express_is_null() -> None:
    assert as_plain(float("inf")) is None


def test_an_invalid_view_is_refused() -> None:
    with pytest.raises(TypeError, match="object is no part of a view"):
        as_plain({"x": object()})


@pytest.mark.attack("S15")
@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_a_document_holds_nothing_that_acts_on_a_terminal(form: Form) -> None:
    text = "\x1b[2J\u202e\u009b31m\x7f\U000e0001 end"
    shown = as_document({"reason": text}, form)

    assert shown.replace("\n", "").isprintable()
    assert yaml.safe_load(as_document({"reason": "\u202e"}, form)) == {"reason": "\u202e"}
    if form is Form.JSON:
        assert json.loads(shown) == {"reason": text}
    assert as_line({"reason": text}).isprintable()
