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


def test_no_two_reasons_have_one_name() -> None:
    assert event_reasons.POLICY_NOT_PROVEN in EVENT_REASONS
    assert len({reason.name for reason in EVENT_REASONS}) == len(EVENT_REASONS)
