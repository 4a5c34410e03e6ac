"""Conditions of a Machine: an owner's conditions stay, and a changed message alone is no change."""

from nodemend.api.meta import ConditionStatus
from nodemend.rules.machine import WAITING, HealthCondition, HealthConditions, ask_owner, spare_owner

BEGUN = HealthCondition(ConditionStatus.FALSE, "RemediationInProgress", "deleting it")
ASKED = HealthCondition(ConditionStatus.FALSE, WAITING)


def test_an_owner_that_has_begun_is_not_asked_again() -> None:
    assert ask_owner(HealthConditions(owner=BEGUN)) is BEGUN
    assert ask_owner(HealthConditions()) == ASKED


def test_the_request_is_withdrawn_only_before_the_owner_has_begun() -> None:
    assert spare_owner(HealthConditions(owner=ASKED)) is None
    assert spare_owner(HealthConditions(owner=BEGUN)) is BEGUN


def test_a_changed_message_alone_is_no_change() -> None:
    assert HealthCondition(ConditionStatus.FALSE, WAITING, "one") == HealthCondition(
        ConditionStatus.FALSE, WAITING, "other"
    )
    assert HealthCondition(ConditionStatus.FALSE, WAITING) != HealthCondition(ConditionStatus.FALSE, "Other")
