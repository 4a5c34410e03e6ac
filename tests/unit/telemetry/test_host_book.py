"""What the last look at all hosts showed, and since when."""

from nodemend.telemetry.host_book import HeldFor, HostBook, HostName

FIRST, SECOND = HostName("metal", "h1"), HostName("metal", "h2")


def test_a_host_that_stays_held_for_the_same_keeps_its_beginning() -> None:
    book = HostBook()
    book.look([HeldFor(FIRST, "m-1")], [], wall=100.0)
    book.look([HeldFor(FIRST, "m-1"), HeldFor(SECOND, "m-2")], [], wall=160.0)

    assert dict(book.held()) == {HeldFor(FIRST, "m-1"): 100.0, HeldFor(SECOND, "m-2"): 160.0}


def test_what_is_left_behind_begins_when_its_remediation_is_gone() -> None:
    book = HostBook()
    book.look([HeldFor(FIRST, "m-1")], [], wall=100.0)
    book.look([HeldFor(FIRST, "")], [], wall=160.0)

    assert dict(book.held()) == {HeldFor(FIRST, ""): 160.0}


def test_what_is_no_longer_seen_is_no_longer_told() -> None:
    book = HostBook()
    book.look([HeldFor(FIRST, "m-1")], [FIRST, SECOND], wall=100.0)
    book.look([], [SECOND], wall=160.0)
    assert (list(book.held()), list(book.unhealthy())) == ([], [SECOND])

    book.clear()
    assert not list(book.unhealthy())
