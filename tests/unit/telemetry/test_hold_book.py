"""A hold is as old as its reason, whatever numbers its sentence shows meanwhile."""

from nodemend.telemetry.hold_book import FORGOTTEN_AFTER, Held, HoldBook

EDGE = Held("ManualRemediation", "default", "edge-07")


def test_the_same_reason_keeps_its_beginning_and_its_first_words() -> None:
    book = HoldBook()
    book.note(EDGE, "KubeletSpeaks", "silent for 5 s", wall=1000.0, now=0.0)
    standing = book.note(EDGE, "KubeletSpeaks", "silent for 15 s", wall=1010.0, now=10.0)

    assert (standing.since, standing.sentence) == (1000.0, "silent for 5 s")


def test_another_reason_begins_anew() -> None:
    book = HoldBook()
    book.note(EDGE, "KubeletSpeaks", "silent", wall=1000.0, now=0.0)
    standing = book.note(EDGE, "NoWord", "waiting", wall=1010.0, now=10.0)

    assert (standing.since, standing.sentence) == (1010.0, "waiting")


def test_a_hold_that_nobody_has_seen_for_long_is_over() -> None:
    book = HoldBook()
    book.note(EDGE, "NoWord", "waiting", wall=1000.0, now=0.0)

    assert [held for held, _ in book.all(FORGOTTEN_AFTER)] == [EDGE]
    assert not list(book.all(FORGOTTEN_AFTER + 1))
    later = book.note(EDGE, "NoWord", "waiting", wall=2000.0, now=FORGOTTEN_AFTER + 2)
    assert later.since == 2000.0


def test_a_hold_that_is_struck_is_gone() -> None:
    book = HoldBook()
    book.note(EDGE, "NoWord", "waiting", wall=1000.0, now=0.0)
    book.strike(EDGE)

    assert book.find(EDGE) is None
    assert not list(book.all(0.0))


def test_the_book_holds_so_many_and_no_more() -> None:
    book = HoldBook()
    for number in range(10_050):
        book.note(Held("K", "n", str(number)), "NoWord", "", wall=0.0, now=0.0)

    assert len(list(book.all(0.0))) == 10_000
    assert book.find(Held("K", "n", "0")) is None
