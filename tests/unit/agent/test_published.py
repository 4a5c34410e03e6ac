"""What a node publishes always covers what it goes by, whatever happened to its writes."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from nodemend.agent.published import Conduct, Terms, names
from nodemend.api.agent_lease import PeerEntry, PeerProposal


def peers(*listed: str, port: int = 1) -> tuple[PeerEntry, ...]:
    return tuple(PeerEntry(name=name, address=f"{name}:{port}") for name in listed)


def test_a_node_without_peers_publishes_that_it_has_none() -> None:
    assert Conduct().terms(0.0) == Terms(feed_lease=35.0, contact_age=15.0, lists=((),))


def test_while_peers_are_changed_both_lists_are_published_and_the_old_one_counts() -> None:
    conduct = Conduct(peers=peers("a", "b")).consider(PeerProposal(peers=peers("b", "c")))
    terms = conduct.terms(0.0)

    assert terms.lists == (("a", "b"), ("b", "c"))
    assert names(conduct.peers) == ("a", "b")
    after = conduct.acknowledge(terms)
    assert names(after.peers) == ("b", "c")
    assert after.terms(0.0).lists == (("b", "c"),)


def test_the_first_peers_count_from_their_acknowledgement_on() -> None:
    """Until then the node lives without a limit, and the empty list says so."""
    conduct = Conduct().consider(PeerProposal(peers=peers("a")))

    assert conduct.terms(0.0).lists == ((), ("a",))
    assert names(conduct.acknowledge(conduct.terms(0.0)).peers) == ("a",)


def test_an_acknowledgement_of_older_terms_adopts_nothing_newer() -> None:
    before = Conduct(peers=peers("a"))
    terms = before.terms(0.0)

    assert names(before.consider(PeerProposal(peers=peers("b"))).acknowledge(terms).peers) == ("a",)


def test_a_peer_that_moved_is_the_same_peer() -> None:
    conduct = Conduct(peers=peers("a", "b")).consider(PeerProposal(peers=peers("a", "b", port=2)))

    assert conduct.peers == peers("a", "b", port=2)
    assert conduct.terms(0.0).lists == (("a", "b"),)


def test_a_slower_pace_is_published_before_the_node_lives_by_it() -> None:
    conduct = Conduct().consider(PeerProposal(every=10.0))
    terms = conduct.terms(0.0)

    assert (conduct.feed_lease, terms.feed_lease) == (35.0, 50.0)
    assert conduct.acknowledge(terms).feed_lease == 50.0


def test_but_it_denies_its_contact_later_at_once() -> None:
    conduct = Conduct().consider(PeerProposal(every=10.0))

    assert (conduct.contact_age, conduct.terms(0.0).contact_age) == (30.0, 30.0)


def test_a_faster_pace_is_used_at_once_and_published_as_what_was_allowed_runs_out() -> None:
    slow = Conduct().consider(PeerProposal(every=10.0))
    slow = slow.acknowledge(slow.terms(0.0))
    faster = slow.consider(PeerProposal(every=5.0))

    assert faster.feed_lease == 35.0
    assert [faster.terms(left).feed_lease for left in (48.0, 36.0, 30.0)] == [48.0, 36.0, 35.0]


def test_but_it_denies_its_contact_sooner_only_after_that_was_published() -> None:
    slow = Conduct().consider(PeerProposal(every=10.0))
    faster = slow.acknowledge(slow.terms(0.0)).consider(PeerProposal(every=5.0))

    assert (faster.contact_age, faster.terms(0.0).contact_age) == (30.0, 15.0)
    assert faster.acknowledge(faster.terms(0.0)).contact_age == 15.0


def test_nobody_makes_a_node_renew_faster_than_usual() -> None:
    assert Conduct().consider(PeerProposal(every=0.1)).pace.every == 5.0


@dataclass(slots=True)
class Life:
    """One node, one server. Of writes without an answer nobody knows whether they were applied."""

    conduct: Conduct = field(default_factory=Conduct)
    possible: list[Terms] = field(default_factory=list)
    """All that may stand in the Lease."""
    sent: Terms | None = None
    fed_until: float = 0.0
    now: float = 0.0

    def send(self) -> None:
        self.sent = self.conduct.terms(self.fed_until - self.now)
        self.possible.append(self.sent)

    def acknowledge(self) -> None:
        if self.sent is not None:
            self.conduct, self.possible = self.conduct.acknowledge(self.sent), [self.sent]
            self.fed_until = max(self.fed_until, self.now + self.conduct.feed_lease)

    def check(self) -> None:
        """Whichever of them a marker meets now, it covers what the node does."""
        for terms in self.possible:
            assert self.fed_until <= self.now + terms.feed_lease
            assert self.conduct.feed_lease <= terms.feed_lease
            assert self.conduct.contact_age >= terms.contact_age
            assert names(self.conduct.peers) in terms.lists


# In eighths of a second, of which sums and differences are exact: what is compared is the rule, not rounding.
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
def test_what_may_stand_in_the_lease_covers_what_the_node_does(steps: list[object]) -> None:
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
                life.conduct = life.conduct.consider(step)
            case _:
                raise AssertionError(step)
        life.check()
