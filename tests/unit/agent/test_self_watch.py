"""When a node may go on: told as the events that its agent meets, and what it does about each."""

from typing import Any

import pytest
from msgspec import structs

from nodemend.agent.memory import Memory
from nodemend.agent.published import Conduct, names
from nodemend.agent.self_watch_steps import (
    AskPeers,
    Begun,
    Command,
    Condemn,
    FeedUntil,
    LookBeside,
    Looked,
    PeerSaid,
    PlaceLease,
    ReadLease,
    Remember,
    RenewLease,
    RoundOver,
    Wait,
    Waited,
)
from nodemend.api.agent_lease import (
    AgentReport,
    PeerEntry,
    PeerProposal,
    WatchdogReport,
)
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import Found, Missing, Outdated
from tests.unit.agent.watch_story import DOWN, ME, PEERS, Story, a_lease, marked, settled, silenced


def test_it_reads_its_lease_and_lives_from_when_it_asked() -> None:
    story = Story()

    assert story.meets(Begun()) == [ReadLease(103.0)]
    fed, renewal = story.meets(Found(a_lease("6")), after=2.0)

    assert fed == FeedUntil(100.0 + 35.0)
    assert isinstance(renewal, RenewLease)
    assert renewal.report.sequence == 1


def test_behind_a_gate_it_leaves_no_record_before_its_first_acknowledgement() -> None:
    """Before that the feeder needs none, and goes on for longer than a look would let it."""
    story = Story(boot_gate=True)
    story.meets(Begun())
    [renewal] = story.meets(Found(a_lease("6")), after=2.0)
    assert isinstance(renewal, RenewLease)
    sent_at = story.now

    assert FeedUntil(sent_at + 35.0) in story.meets(Found(a_lease("7")), after=1.0)


def test_a_first_acknowledgement_with_a_marker_for_another_boot_leaves_a_record_that_is_over() -> None:
    """The next renewal may have peers: by then the feeder must go by records alone."""
    story = Story(boot_gate=True)
    story.meets(Begun())
    story.meets(Found(a_lease("6")))

    assert FeedUntil(0.0) in story.meets(Found(marked("another boot")), after=1.0)


def test_a_renewal_lets_it_live_from_when_it_was_sent_not_from_when_it_was_acknowledged() -> None:
    story = settled()
    story.meets(Waited(), after=5.0)
    sent_at = story.now

    assert story.meets(Found(a_lease("8")), after=2.9) == [FeedUntil(sent_at + 35.0), Wait(sent_at + 7.9)]


def test_contact_ages_from_when_a_renewal_was_acknowledged_not_from_when_it_was_sent() -> None:
    """It may be stored long after it was sent, and a manager counts on K from then on."""
    story = settled()
    story.meets(Waited(), after=5.0)
    story.meets(Found(a_lease("8")), after=3.0)

    assert not story.watch.out_of_reach(story.now + 14.5)
    assert story.watch.out_of_reach(story.now + 15.0)


def test_where_there_is_none_it_places_one() -> None:
    story = Story()
    story.meets(Begun())

    (placed,) = story.meets(Missing())
    assert isinstance(placed, PlaceLease)
    assert story.fed_until == 0.0
    story.meets(Found(a_lease("1", placed.report)), after=1.0)
    assert story.fed_until == 135.0


def test_where_it_cannot_be_placed_either_that_is_a_failure_like_others() -> None:
    story = Story()
    story.meets(Begun())
    story.meets(Missing())

    assert story.meets(Missing()) == [Wait(story.now + 1.0)]


def test_whoever_wrote_first_is_read_before_anything_is_written() -> None:
    story = settled()
    story.meets(Waited(), after=5.0)

    (read,) = story.meets(Outdated(), after=0.2)
    assert isinstance(read, ReadLease)
    assert story.fed_until == 135.0


def test_numbers_go_on_from_what_stands_in_the_lease() -> None:
    story = Story()
    story.meets(Begun())
    old = AgentReport(
        node_uid="uid-1",
        boot_id="an-earlier-boot",
        sequence=77,
        acknowledged=76,
        steady_since=3,
        feed_lease=35.0,
        contact_age=15.0,
        watchdog=ME.watchdog,
        peers=(("x", "y"),),
    )
    *_, renewal = story.meets(Found(a_lease("6", old)))

    assert isinstance(renewal, RenewLease)
    assert (renewal.report.sequence, renewal.report.peers) == (78, ((),))


def test_every_renewal_tells_which_acknowledgement_has_arrived() -> None:
    story = settled()

    told = [(report.sequence, report.acknowledged) for report in (story.renewed(), story.renewed())]
    assert told == [(42, 41), (43, 42)]


# A restored etcd.


@pytest.mark.attack("K1")
@pytest.mark.parametrize(
    "shown",
    [{"sequence": 41}, {"boot_id": "boot-0"}, {"node_uid": "uid-0"}, None],
    ids=["an older report", "an earlier boot", "another node", "none"],
)
def test_a_lease_that_shows_less_than_was_acknowledged_makes_it_vouch_for_nothing_before(
    shown: dict[str, Any] | None,
) -> None:
    story = settled()
    before = story.renewed()
    assert before.remembers_from == 7
    assert story.remembered is not None
    assert story.remembered.contact is not None

    story.meets(Waited(), after=5.0)
    story.meets(Outdated(), after=0.5)
    older = None if shown is None else structs.replace(before, **shown)
    *_, renewal = story.meets(Found(a_lease("5", older)), after=0.5)

    assert isinstance(renewal, RenewLease)
    said = renewal.report
    assert (said.replaces, said.remembers_from, said.acknowledged) == (5, 0, before.sequence)
    assert said.steady_since == said.sequence > before.sequence
    story.meets(Found(a_lease("11", said)), after=0.5)
    *_, following = story.meets(Waited(), after=5.0)
    assert isinstance(following, RenewLease)
    assert following.report.remembers_from == 11


@pytest.mark.attack("K1")
def test_a_lease_that_is_gone_is_one_that_shows_less() -> None:
    story = settled()
    story.renewed()

    story.meets(Waited(), after=5.0)
    *_, placed = story.meets(Missing(), after=0.5)

    assert isinstance(placed, PlaceLease)
    assert (placed.report.replaces, placed.report.remembers_from) == (0, 0)


def test_a_write_without_an_answer_that_was_applied_is_no_restore() -> None:
    story = settled()
    story.renewed()
    *_, unanswered = story.meets(Waited(), after=5.0)
    assert isinstance(unanswered, RenewLease)
    story.meets(DOWN, after=3.0)

    story.meets(Waited(), after=5.0)
    story.meets(Outdated(), after=0.5)
    *_, renewal = story.meets(Found(a_lease("8", unanswered.report)), after=0.5)

    assert isinstance(renewal, RenewLease)
    assert (renewal.report.replaces, renewal.report.remembers_from) == (8, 7)


# The marker.


def test_a_marker_for_this_boot_ends_it_for_good() -> None:
    story = settled()
    story.meets(Waited(), after=5.0)
    story.meets(Outdated(), after=0.2)

    assert story.meets(Found(marked())) == [Condemn("a marker is on its Lease")]
    assert story.meets(Waited(), after=5.0) == []
    assert story.meets(Found(a_lease("10")), after=5.0) == []


def test_a_marker_for_an_earlier_boot_does_not_but_nor_does_it_let_this_one_go_on() -> None:
    """Whoever wrote it may not have known of this boot. It is published all the same: then they do."""
    story = Story()
    story.meets(Begun())

    (renewal,) = story.meets(Found(marked("an-earlier-boot")))
    assert isinstance(renewal, RenewLease)
    assert story.meets(Found(marked("an-earlier-boot")), after=0.5) == [Wait(story.now + 5.0)]

    story.meets(Waited(), after=5.0)
    story.meets(Outdated(), after=0.1)
    fed, _ = story.meets(Found(a_lease("12")), after=0.1)
    assert isinstance(fed, FeedUntil)


# Peers.


def test_it_asks_three_peers_after_three_failures_in_a_row() -> None:
    story = silenced()

    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    assert len(asked.peers) == 3
    assert asked.deadline == story.now + 3.0


def test_one_that_looked_is_enough_and_counts_from_the_question() -> None:
    story = silenced()
    story.meets(DOWN, after=3.0)
    asked_at = story.now

    heard = story.meets(PeerSaid(1, "b", Answer.HEALTHY), after=2.0)
    assert heard == [FeedUntil(asked_at + 35.0), Wait(asked_at + 7.0)]


def test_silence_of_the_first_makes_it_ask_the_rest_and_then_nothing_is_renewed() -> None:
    story = silenced()
    story.meets(DOWN, after=3.0)
    fed = story.fed_until

    (rest,) = story.meets(RoundOver(1), after=3.0)
    assert isinstance(rest, AskPeers)
    assert len(rest.peers) == 1
    assert story.meets(RoundOver(2), after=3.0) == [Wait(story.now + 1.0)]
    assert story.fed_until == fed


def test_more_than_half_of_all_peers_without_the_api_are_an_outage() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    asked_at = story.now
    assert isinstance(asked, AskPeers)
    for one in asked.peers[:2]:
        assert story.meets(PeerSaid(1, one.name, Answer.API_OUT_OF_REACH), after=0.1) == []

    heard = story.meets(PeerSaid(1, asked.peers[2].name, Answer.API_OUT_OF_REACH), after=0.1)
    assert heard[0] == FeedUntil(asked_at + 35.0)


def test_half_of_them_are_not() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    fed = story.fed_until
    for one in asked.peers[:2]:
        story.meets(PeerSaid(1, one.name, Answer.API_OUT_OF_REACH), after=0.1)
    story.meets(RoundOver(1), after=3.0)
    story.meets(RoundOver(2), after=3.0)

    assert story.fed_until == fed


def test_two_who_saw_the_marker_end_it_but_one_who_looked_later_and_saw_none_is_heard_first() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    first, second, third = (one.name for one in asked.peers)
    story.meets(PeerSaid(1, first, Answer.CONDEMNED), after=0.1)
    assert story.meets(PeerSaid(1, second, Answer.CONDEMNED), after=0.1) == []

    assert isinstance(story.meets(PeerSaid(1, third, Answer.HEALTHY), after=0.1)[0], FeedUntil)


def test_a_majority_that_saw_the_marker_ends_it() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    for one in asked.peers[:2]:
        story.meets(PeerSaid(1, one.name, Answer.CONDEMNED), after=0.1)

    assert story.meets(PeerSaid(1, asked.peers[2].name, Answer.CONDEMNED), after=0.1) == [
        Condemn("peers have seen a marker on its Lease")
    ]


def asks_all(story: Story, liars: set[str], lie: Answer, truth: Answer) -> list[Command]:
    """Liars answer first, the others a moment later. What follows from both rounds."""
    commands = story.meets(DOWN, after=3.0)
    while commands and isinstance(commands[-1], AskPeers):
        asked = commands[-1]
        commands = []
        for one in sorted(asked.peers, key=lambda peer: peer.name not in liars):
            said = lie if one.name in liars else truth
            commands = commands or story.meets(PeerSaid(asked.round, one.name, said), after=0.05)
        commands = commands or story.meets(RoundOver(asked.round), after=1.0)
    return commands


@pytest.mark.attack("S3")
@pytest.mark.parametrize(("nodes", "liars"), [(5, 1), (16, 2), (16, 7)])
@pytest.mark.parametrize("lie", [Answer.CONDEMNED, Answer.SILENT])
def test_liars_do_not_end_a_node_in_an_outage_for_all(nodes: int, liars: int, lie: Answer) -> None:
    peers = tuple(PeerEntry(name=f"p{number}", address=f"p{number}:1") for number in range(nodes - 1))
    for chance in (0.0, 0.2, 0.5, 0.9):
        story = silenced(peers, chance=chance)
        lying = {one.name for one in peers[:liars]}
        asked_at = story.now + 3.0

        assert asks_all(story, lying, lie, Answer.API_OUT_OF_REACH)[0] == FeedUntil(asked_at + 35.0)


def test_nobody_is_heard_twice_nor_who_was_not_asked_nor_in_a_round_that_is_over() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    liar, stranger = asked.peers[0].name, next(one.name for one in PEERS if one not in asked.peers)
    for _ in range(3):
        story.meets(PeerSaid(1, liar, Answer.CONDEMNED), after=0.1)
    story.meets(PeerSaid(1, stranger, Answer.HEALTHY), after=0.1)
    assert isinstance(story.meets(RoundOver(1), after=3.0)[0], AskPeers)

    assert story.meets(PeerSaid(1, asked.peers[1].name, Answer.HEALTHY), after=0.1) == []


# Looks beside renewals.


def failing() -> Story:
    """One renewal has failed."""
    story = settled()
    story.meets(Waited(), after=5.0)
    assert story.meets(DOWN, after=3.0) == [Wait(story.now + 1.0)]
    return story


@pytest.mark.attack("V2")
def test_while_renewals_fail_it_looks_beside_them_and_lives_from_when_a_look_was_sent() -> None:
    story = failing()
    assert story.looking == LookBeside(every=0.75, within=12.0, most=8)
    sent_at = story.now + 2.0

    assert story.meets(Looked(Found(a_lease("7")), sent_at), after=9.0) == [FeedUntil(sent_at + 35.0)]
    assert story.meets(Looked(Found(a_lease("7")), sent_at - 1.0)) == [], "an older one tells nothing new"
    assert story.meets(Looked(DOWN, sent_at)) == []
    assert story.meets(Looked(Missing(), sent_at)) == []


def test_a_look_that_sees_the_marker_condemns_and_one_that_sees_anothers_is_not_clean() -> None:
    story = failing()
    assert story.meets(Looked(Found(marked("boot-0")), story.now)) == []
    assert story.meets(Looked(Found(marked()), story.now)) == [Condemn("a marker is on its Lease")]
    assert story.meets(Looked(Found(a_lease("7")), story.now + 1.0), after=2.0) == []
    assert story.meets(Waited(), after=1.0) == []


def test_it_stops_looking_when_it_is_in_touch_again() -> None:
    story = failing()
    story.meets(Waited(), after=1.0)
    story.meets(Found(a_lease("8")), after=0.5)
    assert story.looking is None


def outage_for_all(story: Story) -> None:
    """One round in which everybody says so."""
    commands = story.meets(DOWN, after=3.0)
    assert isinstance(commands[-1], AskPeers)
    for one in commands[-1].peers:
        story.meets(PeerSaid(commands[-1].round, one.name, Answer.API_OUT_OF_REACH), after=0.7)


def test_in_an_outage_for_all_it_does_not_look_for_hours() -> None:
    story = silenced()
    for _ in range(100):
        outage_for_all(story)
        assert story.looking is None
        story.meets(Waited(), after=5.0)


def test_but_when_peers_stop_answering_it_looks_again() -> None:
    story = silenced()
    outage_for_all(story)
    for _ in range(2):
        story.meets(Waited(), after=5.0)
        commands = story.meets(DOWN, after=3.0)
        while isinstance(commands[-1], AskPeers):
            commands = story.meets(RoundOver(commands[-1].round), after=3.0)
    assert story.looking is not None


@pytest.mark.attack("V1")
def test_an_agent_that_is_started_in_an_outage_asks_peers_at_once() -> None:
    before = silenced()
    outage_for_all(before)
    story = Story(before.remembered)
    story.now = before.now
    story.meets(Begun(), after=10.0)
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    assert {one.name for one in asked.peers} <= {one.name for one in PEERS}


def test_without_peers_it_lives_on_and_says_that_it_promises_nothing() -> None:
    story = silenced(())
    asked_at = story.now + 3.0

    assert story.meets(DOWN, after=3.0) == [FeedUntil(asked_at + 35.0), Wait(asked_at + 5.0)]
    renewal = story.meets(Waited(), after=5.0)[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == ((),)


def test_but_only_after_it_has_said_so_in_this_boot() -> None:
    """The Lease may still name the peers of an earlier boot, and a manager counts on them."""
    story = Story()
    story.meets(Begun())
    for _ in range(9):
        assert not any(isinstance(one, FeedUntil) for one in story.meets(DOWN, after=3.0))
        story.meets(Waited(), after=5.0)


def test_a_failure_now_and_then_asks_nobody() -> None:
    story = settled()
    for _ in range(5):
        story.meets(Waited(), after=5.0)
        assert story.meets(DOWN, after=3.0) == [Wait(story.now + 1.0)]
        story.renewed()


# Changes, and starts.


def test_new_peers_are_asked_only_after_they_stand_in_its_lease() -> None:
    story = settled()
    proposal = PeerProposal(peers=(PEERS[0], PeerEntry(name="e", address="e:9443")))
    assert story.renewed(proposal=proposal).peers == (("a", "b", "c", "d"),)

    published = story.meets(Waited(), after=5.0)[-1]
    assert isinstance(published, RenewLease)
    assert published.report.peers == (("a", "b", "c", "d"), ("a", "e"))
    assert story.remembered is not None
    assert names(story.remembered.conduct.peers) == ("a", "b", "c", "d")
    story.meets(Found(a_lease("8", published.report)), after=0.5)
    assert names(story.remembered.conduct.peers) == ("a", "e")


def test_what_it_remembers_is_kept_before_it_is_promised() -> None:
    watch = settled().watch
    remembered, renewal = watch.step(Waited(), 105.5, 105.5)

    assert isinstance(remembered, Remember)
    assert isinstance(renewal, RenewLease)
    assert remembered.memory.number == renewal.report.sequence


def test_the_next_process_asks_the_peers_of_the_last_one_though_the_api_is_away() -> None:
    story = settled()
    again = Story(story.remembered)
    again.meets(Begun())
    for _ in range(2):
        again.meets(DOWN, after=3.0)
        again.meets(Waited(), after=5.0)

    (asked,) = again.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    assert {one.name for one in asked.peers} <= {"a", "b", "c", "d"}


def test_one_that_has_lost_its_memory_goes_by_the_newest_list_that_is_published() -> None:
    before = settled().renewed()
    again = Story(Memory(conduct=Conduct(), fed_until=140.0))
    again.meets(Begun())

    (renewal,) = again.meets(Found(a_lease("8", before)))
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == (("a", "b", "c", "d"),)
    assert renewal.report.feed_lease == 40.0
    assert (renewal.report.acknowledged, renewal.report.steady_since) == (0, before.sequence + 1)


# What the feeder believes.


def test_no_lease_reaches_further_than_the_feeder_believes() -> None:
    story = Story(longest_lease=20.0)
    story.begins()
    story.renewed()

    assert story.fed_until <= story.now + 20.0


def test_what_is_published_covers_what_the_feeder_lived_by_before_there_was_an_agent() -> None:
    story = Story(longest_lease=60.0)
    story.begins()

    assert story.renewed().feed_lease == 60.0
    assert story.fed_until <= story.now + 35.0


def test_a_slow_pace_is_taken_up_as_far_as_the_feeder_bears_it() -> None:
    """every 10 s would need a lease of 50 s."""
    story = Story(longest_lease=41.0)
    story.begins()
    story.renewed(proposal=PeerProposal(every=10.0))
    report = story.renewed()

    assert (report.feed_lease, report.contact_age) == (41.0, 21.0)
    assert story.meets(Waited(), after=7.0)


def test_a_feeder_that_tells_something_else_is_published_with_the_next_renewal() -> None:
    story = Story()
    story.begins()
    story.watch.learn(WatchdogReport(class_="software", effective=12.0), None)

    assert story.renewed().watchdog.class_ == "software"


# Its certificate.
