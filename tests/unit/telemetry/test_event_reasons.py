"""Event reasons are identifiers that the API server accepts and users can look up."""

import re

import pytest

from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EVENT_REASONS, EventReason

CAMEL_CASE = re.compile(r"[A-Z][a-z]+([A-Z][a-z]+)*")


@pytest.mark.parametrize("reason", EVENT_REASONS, ids=lambda reason: reason.name)
def test_reason_and_action_are_camel_case_words_and_the_meaning_a_sentence(reason: EventReason) -> None:
    assert CAMEL_CASE.fullmatch(reason.name)
    assert CAMEL_CASE.fullmatch(reason.action)
    assert re.fullmatch(r"[A-Z].*\.", reason.meaning)


def test_the_list_has_every_reason_once() -> None:
    defined = [value for value in vars(event_reasons).values() if isinstance(value, EventReason)]

    assert list(EVENT_REASONS) == defined
    assert len({reason.name for reason in EVENT_REASONS}) == len(EVENT_REASONS)
