"""What is written on a Machine: an owner's own words are left alone, and other words alone are no news."""

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.machine_marks import WAITING, Mark, Marks, ask_owner, spare_owner

BEGUN = Mark(ConditionStatus.FALSE, "RemediationInProgress", "deleting it")
ASKED = Mark(ConditionStatus.FALSE, WAITING)


def test_an_owner_that_has_begun_is_not_asked_again() -> None:
    assert ask_owner(Marks(owner=BEGUN)) is BEGUN
    assert ask_owner(Marks()) == ASKED


def test_the_wish_is_taken_back_only_while_the_owner_has_not_begun() -> None:
    assert spare_owner(Marks(owner=ASKED)) is None
    assert spare_owner(Marks(owner=BEGUN)) is BEGUN


def test_another_message_alone_is_no_news() -> None:
    assert Mark(ConditionStatus.FALSE, WAITING, "one") == Mark(ConditionStatus.FALSE, WAITING, "other")
    assert Mark(ConditionStatus.FALSE, WAITING) != Mark(ConditionStatus.FALSE, "Other")
