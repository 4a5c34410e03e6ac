"""The changes that a cache reports are exactly those that it made."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from nodemend.kube.store import Change, Store


@dataclass(frozen=True)
class Thing:
    uid: str
    value: int = 0


Changes = list[Change[Thing]]


def _cache(**records: Thing) -> Store[Thing]:
    cache: Store[Thing] = Store(lambda thing: thing.uid)
    cache.replace(dict(records), [])
    return cache


def test_an_equal_record_is_no_change() -> None:
    cache, changes = _cache(a=Thing("1")), Changes()

    cache.put("a", Thing("1"), changes)

    assert changes == []


def test_coming_changing_and_going_are_reported() -> None:
    cache, changes = _cache(), Changes()

    cache.put("a", Thing("1"), changes)
    cache.put("a", Thing("1", 5), changes)
    cache.drop("a", changes)
    cache.drop("a", changes)

    assert changes == [
        Change("a", None, Thing("1")),
        Change("a", Thing("1"), Thing("1", 5)),
        Change("a", Thing("1", 5), None),
    ]


def test_another_object_under_the_same_name_is_a_delete_and_an_add() -> None:
    cache, changes = _cache(a=Thing("1")), Changes()

    cache.put("a", Thing("2"), changes)

    assert changes == [Change("a", Thing("1"), None), Change("a", None, Thing("2"))]


def test_a_list_reports_what_it_does_not_hold_as_deleted() -> None:
    cache, changes = _cache(gone=Thing("1"), same=Thing("2"), new_uid=Thing("3"), other=Thing("4")), Changes()

    cache.replace(
        {"same": Thing("2"), "new_uid": Thing("33"), "other": Thing("4", 1), "came": Thing("5")}, changes
    )

    assert changes == [
        Change("gone", Thing("1"), None, relisted=True),
        Change("new_uid", Thing("3"), None, relisted=True),
        Change("new_uid", None, Thing("33"), relisted=True),
        Change("other", Thing("4"), Thing("4", 1), relisted=True),
        Change("came", None, Thing("5"), relisted=True),
    ]
    assert sorted(cache.keys()) == ["came", "new_uid", "other", "same"]


def test_a_cache_that_never_synced_is_infinitely_old() -> None:
    cache = _cache()
    assert cache.age(100.0) == float("inf")

    cache.synced_at = cache.last_contact = 90.0
    assert cache.age(100.0) == 10.0
    assert cache.age(80.0) == 0.0


_records = st.dictionaries(
    st.sampled_from("abcd"), st.builds(Thing, st.sampled_from("12"), st.integers(0, 2))
)


@given(_records, _records)
def test_replaying_the_changes_gives_the_new_list(before: dict[str, Thing], after: dict[str, Thing]) -> None:
    cache, changes = _cache(**before), Changes()

    cache.replace(dict(after), changes)

    replayed = dict(before)
    for change in changes:
        assert replayed.get(change.key) == change.old
        if change.new is None:
            del replayed[change.key]
        else:
            assert change.old is None or change.old.uid == change.new.uid
            replayed[change.key] = change.new
    assert replayed == after
