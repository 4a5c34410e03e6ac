"""What a check remembers of its targets."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from nodemend.controllers.node_health_check.ledger import HEALTHY, Entry, Ledger, Standing

SICK = Entry(Standing.UNHEALTHY, "Ready=Unknown for 60 s")


def test_only_news_is_news() -> None:
    ledger = Ledger()
    assert ledger.enter("n1", SICK)
    assert not ledger.enter("n1", SICK)
    assert ledger.enter("n1", HEALTHY)
    assert not ledger.enter("n1", HEALTHY)
    assert ledger.strike("n1")
    assert not ledger.strike("n1")


def test_those_that_are_not_well_come_by_name_and_not_too_many() -> None:
    ledger = Ledger()
    for name in ("n3", "n1", "n2"):
        ledger.enter(name, SICK)
    ledger.enter("n0", HEALTHY)
    assert list(ledger.special(2)) == [("n1", SICK), ("n2", SICK)]


entries = st.builds(Entry, st.sampled_from(Standing), st.sampled_from(["", "a"]))
deeds = st.lists(st.tuples(st.sampled_from(["n1", "n2", "n3"]), st.none() | entries), max_size=30)


@given(deeds)
def test_its_counts_are_those_of_a_plain_dict(done: list[tuple[str, Entry | None]]) -> None:
    ledger, plain = Ledger(), dict[str, Entry]()
    for name, entry in done:
        if entry is None:
            assert ledger.strike(name) == (plain.pop(name, None) is not None)
        else:
            assert ledger.enter(name, entry) == (plain.get(name) != entry)
            plain[name] = entry
    assert len(ledger) == len(plain)
    assert {name: ledger.find(name) for name in plain} == plain
    counts = Counter(entry.standing for entry in plain.values())
    assert all(ledger.count(standing) == counts[standing] for standing in Standing)
