"""The authority over agents' certificates: made, published, replaced, forgotten, and never too soon."""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from nodemend.decide.agent_authority import (
    LIVES_FOR,
    OVERLAP,
    SIGNS_FOR,
    Authority,
    AuthorityFacts,
    Forget,
    Former,
    Kept,
    MakeFirst,
    MakeSuccessor,
    NotePublished,
    Publish,
    Replace,
    Signs,
    SignsNothing,
    Step,
    Wait,
    may_sign,
    next_step,
)
from nodemend.decide.agent_certificate import LONGEST
from nodemend.decide.facts import Absent, Present, Seen, Unreadable

NOW: Final = 1_800_000_000.0
OLD: Final = Authority("old", NOW - SIGNS_FOR, NOW - SIGNS_FOR + LIVES_FOR)
NEW: Final = Authority("new", NOW, NOW + LIVES_FOR)
YOUNG: Final = Authority("old", NOW - 86400, NOW - 86400 + LIVES_FOR)


def facts(kept: Seen[Kept] | Kept, *bundle: str, now: float = NOW) -> AuthorityFacts:
    known: Seen[Kept] = Present(kept) if isinstance(kept, Kept) else kept
    return AuthorityFacts(known, Present(frozenset(bundle)), now)


def test_without_one_the_first_is_made_and_published_before_it_signs() -> None:
    none: Seen[Kept] = Absent()
    assert next_step(AuthorityFacts(none, Absent(), NOW)) == MakeFirst()
    assert isinstance(may_sign(AuthorityFacts(none, Absent(), NOW)), SignsNothing)
    unpublished = AuthorityFacts(Present(Kept(YOUNG)), Absent(), NOW)
    assert next_step(unpublished) == Publish(frozenset({"old"}))
    assert isinstance(may_sign(unpublished), SignsNothing)
    assert isinstance(may_sign(facts(Kept(YOUNG))), SignsNothing)
    assert may_sign(facts(Kept(YOUNG), "old")) == Signs(YOUNG.ends)
    assert next_step(facts(Kept(YOUNG), "old")) == Wait()


def test_what_cannot_be_read_is_not_made_anew() -> None:
    hidden: Seen[Kept] = Unreadable("no right to it")
    step = next_step(AuthorityFacts(hidden, Present(frozenset({"old"})), NOW))
    assert step == Wait("the authority's Secret cannot be read: no right to it")
    blind = AuthorityFacts(Present(Kept(OLD)), Unreadable("timeout"), NOW)
    assert next_step(blind) == Wait("the agents' bundle cannot be read: timeout")
    assert isinstance(may_sign(blind), SignsNothing)


@pytest.mark.parametrize("bundle", [("old", "rogue"), ("rogue",), ()])
def test_agents_are_given_to_believe_ours_and_nobody_elses(bundle: tuple[str, ...]) -> None:
    assert next_step(facts(Kept(YOUNG), *bundle)) == Publish(frozenset({"old"}))


def test_one_of_age_gets_a_successor_and_so_does_one_that_a_person_wants_gone() -> None:
    assert next_step(facts(Kept(OLD), "old", now=NOW - 1)) == Wait()
    assert next_step(facts(Kept(OLD), "old")) == MakeSuccessor()
    assert next_step(facts(Kept(YOUNG, replacement_asked=True), "old")) == MakeSuccessor()


def test_a_successor_waits_until_every_certificate_is_younger_than_its_publication() -> None:
    kept = Kept(OLD, successor=NEW)
    assert next_step(facts(kept, "old")) == Publish(frozenset({"old", "new"}))
    assert next_step(facts(kept, "old", "new")) == NotePublished(NOW)
    noted = replace(kept, published=NOW)
    assert next_step(facts(noted, "old", "new", now=NOW + OVERLAP - 1)) == Wait()
    assert next_step(facts(noted, "old", "new", now=NOW + OVERLAP)) == Replace(NOW + OVERLAP)
    assert OVERLAP > LONGEST


def test_when_the_bundle_is_emptied_meanwhile_the_wait_begins_anew() -> None:
    noted = Kept(OLD, successor=NEW, published=NOW - OVERLAP)
    assert next_step(facts(noted, "old")) == NotePublished(None)
    assert next_step(AuthorityFacts(Present(noted), Absent(), NOW)) == NotePublished(None)


def test_one_that_is_about_to_end_is_not_waited_for() -> None:
    ending = replace(OLD, ends=NOW + OVERLAP)
    assert next_step(facts(Kept(ending, successor=NEW, published=NOW), "old", "new")) == Replace(NOW)
    assert next_step(facts(Kept(ending, successor=NEW), "old")) == Publish(frozenset({"old", "new"}))


def test_a_former_one_is_believed_until_its_last_certificate_is_over() -> None:
    kept = Kept(NEW, former=(Former("old", NOW), Former("older", NOW - OVERLAP)))
    assert next_step(facts(kept, "old", "older", "new")) == Forget(frozenset({"older"}))
    left = replace(kept, former=kept.former[:1])
    assert next_step(facts(left, "old", "new", now=NOW + OVERLAP - 1)) == Wait()
    assert next_step(facts(left, "old", "new", now=NOW + OVERLAP)) == Forget(frozenset({"old"}))


@pytest.mark.parametrize("now", [OLD.begins - 1, OLD.ends])
def test_outside_of_its_own_life_it_signs_nothing(now: float) -> None:
    assert isinstance(may_sign(facts(Kept(OLD), "old", now=now)), SignsNothing)


@dataclass
class Played:
    """Carries steps out, as the controller does."""

    kept: Kept
    bundle: frozenset[str]

    def do(self, step: Step, now: float) -> None:
        match step:
            case Publish(trusted):
                self.bundle = trusted
            case MakeSuccessor():
                made = Authority(f"made at {now}", now, now + LIVES_FOR)
                self.kept = replace(self.kept, successor=made, published=None, replacement_asked=False)
            case NotePublished(at):
                self.kept = replace(self.kept, published=at)
            case Replace(at):
                former = (*self.kept.former, Former(self.kept.signing.fingerprint, at))
                assert self.kept.successor is not None
                self.kept = Kept(self.kept.successor, former=former)
            case Forget(gone):
                left = tuple(one for one in self.kept.former if one.fingerprint not in gone)
                self.kept = replace(self.kept, former=left)
            case Wait() | MakeFirst():
                pass


def test_the_times_are_those_in_the_documentation() -> None:
    hour, day = 3600.0, 86400.0
    assert (25 * hour, 90 * day, 365 * day) == (OVERLAP, SIGNS_FOR, LIVES_FOR)


def test_in_a_year_every_certificate_is_believed_by_whoever_had_contact_when_it_was_issued() -> None:
    """Each hour a node gets a certificate; nodes with one that is still valid may have an old bundle."""
    played = Played(Kept(Authority("first", NOW, NOW + LIVES_FOR)), frozenset({"first"}))
    hours: list[tuple[str, frozenset[str]]] = []
    signers = set()
    for hour in range(365 * 24):
        now = NOW + hour * 3600
        for _ in range(2):
            played.do(next_step(facts(played.kept, *played.bundle, now=now)), now)
        assert isinstance(may_sign(facts(played.kept, *played.bundle, now=now)), Signs)
        signer = played.kept.signing.fingerprint
        signers.add(signer)
        hours.append((signer, played.bundle))
        for other_signer, other_bundle in hours[-LONGEST // 3600 :]:
            assert signer in other_bundle, "who was last in contact up to a day ago believes the newest"
            assert other_signer in played.bundle, "and the newest believes whatever is still valid"
        assert len(played.bundle) <= 2
    assert len(signers) == 5
