"""The agent's state machine: the conditions under which a node may keep running."""

from typing import Any

import pytest
from msgspec import structs

from nodemend.agent.heartbeat import (
    AskPeers,
    CreateLease,
    FeedUntil,
    FenceNow,
    HeartbeatCommand,
    HeartbeatStarted,
    ParallelReadEnded,
    PeerAnswered,
    ReadLease,
    Remember,
    RenewLease,
    RoundEnded,
    StartParallelRead,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.state import ActiveTerms, AgentState, names
from nodemend.api.agent import AgentReport, PeerEntry, PeerProposal, WatchdogReport
from nodemend.kube.outcome import LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.protocol.peers import PeerReply
from tests.unit.agent.watch_story import DOWN, ME, PEERS, Story, a_lease, marked, settled, silenced


def test_it_reads_its_lease_and_counts_from_the_time_of_the_request() -> None:
    story = Story()

    assert story.meets(HeartbeatStarted()) == [ReadLease(103.0)]
    fed, renewal = story.meets(LeaseFound(a_lease("6")), after=2.0)

    assert fed == FeedUntil(100.0 + 35.0)
    assert isinstance(renewal, RenewLease)
    assert renewal.report.sequence == 1


def test_behind_a_gate_it_leaves_no_record_before_its_first_acknowledgement() -> None:
    """Before that the feeder needs no record, and feeds for longer than a record would allow."""
    story = Story(boot_gate=True)
    story.meets(HeartbeatStarted())
    [renewal] = story.meets(LeaseFound(a_lease("6")), after=2.0)
    assert isinstance(renewal, RenewLease)
    sent_at = story.now

    assert FeedUntil(sent_at + 35.0) in story.meets(LeaseFound(a_lease("7")), after=1.0)


def test_a_first_acknowledgement_with_a_marker_for_another_boot_leaves_a_record_that_is_over() -> None:
    """The next renewal may have peers, so by then the feeder must rely on records only."""
    story = Story(boot_gate=True)
    story.meets(HeartbeatStarted())
    story.meets(LeaseFound(a_lease("6")))

    assert FeedUntil(0.0) in story.meets(LeaseFound(marked("another boot")), after=1.0)


def test_a_renewal_counts_from_its_send_time_and_not_from_its_acknowledgement() -> None:
    story = settled()
    story.meets(WaitEnded(), after=5.0)
    sent_at = story.now

    assert story.meets(LeaseFound(a_lease("8")), after=2.9) == [
        FeedUntil(sent_at + 35.0),
        WaitUntil(sent_at + 7.9),
    ]


def test_contact_ages_from_when_a_renewal_was_acknowledged_not_from_when_it_was_sent() -> None:
    """The API server may store it long after it was sent, and a manager counts K from then on."""
    story = settled()
    story.meets(WaitEnded(), after=5.0)
    story.meets(LeaseFound(a_lease("8")), after=3.0)

    assert not story.watch.out_of_reach(story.now + 14.5)
    assert story.watch.out_of_reach(story.now + 15.0)


def test_a_missing_lease_is_created() -> None:
    story = Story()
    story.meets(HeartbeatStarted())

    (placed,) = story.meets(LeaseMissing())
    assert isinstance(placed, CreateLease)
    assert story.fed_until == 0.0
    story.meets(LeaseFound(a_lease("1", placed.report)), after=1.0)
    assert story.fed_until == 135.0


def test_a_lease_still_missing_after_its_creation_is_a_failure() -> None:
    story = Story()
    story.meets(HeartbeatStarted())
    story.meets(LeaseMissing())

    assert story.meets(LeaseMissing()) == [WaitUntil(story.now + 1.0)]


def test_an_existing_record_is_read_before_anything_is_written() -> None:
    story = settled()
    story.meets(WaitEnded(), after=5.0)

    (read,) = story.meets(LeaseOutdated(), after=0.2)
    assert isinstance(read, ReadLease)
    assert story.fed_until == 135.0


def test_the_numbers_continue_from_those_in_the_lease() -> None:
    story = Story()
    story.meets(HeartbeatStarted())
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
    *_, renewal = story.meets(LeaseFound(a_lease("6", old)))

    assert isinstance(renewal, RenewLease)
    assert (renewal.report.sequence, renewal.report.peers) == (78, ((),))


def test_every_renewal_reports_which_acknowledgement_has_arrived() -> None:
    story = settled()

    reported = [(report.sequence, report.acknowledged) for report in (story.renewed(), story.renewed())]
    assert reported == [(42, 41), (43, 42)]


# A restored etcd.


@pytest.mark.attack("K1")
@pytest.mark.parametrize(
    "shown",
    [{"sequence": 41}, {"boot_id": "boot-0"}, {"node_uid": "uid-0"}, None],
    ids=["an older report", "an earlier boot", "another node", "none"],
)
def test_a_lease_with_less_than_was_acknowledged_voids_its_earlier_statements(
    shown: dict[str, Any] | None,
) -> None:
    story = settled()
    before = story.renewed()
    assert before.remembers_from == 7
    assert story.remembered is not None
    assert story.remembered.contact is not None

    story.meets(WaitEnded(), after=5.0)
    story.meets(LeaseOutdated(), after=0.5)
    older = None if shown is None else structs.replace(before, **shown)
    *_, renewal = story.meets(LeaseFound(a_lease("5", older)), after=0.5)

    assert isinstance(renewal, RenewLease)
    said = renewal.report
    assert (said.replaces, said.remembers_from, said.acknowledged) == (5, 0, before.sequence)
    assert said.steady_since == said.sequence > before.sequence
    story.meets(LeaseFound(a_lease("11", said)), after=0.5)
    *_, following = story.meets(WaitEnded(), after=5.0)
    assert isinstance(following, RenewLease)
    assert following.report.remembers_from == 11


@pytest.mark.attack("K1")
def test_a_deleted_lease_counts_as_one_that_shows_less() -> None:
    story = settled()
    story.renewed()

    story.meets(WaitEnded(), after=5.0)
    *_, placed = story.meets(LeaseMissing(), after=0.5)

    assert isinstance(placed, CreateLease)
    assert (placed.report.replaces, placed.report.remembers_from) == (0, 0)


def test_a_write_without_an_answer_that_was_applied_is_no_restore() -> None:
    story = settled()
    story.renewed()
    *_, unanswered = story.meets(WaitEnded(), after=5.0)
    assert isinstance(unanswered, RenewLease)
    story.meets(DOWN, after=3.0)

    story.meets(WaitEnded(), after=5.0)
    story.meets(LeaseOutdated(), after=0.5)
    *_, renewal = story.meets(LeaseFound(a_lease("8", unanswered.report)), after=0.5)

    assert isinstance(renewal, RenewLease)
    assert (renewal.report.replaces, renewal.report.remembers_from) == (8, 7)


# The marker.


def test_a_marker_for_this_boot_ends_it_permanently() -> None:
    story = settled()
    story.meets(WaitEnded(), after=5.0)
    story.meets(LeaseOutdated(), after=0.2)

    assert story.meets(LeaseFound(marked())) == [FenceNow("a marker is on its Lease")]
    assert story.meets(WaitEnded(), after=5.0) == []
    assert story.meets(LeaseFound(a_lease("10")), after=5.0) == []


def test_a_marker_for_an_earlier_boot_does_not_but_nor_does_it_let_this_one_go_on() -> None:
    """Its writer may not have known of this boot, so the agent publishes it all the same."""
    story = Story()
    story.meets(HeartbeatStarted())

    (renewal,) = story.meets(LeaseFound(marked("an-earlier-boot")))
    assert isinstance(renewal, RenewLease)
    assert story.meets(LeaseFound(marked("an-earlier-boot")), after=0.5) == [WaitUntil(story.now + 5.0)]

    story.meets(WaitEnded(), after=5.0)
    story.meets(LeaseOutdated(), after=0.1)
    fed, _ = story.meets(LeaseFound(a_lease("12")), after=0.1)
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

    heard = story.meets(PeerAnswered(1, "b", PeerReply.HEALTHY), after=2.0)
    assert heard == [FeedUntil(asked_at + 35.0), WaitUntil(asked_at + 7.0)]


def test_if_the_first_peers_are_silent_it_asks_the_rest_and_then_renews_nothing() -> None:
    story = silenced()
    story.meets(DOWN, after=3.0)
    fed = story.fed_until

    (rest,) = story.meets(RoundEnded(1), after=3.0)
    assert isinstance(rest, AskPeers)
    assert len(rest.peers) == 1
    assert story.meets(RoundEnded(2), after=3.0) == [WaitUntil(story.now + 1.0)]
    assert story.fed_until == fed


def test_more_than_half_of_all_peers_without_the_api_are_an_outage() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    asked_at = story.now
    assert isinstance(asked, AskPeers)
    for one in asked.peers[:2]:
        assert story.meets(PeerAnswered(1, one.name, PeerReply.API_OUT_OF_REACH), after=0.1) == []

    heard = story.meets(PeerAnswered(1, asked.peers[2].name, PeerReply.API_OUT_OF_REACH), after=0.1)
    assert heard[0] == FeedUntil(asked_at + 35.0)


def test_half_of_them_are_not() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    fed = story.fed_until
    for one in asked.peers[:2]:
        story.meets(PeerAnswered(1, one.name, PeerReply.API_OUT_OF_REACH), after=0.1)
    story.meets(RoundEnded(1), after=3.0)
    story.meets(RoundEnded(2), after=3.0)

    assert story.fed_until == fed


def test_two_peers_that_saw_the_marker_end_it_unless_a_later_clean_answer_comes_first() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    first, second, third = (one.name for one in asked.peers)
    story.meets(PeerAnswered(1, first, PeerReply.FENCE_NOW), after=0.1)
    assert story.meets(PeerAnswered(1, second, PeerReply.FENCE_NOW), after=0.1) == []

    assert isinstance(story.meets(PeerAnswered(1, third, PeerReply.HEALTHY), after=0.1)[0], FeedUntil)


def test_a_majority_that_saw_the_marker_ends_it() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    for one in asked.peers[:2]:
        story.meets(PeerAnswered(1, one.name, PeerReply.FENCE_NOW), after=0.1)

    assert story.meets(PeerAnswered(1, asked.peers[2].name, PeerReply.FENCE_NOW), after=0.1) == [
        FenceNow("peers have seen a marker on its Lease")
    ]


def asks_all(
    story: Story, byzantine_peers: set[str], lie: PeerReply, truth: PeerReply
) -> list[HeartbeatCommand]:
    """Byzantine peers answer first, the others a moment later. Return the commands after all rounds."""
    commands = story.meets(DOWN, after=3.0)
    while commands and isinstance(commands[-1], AskPeers):
        asked = commands[-1]
        commands = []
        for one in sorted(asked.peers, key=lambda peer: peer.name not in byzantine_peers):
            said = lie if one.name in byzantine_peers else truth
            commands = commands or story.meets(PeerAnswered(asked.round, one.name, said), after=0.05)
        commands = commands or story.meets(RoundEnded(asked.round), after=1.0)
    return commands


@pytest.mark.attack("S3")
@pytest.mark.parametrize(("nodes", "byzantine_peers"), [(5, 1), (16, 2), (16, 7)])
@pytest.mark.parametrize("lie", [PeerReply.FENCE_NOW, PeerReply.SILENT])
def test_lying_peers_do_not_end_a_node_in_a_full_outage(
    nodes: int, byzantine_peers: int, lie: PeerReply
) -> None:
    peers = tuple(PeerEntry(name=f"p{number}", address=f"p{number}:1") for number in range(nodes - 1))
    for chance in (0.0, 0.2, 0.5, 0.9):
        story = silenced(peers, chance=chance)
        lying = {one.name for one in peers[:byzantine_peers]}
        asked_at = story.now + 3.0

        assert asks_all(story, lying, lie, PeerReply.API_OUT_OF_REACH)[0] == FeedUntil(asked_at + 35.0)


def test_repeated_unrequested_and_late_answers_are_ignored() -> None:
    story = silenced()
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    byzantine_peer, stranger = asked.peers[0].name, next(one.name for one in PEERS if one not in asked.peers)
    for _ in range(3):
        story.meets(PeerAnswered(1, byzantine_peer, PeerReply.FENCE_NOW), after=0.1)
    story.meets(PeerAnswered(1, stranger, PeerReply.HEALTHY), after=0.1)
    assert isinstance(story.meets(RoundEnded(1), after=3.0)[0], AskPeers)

    assert story.meets(PeerAnswered(1, asked.peers[1].name, PeerReply.HEALTHY), after=0.1) == []


# API checks beside renewals.


def failing() -> Story:
    """One renewal has failed."""
    story = settled()
    story.meets(WaitEnded(), after=5.0)
    assert story.meets(DOWN, after=3.0) == [WaitUntil(story.now + 1.0)]
    return story


@pytest.mark.attack("V2")
def test_while_renewals_fail_it_also_sends_api_checks_and_counts_from_their_send_time() -> None:
    story = failing()
    assert story.looking == StartParallelRead(every=0.75, within=12.0, most=8)
    sent_at = story.now + 2.0

    assert story.meets(ParallelReadEnded(LeaseFound(a_lease("7")), sent_at), after=9.0) == [
        FeedUntil(sent_at + 35.0)
    ]
    assert story.meets(ParallelReadEnded(LeaseFound(a_lease("7")), sent_at - 1.0)) == [], (
        "an older one tells nothing new"
    )
    assert story.meets(ParallelReadEnded(DOWN, sent_at)) == []
    assert story.meets(ParallelReadEnded(LeaseMissing(), sent_at)) == []


def test_a_marker_for_this_boot_fences_the_node_and_one_for_another_is_not_clean() -> None:
    story = failing()
    assert story.meets(ParallelReadEnded(LeaseFound(marked("boot-0")), story.now)) == []
    assert story.meets(ParallelReadEnded(LeaseFound(marked()), story.now)) == [
        FenceNow("a marker is on its Lease")
    ]
    assert story.meets(ParallelReadEnded(LeaseFound(a_lease("7")), story.now + 1.0), after=2.0) == []
    assert story.meets(WaitEnded(), after=1.0) == []


def test_it_stops_the_api_checks_after_contact_is_restored() -> None:
    story = failing()
    story.meets(WaitEnded(), after=1.0)
    story.meets(LeaseFound(a_lease("8")), after=0.5)
    assert story.looking is None


def outage_for_all(story: Story) -> None:
    """One round in which every peer answers that the API server is out of reach."""
    commands = story.meets(DOWN, after=3.0)
    assert isinstance(commands[-1], AskPeers)
    for one in commands[-1].peers:
        story.meets(PeerAnswered(commands[-1].round, one.name, PeerReply.API_OUT_OF_REACH), after=0.7)


def test_in_a_full_outage_it_sends_no_api_checks_for_hours() -> None:
    story = silenced()
    for _ in range(100):
        outage_for_all(story)
        assert story.looking is None
        story.meets(WaitEnded(), after=5.0)


def test_when_peers_stop_answering_it_sends_api_checks_again() -> None:
    story = silenced()
    outage_for_all(story)
    for _ in range(2):
        story.meets(WaitEnded(), after=5.0)
        commands = story.meets(DOWN, after=3.0)
        while isinstance(commands[-1], AskPeers):
            commands = story.meets(RoundEnded(commands[-1].round), after=3.0)
    assert story.looking is not None


@pytest.mark.attack("V1")
def test_an_agent_that_is_started_in_an_outage_asks_peers_at_once() -> None:
    before = silenced()
    outage_for_all(before)
    story = Story(before.remembered)
    story.now = before.now
    story.meets(HeartbeatStarted(), after=10.0)
    (asked,) = story.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    assert {one.name for one in asked.peers} <= {one.name for one in PEERS}


def test_without_peers_it_continues_and_reports_that_it_promises_nothing() -> None:
    story = silenced(())
    asked_at = story.now + 3.0

    assert story.meets(DOWN, after=3.0) == [FeedUntil(asked_at + 35.0), WaitUntil(asked_at + 5.0)]
    renewal = story.meets(WaitEnded(), after=5.0)[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == ((),)


def test_without_peers_it_continues_only_after_that_was_published_in_this_boot() -> None:
    """The Lease may still name the peers of an earlier boot, and a manager relies on them."""
    story = Story()
    story.meets(HeartbeatStarted())
    for _ in range(9):
        assert not any(isinstance(one, FeedUntil) for one in story.meets(DOWN, after=3.0))
        story.meets(WaitEnded(), after=5.0)


def test_an_occasional_failure_asks_no_peer() -> None:
    story = settled()
    for _ in range(5):
        story.meets(WaitEnded(), after=5.0)
        assert story.meets(DOWN, after=3.0) == [WaitUntil(story.now + 1.0)]
        story.renewed()


# Changed terms, and restarts of the agent.


def test_new_peers_are_asked_only_after_they_are_published_in_the_lease() -> None:
    story = settled()
    proposal = PeerProposal(peers=(PEERS[0], PeerEntry(name="e", address="e:9443")))
    assert story.renewed(proposal=proposal).peers == (("a", "b", "c", "d"),)

    published = story.meets(WaitEnded(), after=5.0)[-1]
    assert isinstance(published, RenewLease)
    assert published.report.peers == (("a", "b", "c", "d"), ("a", "e"))
    assert story.remembered is not None
    assert names(story.remembered.active_terms.peers) == ("a", "b", "c", "d")
    story.meets(LeaseFound(a_lease("8", published.report)), after=0.5)
    assert names(story.remembered.active_terms.peers) == ("a", "e")


def test_its_memory_is_stored_before_it_is_promised() -> None:
    watch = settled().watch
    remembered, renewal = watch.step(WaitEnded(), 105.5, 105.5)

    assert isinstance(remembered, Remember)
    assert isinstance(renewal, RenewLease)
    assert remembered.memory.number == renewal.report.sequence


def test_the_next_process_asks_the_last_one_s_peers_even_without_the_api() -> None:
    story = settled()
    again = Story(story.remembered)
    again.meets(HeartbeatStarted())
    for _ in range(2):
        again.meets(DOWN, after=3.0)
        again.meets(WaitEnded(), after=5.0)

    (asked,) = again.meets(DOWN, after=3.0)
    assert isinstance(asked, AskPeers)
    assert {one.name for one in asked.peers} <= {"a", "b", "c", "d"}


def test_an_agent_without_memory_uses_the_newest_published_list() -> None:
    before = settled().renewed()
    again = Story(AgentState(active_terms=ActiveTerms(), fed_until=140.0))
    again.meets(HeartbeatStarted())

    (renewal,) = again.meets(LeaseFound(a_lease("8", before)))
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == (("a", "b", "c", "d"),)
    assert renewal.report.feed_lease == 40.0
    assert (renewal.report.acknowledged, renewal.report.steady_since) == (0, before.sequence + 1)


# Limits of the feeder.


def test_no_lease_is_longer_than_the_feeder_accepts() -> None:
    story = Story(longest_lease=20.0)
    story.begins()
    story.renewed()

    assert story.fed_until <= story.now + 20.0


def test_the_published_bounds_cover_the_feeder_s_time_before_the_agent() -> None:
    story = Story(longest_lease=60.0)
    story.begins()

    assert story.renewed().feed_lease == 60.0
    assert story.fed_until <= story.now + 35.0


def test_a_slow_pace_is_used_as_far_as_the_feeder_accepts_it() -> None:
    """`every` of 10 s would need a lease of 50 s."""
    story = Story(longest_lease=41.0)
    story.begins()
    story.renewed(proposal=PeerProposal(every=10.0))
    report = story.renewed()

    assert (report.feed_lease, report.contact_age) == (41.0, 21.0)
    assert story.meets(WaitEnded(), after=7.0)


def test_a_changed_feeder_report_is_published_with_the_next_renewal() -> None:
    story = Story()
    story.begins()
    story.watch.learn(WatchdogReport(class_="software", effective=12.0), None)

    assert story.renewed().watchdog.class_ == "software"


# The node's certificate.
