"""Certificates, drills and standing down, as the agent's machine deals with them."""

from dataclasses import replace
from datetime import UTC, datetime

from nodemend.agent.certificate import Held, NoBundle, NotHeld
from nodemend.agent.memory import Memory
from nodemend.agent.published import Conduct
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_steps import (
    AskPeers,
    Begun,
    Command,
    Condemn,
    FeedUntil,
    PlaceLease,
    ReadLease,
    RenewLease,
    StandDown,
    StandUp,
    StopAsked,
    Wait,
    Waited,
)
from nodemend.api.agent_lease import (
    CertificateReport,
    Marker,
    PeerProposal,
)
from nodemend.kube.agent_lease import AgentLease, Found, Missing, Outdated
from tests.unit.agent.watch_story import DOWN, ME, PEERS, Story, a_lease, marked, settled

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DAY = 86_400.0


def holds(story: Story, left: float) -> None:
    story.watch.learn_certificate(Held(life=DAY, left=left), NOW, 0.0)


def test_a_certificate_is_published_with_its_end() -> None:
    story = settled()
    holds(story, 54_000.0)
    report = story.renewed()

    assert report.certificate == CertificateReport(ends="2026-11-17T03:00:00Z", life=DAY)
    assert report.peers == (("a", "b", "c", "d"),)


def test_one_that_comes_to_its_end_costs_the_peers_but_not_before_that_is_acknowledged() -> None:
    story = settled()
    holds(story, DAY / 2)
    assert story.renewed().peers == (("a", "b", "c", "d"),)  # It learns of it as that is acknowledged.

    renewal = story.meets(Waited(), after=5.0)[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == (("a", "b", "c", "d"), ())
    asked = story.meets(DOWN, after=3.0)
    for _ in range(2):
        story.meets(Waited(), after=5.0)
        asked = story.meets(DOWN, after=3.0)
    assert isinstance(asked[-1], AskPeers)  # Nobody has acknowledged it: the peers are asked as ever.


def test_without_one_it_lives_on_alone_once_that_is_published() -> None:
    story = settled()
    story.watch.learn_certificate(NotHeld(), NOW, 0.0)
    for _ in range(2):
        story.renewed()
    assert story.renewed().peers == ((),)
    fed = story.fed_until
    asked: list[Command] = []
    for _ in range(3):
        story.meets(Waited(), after=5.0)
        asked = story.meets(DOWN, after=3.0)

    assert asked == [FeedUntil(story.now + 35.0), Wait(story.now + 5.0)]
    assert story.fed_until > fed


def test_a_marker_that_comes_before_the_peers_are_given_up_ends_it_as_ever() -> None:
    story = settled()
    story.watch.learn_certificate(NotHeld(), NOW, 0.0)
    story.renewed()
    story.meets(Waited(), after=5.0)
    assert isinstance(story.meets(Outdated())[-1], ReadLease)

    assert story.meets(Found(marked())) == [Condemn("a marker is on its Lease")]


def test_nobody_is_to_ask_one_whom_nobody_believes() -> None:
    watch = SelfWatch(replace(ME, address="10.0.0.1:9771"), None, chance=0.0)
    watch.learn_certificate(NoBundle(), NOW, 0.0)
    watch.step(Begun(), 100.0, 100.0)
    placed = watch.step(Missing(), 100.1, 100.1)[-1]

    assert isinstance(placed, PlaceLease)
    assert (placed.report.address, placed.report.certificate) == ("", None)


def test_with_a_new_certificate_it_takes_up_the_peers_that_are_proposed() -> None:
    story = settled(peers=())
    story.watch.learn_certificate(NotHeld(), NOW, 0.0)
    proposal = PeerProposal(peers=PEERS)
    assert story.renewed(proposal=proposal).peers == ((),)
    assert story.renewed(proposal=proposal).peers == ((),)

    holds(story, DAY)
    story.renewed(proposal=proposal)
    assert story.renewed(proposal=proposal).peers == ((), ("a", "b", "c", "d"))
    assert story.renewed(proposal=proposal).peers == (("a", "b", "c", "d"),)


# Drills.


def drilled() -> AgentLease:
    return a_lease("9", marker=Marker(node_uid="uid-1", boot_id="boot-1", remediation_uid="r-1", drill=True))


def test_in_a_drill_it_lets_its_feed_lease_run_out_and_does_nothing_more() -> None:
    story = settled()
    story.meets(Waited(), after=5.0)

    story.meets(Outdated())
    assert story.meets(Found(drilled())) == [Condemn("a drill's marker is on its Lease", at_once=False)]
    assert story.meets(Waited(), after=5.0) == []


def test_an_agent_that_is_started_anew_in_a_drill_feeds_nothing_either() -> None:
    story = Story(Memory(conduct=Conduct(), fed_until=120.0))
    story.meets(Begun())

    assert story.meets(Found(drilled())) == [Condemn("a drill's marker is on its Lease", at_once=False)]
    assert story.fed_until == 0.0


# Told to stop, and begun anew.


def test_it_stands_up_once_after_it_has_let_the_feeder_go_on() -> None:
    story = Story()
    story.meets(Begun())
    story.meets(Found(a_lease("6")))
    assert story.fed_until > story.now
    assert story.meets(Found(a_lease("7")), after=0.5) == [StandUp(), Wait(story.now + 5.0)]

    story.meets(Waited(), after=5.0)
    assert StandUp() not in story.meets(Found(a_lease("8")), after=0.5)


def test_it_does_not_stand_up_while_an_earlier_boot_is_marked() -> None:
    story = Story()
    story.meets(Begun())
    story.meets(Found(marked("boot-0")))
    assert StandUp() not in story.meets(Found(marked("boot-0")), after=0.5)
    story.meets(Waited(), after=5.0)
    assert StandUp() in story.meets(Found(a_lease("8")), after=0.5)


def test_it_reads_before_it_stands_down_and_asks_nobody() -> None:
    story = Story(Memory(conduct=Conduct(peers=PEERS), fresh=False))
    story.begins()
    assert isinstance(story.meets(StopAsked())[-1], ReadLease)
    for _ in range(5):
        assert story.meets(DOWN, after=3.0) == [Wait(story.now + 1.0)]
        assert isinstance(story.meets(Waited(), after=1.0)[-1], ReadLease)
    renewal = story.meets(Found(a_lease("9")))[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.watchdog.class_ == "unsupported"
    assert story.meets(Found(a_lease("10", renewal.report)))[-1] == StandDown()


def test_it_does_not_stand_down_while_an_earlier_boot_is_marked() -> None:
    story = Story()
    story.begins()
    story.meets(StopAsked())
    story.meets(Found(marked("boot-0")))
    assert isinstance(story.meets(Found(marked("boot-0")))[-1], Wait)
