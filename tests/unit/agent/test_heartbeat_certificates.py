"""Certificates, drills and graceful stop in the agent's state machine."""

from dataclasses import replace
from datetime import UTC, datetime

from nodemend.agent.certificates import CertificateHeld, NoBundle, NoCertificate
from nodemend.agent.heartbeat import (
    AskPeers,
    CreateLease,
    FeedUntil,
    FenceNow,
    Heartbeat,
    HeartbeatCommand,
    HeartbeatStarted,
    ReadLease,
    RenewLease,
    ResumeFeeding,
    StopGracefully,
    StopRequested,
    WaitEnded,
    WaitUntil,
)
from nodemend.agent.state import ActiveTerms, AgentState
from nodemend.api.agent import CertificateReport, Marker, PeerProposal
from nodemend.kube.outcome import LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.records.agent_lease import AgentLease
from tests.unit.agent.watch_story import DOWN, ME, PEERS, Story, a_lease, marked, settled

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DAY = 86_400.0


def holds(story: Story, left: float) -> None:
    story.watch.learn_certificate(CertificateHeld(life=DAY, left=left), NOW, 0.0)


def test_a_certificate_is_published_with_its_end() -> None:
    story = settled()
    holds(story, 54_000.0)
    report = story.renewed()

    assert report.certificate == CertificateReport(ends="2026-11-17T03:00:00Z", life=DAY)
    assert report.peers == (("a", "b", "c", "d"),)


def test_an_expiring_certificate_drops_the_peers_only_after_an_acknowledgement() -> None:
    story = settled()
    holds(story, DAY / 2)
    # It learns the certificate with this acknowledgement.
    assert story.renewed().peers == (("a", "b", "c", "d"),)

    renewal = story.meets(WaitEnded(), after=5.0)[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.peers == (("a", "b", "c", "d"), ())
    asked = story.meets(DOWN, after=3.0)
    for _ in range(2):
        story.meets(WaitEnded(), after=5.0)
        asked = story.meets(DOWN, after=3.0)
    assert isinstance(asked[-1], AskPeers)  # This is not acknowledged yet, so the agent still asks its peers.


def test_without_a_certificate_it_continues_alone_once_that_is_published() -> None:
    story = settled()
    story.watch.learn_certificate(NoCertificate(), NOW, 0.0)
    for _ in range(2):
        story.renewed()
    assert story.renewed().peers == ((),)
    fed = story.fed_until
    asked: list[HeartbeatCommand] = []
    for _ in range(3):
        story.meets(WaitEnded(), after=5.0)
        asked = story.meets(DOWN, after=3.0)

    assert asked == [FeedUntil(story.now + 35.0), WaitUntil(story.now + 5.0)]
    assert story.fed_until > fed


def test_a_marker_before_the_peers_are_dropped_still_ends_it() -> None:
    story = settled()
    story.watch.learn_certificate(NoCertificate(), NOW, 0.0)
    story.renewed()
    story.meets(WaitEnded(), after=5.0)
    assert isinstance(story.meets(LeaseOutdated())[-1], ReadLease)

    assert story.meets(LeaseFound(marked())) == [FenceNow("a marker is on its Lease")]


def test_an_agent_without_an_accepted_certificate_must_not_be_asked() -> None:
    watch = Heartbeat(replace(ME, address="10.0.0.1:9771"), None, chance=0.0)
    watch.learn_certificate(NoBundle(), NOW, 0.0)
    watch.step(HeartbeatStarted(), 100.0, 100.0)
    placed = watch.step(LeaseMissing(), 100.1, 100.1)[-1]

    assert isinstance(placed, CreateLease)
    assert (placed.report.address, placed.report.certificate) == ("", None)


def test_with_a_new_certificate_it_uses_the_proposed_peers() -> None:
    story = settled(peers=())
    story.watch.learn_certificate(NoCertificate(), NOW, 0.0)
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
    story.meets(WaitEnded(), after=5.0)

    story.meets(LeaseOutdated())
    assert story.meets(LeaseFound(drilled())) == [FenceNow("a drill's marker is on its Lease", at_once=False)]
    assert story.meets(WaitEnded(), after=5.0) == []


def test_a_restarted_agent_in_a_drill_feeds_nothing_either() -> None:
    story = Story(AgentState(active_terms=ActiveTerms(), fed_until=120.0))
    story.meets(HeartbeatStarted())

    assert story.meets(LeaseFound(drilled())) == [FenceNow("a drill's marker is on its Lease", at_once=False)]
    assert story.fed_until == 0.0


# Stop and restart.


def test_it_returns_once_after_it_has_let_the_feeder_continue() -> None:
    story = Story()
    story.meets(HeartbeatStarted())
    story.meets(LeaseFound(a_lease("6")))
    assert story.fed_until > story.now
    assert story.meets(LeaseFound(a_lease("7")), after=0.5) == [ResumeFeeding(), WaitUntil(story.now + 5.0)]

    story.meets(WaitEnded(), after=5.0)
    assert ResumeFeeding() not in story.meets(LeaseFound(a_lease("8")), after=0.5)


def test_it_does_not_return_while_an_earlier_boot_is_marked() -> None:
    story = Story()
    story.meets(HeartbeatStarted())
    story.meets(LeaseFound(marked("boot-0")))
    assert ResumeFeeding() not in story.meets(LeaseFound(marked("boot-0")), after=0.5)
    story.meets(WaitEnded(), after=5.0)
    assert ResumeFeeding() in story.meets(LeaseFound(a_lease("8")), after=0.5)


def test_it_reads_before_it_stops_gracefully_and_asks_no_peer() -> None:
    story = Story(AgentState(active_terms=ActiveTerms(peers=PEERS), fresh=False))
    story.begins()
    assert isinstance(story.meets(StopRequested())[-1], ReadLease)
    for _ in range(5):
        assert story.meets(DOWN, after=3.0) == [WaitUntil(story.now + 1.0)]
        assert isinstance(story.meets(WaitEnded(), after=1.0)[-1], ReadLease)
    renewal = story.meets(LeaseFound(a_lease("9")))[-1]
    assert isinstance(renewal, RenewLease)
    assert renewal.report.watchdog.class_ == "unsupported"
    assert story.meets(LeaseFound(a_lease("10", renewal.report)))[-1] == StopGracefully()


def test_it_does_not_stop_gracefully_while_an_earlier_boot_is_marked() -> None:
    story = Story()
    story.begins()
    story.meets(StopRequested())
    story.meets(LeaseFound(marked("boot-0")))
    assert isinstance(story.meets(LeaseFound(marked("boot-0")))[-1], WaitUntil)
