"""The published terms of a node always cover the terms that it uses, for any outcome of its writes."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from nodemend.agent.state import ActiveTerms, PublishedTerms, names
from nodemend.api.agent import PeerEntry, PeerProposal


def peers(*listed: str, port: int = 1) -> tuple[PeerEntry, ...]:
    return tuple(PeerEntry(name=name, address=f"{name}:{port}") for name in listed)


def test_a_node_without_peers_publishes_that_it_has_none() -> None:
    assert ActiveTerms().terms(0.0) == PublishedTerms(feed_lease=35.0, contact_age=15.0, lists=((),))


def test_while_peers_are_changed_both_lists_are_published_and_the_old_one_counts() -> None:
    active_terms = ActiveTerms(peers=peers("a", "b")).consider(PeerProposal(peers=peers("b", "c")))
    terms = active_terms.terms(0.0)

    assert terms.lists == (("a", "b"), ("b", "c"))
    assert names(active_terms.peers) == ("a", "b")
    after = active_terms.acknowledge(terms)
    assert names(after.peers) == ("b", "c")
    assert after.terms(0.0).lists == (("b", "c"),)


def test_the_first_peers_count_from_their_acknowledgement_on() -> None:
    """Until then the node has no time limit, and the published empty list says so."""
    active_terms = ActiveTerms().consider(PeerProposal(peers=peers("a")))

    assert active_terms.terms(0.0).lists == ((), ("a",))
    assert names(active_terms.acknowledge(active_terms.terms(0.0)).peers) == ("a",)


def test_an_acknowledgement_of_older_terms_adopts_nothing_newer() -> None:
    before = ActiveTerms(peers=peers("a"))
    terms = before.terms(0.0)

    assert names(before.consider(PeerProposal(peers=peers("b"))).acknowledge(terms).peers) == ("a",)


def test_a_peer_that_moved_is_the_same_peer() -> None:
    active_terms = ActiveTerms(peers=peers("a", "b")).consider(PeerProposal(peers=peers("a", "b", port=2)))

    assert active_terms.peers == peers("a", "b", port=2)
    assert active_terms.terms(0.0).lists == (("a", "b"),)


def test_a_slower_pace_is_published_before_the_node_uses_it() -> None:
    active_terms = ActiveTerms().consider(PeerProposal(every=10.0))
    terms = active_terms.terms(0.0)

    assert (active_terms.feed_lease, terms.feed_lease) == (35.0, 50.0)
    assert active_terms.acknowledge(terms).feed_lease == 50.0


def test_with_a_slower_pace_it_denies_its_contact_later_at_once() -> None:
    active_terms = ActiveTerms().consider(PeerProposal(every=10.0))

    assert (active_terms.contact_age, active_terms.terms(0.0).contact_age) == (30.0, 30.0)


def test_a_faster_pace_is_used_at_once_and_published_as_what_was_allowed_runs_out() -> None:
    slow = ActiveTerms().consider(PeerProposal(every=10.0))
    slow = slow.acknowledge(slow.terms(0.0))
    faster = slow.consider(PeerProposal(every=5.0))

    assert faster.feed_lease == 35.0
    assert [faster.terms(left).feed_lease for left in (48.0, 36.0, 30.0)] == [48.0, 36.0, 35.0]


def test_with_a_faster_pace_it_denies_its_contact_sooner_only_after_publication() -> None:
    slow = ActiveTerms().consider(PeerProposal(every=10.0))
    faster = slow.acknowledge(slow.terms(0.0)).consider(PeerProposal(every=5.0))

    assert (faster.contact_age, faster.terms(0.0).contact_age) == (30.0, 15.0)
    assert faster.acknowledge(faster.terms(0.0)).contact_age == 15.0


def test_no_setting_makes_a_node_renew_faster_than_by_default() -> None:
    assert ActiveTerms().consider(PeerProposal(every=0.1)).pace.every == 5.0


@dataclass(slots=True)
class Life:
    """One node and one server. A write without an answer may or may not have been applied."""

    active_terms: ActiveTerms = field(default_factory=ActiveTerms)
    possible: list[PublishedTerms] = field(default_factory=list)
    """All terms that the Lease may hold."""
    sent: PublishedTerms | None = None
    fed_until: float = 0.0
    now: float = 0.0

    def send(self) -> None:
        self.sent = self.active_terms.terms(self.fed_until - self.now)
        self.possible.append(self.sent)

    def acknowledge(self) -> None:
        if self.sent is not None:
            self.active_terms, self.possible = self.active_terms.acknowledge(self.sent), [self.sent]
            self.fed_until = max(self.fed_until, self.now + self.active_terms.feed_lease)

    def check(self) -> None:
        """Check that each of them, if a marker meets it now, covers what the node does."""
        for terms in self.possible:
            assert self.fed_until <= self.now + terms.feed_lease
            assert self.active_terms.feed_lease <= terms.feed_lease
            assert self.active_terms.contact_age >= terms.contact_age
            assert names(self.active_terms.peers) in terms.lists


# In eighths of a second, whose sums and differences are exact: the comparison tests the rule, not rounding.
STEPS = st.lists(
    st.one_of(
        st.just("send"),
        st.just("acknowledge"),
        st.integers(1, 160).map(lambda eighths: eighths / 8),
        st.builds(
            PeerProposal,
            peers=st.sampled_from([peers(), peers("a"), peers("a", "b"), peers("b", "c")]),
            every=st.sampled_from([5.0, 10.0, 60.0]),
        ),
    ),
    max_size=40,
)


@given(STEPS)
def test_the_published_bounds_cover_what_the_node_does(steps: list[object]) -> None:
    life = Life()
    life.send()
    life.acknowledge()
    for step in steps:
        match step:
            case "send":
                life.send()
            case "acknowledge":
                life.acknowledge()
                life.sent = None
            case float():
                life.now += step
            case PeerProposal():
                life.active_terms = life.active_terms.consider(step)
            case _:
                raise AssertionError(step)
        life.check()
