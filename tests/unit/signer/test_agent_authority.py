"""The authority over agents' certificates: made, published, replaced, forgotten, and never too soon."""

from dataclasses import dataclass, replace
from typing import Final

import pytest

from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.signer.decide import (
    LIVES_FOR,
    LONGEST,
    OVERLAP,
    SIGNS_FOR,
    Authority,
    AuthorityFacts,
    CreateCa,
    CreateNextCa,
    ForgetCa,
    FormerCa,
    MayNotSign,
    MaySign,
    PublishBundle,
    RecordPublished,
    ReplaceCa,
    Step,
    StoredCa,
    Wait,
    may_sign,
    next_step,
)

NOW: Final = 1_800_000_000.0
OLD: Final = Authority("old", NOW - SIGNS_FOR, NOW - SIGNS_FOR + LIVES_FOR)
NEW: Final = Authority("new", NOW, NOW + LIVES_FOR)
YOUNG: Final = Authority("old", NOW - 86400, NOW - 86400 + LIVES_FOR)


def facts(kept: ReadResult[StoredCa] | StoredCa, *bundle: str, now: float = NOW) -> AuthorityFacts:
    known: ReadResult[StoredCa] = Present(kept) if isinstance(kept, StoredCa) else kept
    return AuthorityFacts(known, Present(frozenset(bundle)), now)


def test_without_one_the_first_is_made_and_published_before_it_signs() -> None:
    none: ReadResult[StoredCa] = Absent()
    assert next_step(AuthorityFacts(none, Absent(), NOW)) == CreateCa()
    assert isinstance(may_sign(AuthorityFacts(none, Absent(), NOW)), MayNotSign)
    unpublished = AuthorityFacts(Present(StoredCa(YOUNG)), Absent(), NOW)
    assert next_step(unpublished) == PublishBundle(frozenset({"old"}))
    assert isinstance(may_sign(unpublished), MayNotSign)
    assert isinstance(may_sign(facts(StoredCa(YOUNG))), MayNotSign)
    assert may_sign(facts(StoredCa(YOUNG), "old")) == MaySign(YOUNG.ends)
    assert next_step(facts(StoredCa(YOUNG), "old")) == Wait()


def test_an_unreadable_authority_is_not_recreated() -> None:
    hidden: ReadResult[StoredCa] = Unreadable("no right to it")
    step = next_step(AuthorityFacts(hidden, Present(frozenset({"old"})), NOW))
    assert step == Wait("the authority's Secret cannot be read: no right to it")
    blind = AuthorityFacts(Present(StoredCa(OLD)), Unreadable("timeout"), NOW)
    assert next_step(blind) == Wait("the agents' bundle cannot be read: timeout")
    assert isinstance(may_sign(blind), MayNotSign)


@pytest.mark.parametrize("bundle", [("old", "rogue"), ("rogue",), ()])
def test_agents_get_only_nodemend_s_authorities_to_trust(bundle: tuple[str, ...]) -> None:
    assert next_step(facts(StoredCa(YOUNG), *bundle)) == PublishBundle(frozenset({"old"}))


def test_one_of_age_gets_a_successor_and_so_does_one_that_a_person_wants_gone() -> None:
    assert next_step(facts(StoredCa(OLD), "old", now=NOW - 1)) == Wait()
    assert next_step(facts(StoredCa(OLD), "old")) == CreateNextCa()
    assert next_step(facts(StoredCa(YOUNG, replacement_asked=True), "old")) == CreateNextCa()


def test_a_successor_waits_until_every_certificate_is_younger_than_its_publication() -> None:
    kept = StoredCa(OLD, successor=NEW)
    assert next_step(facts(kept, "old")) == PublishBundle(frozenset({"old", "new"}))
    assert next_step(facts(kept, "old", "new")) == RecordPublished(NOW)
    noted = replace(kept, published=NOW)
    assert next_step(facts(noted, "old", "new", now=NOW + OVERLAP - 1)) == Wait()
    assert next_step(facts(noted, "old", "new", now=NOW + OVERLAP)) == ReplaceCa(NOW + OVERLAP)
    assert OVERLAP > LONGEST


def test_if_the_bundle_is_emptied_in_between_the_wait_restarts() -> None:
    noted = StoredCa(OLD, successor=NEW, published=NOW - OVERLAP)
    assert next_step(facts(noted, "old")) == RecordPublished(None)
    assert next_step(AuthorityFacts(Present(noted), Absent(), NOW)) == RecordPublished(None)


def test_the_signer_does_not_wait_for_an_authority_that_is_about_to_expire() -> None:
    ending = replace(OLD, ends=NOW + OVERLAP)
    assert next_step(facts(StoredCa(ending, successor=NEW, published=NOW), "old", "new")) == ReplaceCa(NOW)
    assert next_step(facts(StoredCa(ending, successor=NEW), "old")) == PublishBundle(
        frozenset({"old", "new"})
    )


def test_a_former_authority_is_trusted_until_its_last_certificate_expires() -> None:
    kept = StoredCa(NEW, former=(FormerCa("old", NOW), FormerCa("older", NOW - OVERLAP)))
    assert next_step(facts(kept, "old", "older", "new")) == ForgetCa(frozenset({"older"}))
    left = replace(kept, former=kept.former[:1])
    assert next_step(facts(left, "old", "new", now=NOW + OVERLAP - 1)) == Wait()
    assert next_step(facts(left, "old", "new", now=NOW + OVERLAP)) == ForgetCa(frozenset({"old"}))


@pytest.mark.parametrize("now", [OLD.begins - 1, OLD.ends])
def test_an_authority_signs_nothing_outside_its_validity(now: float) -> None:
    assert isinstance(may_sign(facts(StoredCa(OLD), "old", now=now)), MayNotSign)


@dataclass
class Played:
    """Carries steps out, as the controller does."""

    kept: StoredCa
    bundle: frozenset[str]

    def do(self, step: Step, now: float) -> None:
        match step:
            case PublishBundle(trusted):
                self.bundle = trusted
            case CreateNextCa():
                made = Authority(f"made at {now}", now, now + LIVES_FOR)
                self.kept = replace(self.kept, successor=made, published=None, replacement_asked=False)
            case RecordPublished(at):
                self.kept = replace(self.kept, published=at)
            case ReplaceCa(at):
                former = (*self.kept.former, FormerCa(self.kept.signing.fingerprint, at))
                assert self.kept.successor is not None
                self.kept = StoredCa(self.kept.successor, former=former)
            case ForgetCa(gone):
                left = tuple(one for one in self.kept.former if one.fingerprint not in gone)
                self.kept = replace(self.kept, former=left)
            case Wait() | CreateCa():
                pass


def test_the_times_are_those_in_the_documentation() -> None:
    hour, day = 3600.0, 86400.0
    assert (25 * hour, 90 * day, 365 * day) == (OVERLAP, SIGNS_FOR, LIVES_FOR)


def test_in_a_year_every_certificate_is_trusted_by_agents_with_contact_at_its_issue() -> None:
    """Each hour a node gets a certificate; nodes with one that is still valid may have an old bundle."""
    played = Played(StoredCa(Authority("first", NOW, NOW + LIVES_FOR)), frozenset({"first"}))
    hours: list[tuple[str, frozenset[str]]] = []
    signers = set()
    for hour in range(365 * 24):
        now = NOW + hour * 3600
        for _ in range(2):
            played.do(next_step(facts(played.kept, *played.bundle, now=now)), now)
        assert isinstance(may_sign(facts(played.kept, *played.bundle, now=now)), MaySign)
        signer = played.kept.signing.fingerprint
        signers.add(signer)
        hours.append((signer, played.bundle))
        for other_signer, other_bundle in hours[-LONGEST // 3600 :]:
            assert signer in other_bundle, "who was last in contact up to a day ago believes the newest"
            assert other_signer in played.bundle, "and the newest believes whatever is still valid"
        assert len(played.bundle) <= 2
    assert len(signers) == 5
