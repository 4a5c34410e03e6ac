"""Reasons are words that the API server takes and people can look up."""

import re

import pytest

from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EVENT_REASONS, EventReason

WORD = re.compile(r"[A-Z][a-z]+([A-Z][a-z]+)*")


@pytest.mark.parametrize("reason", EVENT_REASONS, ids=lambda reason: reason.word)
def test_reason_and_action_are_camel_case_words_and_the_meaning_a_sentence(reason: EventReason) -> None:
    assert WORD.fullmatch(reason.word)
    assert WORD.fullmatch(reason.action)
    assert re.fullmatch(r"[A-Z].*\.", reason.meaning)


def test_the_list_has_every_reason_once() -> None:
    defined = [value for value in vars(event_reasons).values() if isinstance(value, EventReason)]

    assert list(EVENT_REASONS) == defined
    assert len({reason.word for reason in EVENT_REASONS}) == len(EVENT_REASONS)
