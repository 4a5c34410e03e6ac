"""Conditions of a Machine: an owner's conditions stay, and a changed message alone is no change."""

from nodemend.api.meta import ConditionStatus
from nodemend.rules.machine import WAITING, HealthCondition, HealthConditions, ask_owner, spare_owner

BEGUN = HealthCondition(ConditionStatus.FALSE, "RemediationInProgress", "deleting it")
ASKED = HealthCondition(ConditionStatus.FALSE, WAITING)


def test_an_owner_that_has_begun_is_not_asked_again() -> None:
    assert ask_owner(HealthConditions(owner=BEGUN)) is BEGUN
    assert ask_owner(HealthConditions()) == ASKED


def test_the_wish_is_taken_back_only_while_the_owner_has_not_begun() -> None:
    assert spare_owner(HealthConditions(owner=ASKED)) is None
    assert spare_owner(HealthConditions(owner=BEGUN)) is BEGUN


def test_another_message_alone_is_no_news() -> None:
    assert HealthCondition(ConditionStatus.FALSE, WAITING, "one") == HealthCondition(
        ConditionStatus.FALSE, WAITING, "other"
    )
    assert HealthCondition(ConditionStatus.FALSE, WAITING) != HealthCondition(ConditionStatus.FALSE, "Other")
