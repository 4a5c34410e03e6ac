"""The remediator's own measurements never claim more than it knows."""

import msgspec
import pytest

from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationSpec
from nodemend.api.meta import ManagedFields, ObjectMeta
from nodemend.records.live_reads import UnchangedTimer
from nodemend.remediation.manual.controller import confirmation_age
from tests.unit.safety.worlds import CONFIRMATION

GIVEN = "2026-01-01T12:00:00Z"
GIVEN_AT = 1767268800.0
CONFIRMED = msgspec.Raw(b'{"f:spec":{"f:confirmation":{}}}')


def remediation(*entries: ManagedFields) -> ManualRemediation:
    metadata = ObjectMeta(uid="rem-1", managed_fields=entries)
    return ManualRemediation(metadata=metadata, spec=ManualRemediationSpec(confirmation=CONFIRMATION))


def entry(time: str = GIVEN, fields: msgspec.Raw = CONFIRMED, subresource: str = "") -> ManagedFields:
    return ManagedFields(time=time, fields_v1=fields, subresource=subresource)


def test_silence_counts_from_the_first_answer_to_the_last_question() -> None:
    seen = UnchangedTimer()
    assert seen.unchanged_for("lease", "12:00", asked_at=10.0, answered_at=12.0) == 0.0
    assert seen.unchanged_for("lease", "12:00", asked_at=20.0, answered_at=25.0) == 8.0
    assert seen.unchanged_for("lease", "12:01", asked_at=30.0, answered_at=31.0) == 0.0
    assert seen.unchanged_for("lease", "12:00", asked_at=40.0, answered_at=41.0) == 0.0


def test_the_least_recently_observed_entry_is_forgotten_first() -> None:
    seen = UnchangedTimer()
    for number in range(10_001):
        seen.unchanged_for(f"lease-{number}", "x", asked_at=0.0, answered_at=0.0)
    assert seen.unchanged_for("lease-1", "x", asked_at=5.0, answered_at=5.0) == 5.0
    assert seen.unchanged_for("lease-0", "x", asked_at=5.0, answered_at=5.0) == 0.0


def test_a_words_age_is_the_larger_of_both_clocks() -> None:
    words = UnchangedTimer()
    assert confirmation_age(remediation(entry()), GIVEN_AT + 30.0, words, 100.0) == 30.0
    assert confirmation_age(remediation(entry()), GIVEN_AT + 30.0, words, 190.0) == 90.0
    assert confirmation_age(remediation(entry()), GIVEN_AT + 700.0, words, 190.0) == 700.0


def test_of_several_writers_the_earliest_counts() -> None:
    later = entry("2026-01-01T12:09:00Z")
    assert confirmation_age(remediation(later, entry()), GIVEN_AT + 600.0, UnchangedTimer(), 0.0) == 600.0


@pytest.mark.parametrize(
    "fields",
    [
        b'{"f:metadata":{"f:annotations":{"f:ticket":{}}},"f:spec":{"f:confirmation":{}}}',
        b'{"f:spec":{"f:confirmation":{},"f:instructions":{}}}',
        b'{"f:spec":{"f:confirmation":{}}',
        b'[["f:spec","f:confirmation"]]',
        b'{"f:spec":[{"f:confirmation":{}}]}',
    ],
    ids=["an annotation", "instructions", "cut off", "no object", "no object within"],
)
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside a dated one"])
def test_the_time_of_one_who_wrote_something_else_too_may_be_of_that(fields: bytes, *, alone: bool) -> None:
    """The API server renews an owner's time with any later write of that owner."""
    unclear = entry("2026-01-01T12:09:00Z", fields=msgspec.Raw(fields))
    found = remediation(unclear) if alone else remediation(entry("2026-01-01T12:05:00Z"), unclear)
    created = msgspec.structs.replace(found.metadata, creation_timestamp=GIVEN)
    assert confirmation_age(found.but(metadata=created), GIVEN_AT + 600.0, UnchangedTimer(), 0.0) == 600.0
    assert confirmation_age(found, GIVEN_AT + 600.0, UnchangedTimer(), 0.0) is None


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (entry(time=""),),
        (entry(subresource="status"),),
        (entry(fields=msgspec.Raw(b'{"f:spec":{"f:instructions":{}}}')),),
    ],
    ids=["nobody wrote", "no time", "only the status", "other fields"],
)
def test_a_confirmation_without_a_date_has_no_age(entries: tuple[ManagedFields, ...]) -> None:
    assert confirmation_age(remediation(*entries), GIVEN_AT + 30.0, UnchangedTimer(), 0.0) is None


def test_a_confirmation_has_no_age_if_the_server_reports_no_time() -> None:
    assert confirmation_age(remediation(entry()), None, UnchangedTimer(), 0.0) is None


def test_a_missing_confirmation_has_no_age() -> None:
    bare = remediation(entry()).but(spec=ManualRemediationSpec())
    assert confirmation_age(bare, GIVEN_AT, UnchangedTimer(), 0.0) is None
