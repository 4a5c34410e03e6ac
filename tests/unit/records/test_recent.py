"""An entry stays until many others were added after it."""

from nodemend.records.live_reads import BoundedMap

MANY = 10_000


def test_the_one_that_was_kept_the_longest_ago_is_forgotten_first() -> None:
    recent: BoundedMap[int, str] = BoundedMap()
    for key in range(MANY):
        recent.keep(key, "once")
    recent.keep(0, "again")
    recent.keep(MANY, "new")

    assert recent.find(0) == "again"
    assert recent.find(1) is None
    assert recent.find(2) == "once"
    assert recent.find(MANY) == "new"
