"""The election machine, one event at a time. No clock, no server: only what it says to do next."""

from dataclasses import replace

import pytest

from nodemend.kube.leader_election import (
    CampaignStarted,
    Claim,
    ElectionCommand,
    ElectionEvent,
    LeaderLease,
    LeaseTiming,
    Leave,
    Place,
    ReadLeaderLease,
    Record,
    ReleaseLeadership,
    Renew,
    Resigned,
    StopWork,
    WaitFor,
    WaitOver,
    WorkStopped,
)
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated

TIMING = LeaseTiming()
SPREAD = TIMING.retry_period * TIMING.retry_jitter
OTHERS = Record(uid="u1", version="40", holder="other", seconds=15, transitions=3)
RELEASED = Record(uid="u1", version="40", holder="", seconds=1, transitions=3)
OURS = Record(uid="u1", version="50", holder="me", seconds=15, transitions=4)


def version(number: int, record: Record = OURS) -> Record:
    return replace(record, version=str(number))


def play(machine: LeaderLease, *steps: tuple[ElectionEvent, float]) -> ElectionCommand:
    """Step through all events; the last command."""
    command: ElectionCommand = Leave()
    for event, now in steps:
        command = machine.step(event, now)
    return command


def candidate() -> LeaderLease:
    machine = LeaderLease("me", TIMING)
    machine.step(CampaignStarted(), 0.0)
    return machine


def leader(*, claimed_at: float = 100.0) -> LeaderLease:
    """Leads in epoch 50 by a claim sent at `claimed_at`, until `claimed_at` + 10."""
    machine = candidate()
    own_old = replace(OURS, version="45")
    assert play(machine, (LeaseFound(own_old), claimed_at)) == Claim(own_old, claimed_at + 3)
    assert isinstance(machine.step(LeaseFound(OURS), claimed_at + 0.1), WaitFor)
    assert machine.term is not None
    return machine


# Candidate


def test_it_looks_first() -> None:
    assert LeaderLease("me", TIMING).step(CampaignStarted(), 5.0) == ReadLeaderLease(deadline=8.0)


def test_a_lease_of_another_holder_is_left_alone_for_its_whole_duration() -> None:
    machine = candidate()

    assert isinstance(machine.step(LeaseFound(OTHERS), 1.0), WaitFor)
    assert machine.step(WaitOver(), 15.9) == ReadLeaderLease(18.9)
    assert machine.step(LeaseFound(OTHERS), 15.99) == WaitFor(16.0)


def test_a_lease_known_unchanged_for_its_duration_is_claimed_in_that_version() -> None:
    machine = candidate()

    command = play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 16.0), (LeaseFound(OTHERS), 16.0))

    assert command == Claim(OTHERS, deadline=19.0)


def test_counting_begins_again_with_every_change() -> None:
    machine = candidate()
    play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 15.0), (LeaseFound(version(41, OTHERS)), 15.0))

    assert isinstance(play(machine, (WaitOver(), 29.9), (LeaseFound(version(41, OTHERS)), 29.9)), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 30.0), (LeaseFound(version(41, OTHERS)), 30.0)), Claim)


def test_a_version_seen_again_after_another_is_new() -> None:
    machine = candidate()
    play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 8.0), (LeaseFound(version(41, OTHERS)), 8.0))

    assert isinstance(play(machine, (WaitOver(), 16.5), (LeaseFound(OTHERS), 16.5)), WaitFor)


def test_the_same_version_under_another_uid_is_another_lease() -> None:
    machine = candidate()
    play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 16.0))

    assert isinstance(machine.step(LeaseFound(replace(OTHERS, uid="u2")), 16.0), WaitFor)


def test_a_holder_who_asks_for_longer_gets_longer() -> None:
    machine = candidate()
    patient = replace(OTHERS, seconds=40)
    play(machine, (LeaseFound(patient), 1.0))

    assert isinstance(play(machine, (WaitOver(), 40.0), (LeaseFound(patient), 40.0)), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 41.0), (LeaseFound(patient), 41.0)), Claim)


@pytest.mark.parametrize("seconds", [0, 1, 14])
def test_a_holder_who_asks_for_less_gets_our_duration(seconds: int) -> None:
    machine = candidate()
    hasty = replace(OTHERS, seconds=seconds)
    play(machine, (LeaseFound(hasty), 1.0))

    assert isinstance(play(machine, (WaitOver(), 15.9), (LeaseFound(hasty), 15.9)), WaitFor)


def test_a_released_lease_is_free_after_its_second() -> None:
    machine = candidate()

    assert machine.step(LeaseFound(RELEASED), 1.0) == WaitFor(2.0)
    assert isinstance(play(machine, (WaitOver(), 2.0), (LeaseFound(RELEASED), 2.0)), Claim)


def test_an_unheld_lease_without_a_duration_blocks_for_the_candidate_s_duration() -> None:
    machine = candidate()
    blank = replace(RELEASED, seconds=0)
    play(machine, (LeaseFound(blank), 1.0))

    assert isinstance(play(machine, (WaitOver(), 15.9), (LeaseFound(blank), 15.9)), WaitFor)


def test_an_absent_lease_is_placed_and_then_watched_for_the_full_time() -> None:
    machine = candidate()
    placed = replace(RELEASED, uid="u2", seconds=15)

    assert machine.step(LeaseMissing(), 1.0) == Place(deadline=4.0)
    assert isinstance(machine.step(LeaseFound(placed), 1.5), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 16.4), (LeaseFound(placed), 16.4)), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 16.5), (LeaseFound(placed), 16.5)), Claim)


def test_the_candidate_waits_for_a_missing_namespace() -> None:
    command = play(candidate(), (LeaseMissing(), 1.0), (LeaseMissing(), 1.1))

    assert isinstance(command, WaitFor)
    assert "namespace" in command.why


def test_its_own_record_from_an_earlier_claim_is_claimed_at_once() -> None:
    assert candidate().step(LeaseFound(OURS), 1.0) == Claim(OURS, 4.0)


def test_a_claim_without_a_reply_is_verified_by_a_read() -> None:
    machine = candidate()
    play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 16.0), (LeaseFound(OTHERS), 16.0))

    command = machine.step(LeaseFailed("no answer"), 19.0)

    assert isinstance(command, WaitFor)
    assert machine.term is None
    assert machine.step(WaitOver(), 19.2) == ReadLeaderLease(22.2)


def test_a_claim_that_was_applied_without_a_reply_is_repeated_with_a_higher_epoch() -> None:
    machine = candidate()
    play(
        machine,
        (LeaseFound(OTHERS), 1.0),
        (WaitOver(), 16.0),
        (LeaseFound(OTHERS), 16.0),
        (LeaseFailed("?"), 19.0),
    )

    assert play(machine, (WaitOver(), 19.2), (LeaseFound(OURS), 19.3)) == Claim(OURS, 22.3)
    machine.step(LeaseFound(version(51)), 19.4)
    assert machine.term is not None
    assert machine.term.epoch == 51


def test_a_claim_that_was_not_applied_is_repeated_without_a_new_wait() -> None:
    machine = candidate()
    play(
        machine,
        (LeaseFound(OTHERS), 1.0),
        (WaitOver(), 16.0),
        (LeaseFound(OTHERS), 16.0),
        (LeaseFailed("?"), 19.0),
    )

    assert play(machine, (WaitOver(), 19.2), (LeaseFound(OTHERS), 19.3)) == Claim(OTHERS, 22.3)


def test_a_claim_lost_to_another_starts_the_watch_again() -> None:
    machine = candidate()
    play(machine, (LeaseFound(OTHERS), 1.0), (WaitOver(), 16.0), (LeaseFound(OTHERS), 16.0))

    assert isinstance(machine.step(LeaseOutdated(), 16.1), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 18.0), (LeaseFound(version(60, OTHERS)), 18.0)), WaitFor)


def test_a_claim_answered_after_its_time_is_not_a_term() -> None:
    machine = candidate()
    play(machine, (LeaseFound(replace(OURS, version="45")), 100.0))

    assert isinstance(machine.step(LeaseFound(OURS), 110.0), WaitFor)
    assert machine.term is None


@pytest.mark.parametrize(
    "strange",
    [replace(OURS, version="45"), replace(OURS, holder="other"), replace(OURS, uid="u2")],
)
def test_a_claim_answered_with_anything_but_our_own_new_write_is_no_term(strange: Record) -> None:
    machine = candidate()
    play(machine, (LeaseFound(replace(OURS, version="45")), 100.0))

    assert isinstance(machine.step(LeaseFound(strange), 100.1), WaitFor)
    assert machine.term is None


def test_a_busy_server_is_left_alone_for_as_long_as_it_asks() -> None:
    command = candidate().step(LeaseFailed("429", retry_after=30.0), 0.1)

    assert command == WaitFor(30.1, SPREAD, "429")


def test_failing_looks_are_a_retry_period_apart() -> None:
    assert candidate().step(LeaseFailed("connection refused"), 0.1) == WaitFor(
        2.0, SPREAD, "connection refused"
    )


# Leader


def test_a_term_counts_from_the_sending_of_the_claim() -> None:
    term = leader(claimed_at=100.0).term

    assert term is not None
    assert (term.epoch, term.ends_at) == (50, 110.0)
    assert term.safe_until == pytest.approx(100.0 + 15 * 0.99 / 1.01)


def test_a_renewal_counts_from_its_sending_and_keeps_the_epoch() -> None:
    machine = leader()

    assert machine.step(WaitOver(), 102.0) == Renew(OURS, deadline=105.0)
    assert machine.step(LeaseFound(version(51)), 104.9) == WaitFor(104.0, SPREAD)
    assert machine.term is not None
    assert (machine.term.epoch, machine.term.record.version, machine.term.ends_at) == (50, "51", 112.0)


def test_no_request_may_outlast_the_term() -> None:
    machine = leader()

    assert machine.step(WaitOver(), 109.0) == Renew(OURS, deadline=110.0)


def test_a_renewal_without_an_answer_is_read_before_it_is_tried_again() -> None:
    machine = leader()
    play(machine, (WaitOver(), 102.0), (LeaseFailed("no answer"), 105.0))

    assert machine.step(WaitOver(), 105.1) == ReadLeaderLease(108.1)
    assert machine.step(LeaseFound(version(51)), 105.2) == Renew(version(51), 108.2)


def test_reading_that_a_renewal_was_applied_extends_nothing() -> None:
    machine = leader()
    play(machine, (WaitOver(), 102.0), (LeaseFailed("no answer"), 105.0), (WaitOver(), 105.1))

    machine.step(LeaseFound(version(51)), 105.2)

    assert machine.term is not None
    assert machine.term.ends_at == 110.0


def test_a_term_that_is_not_renewed_in_time_is_over() -> None:
    machine = leader()
    play(machine, (WaitOver(), 102.0), (LeaseFailed("no answer"), 105.0), (WaitOver(), 105.1))

    assert machine.step(LeaseFailed("no answer"), 108.1) == WaitFor(108.1, SPREAD, "no answer")
    assert machine.step(WaitOver(), 108.5) == ReadLeaderLease(110.0)
    assert machine.step(LeaseFailed("no answer"), 110.0) == StopWork("not renewed in time")
    assert machine.term is None


def test_waits_of_a_leader_end_with_the_term() -> None:
    machine = leader()
    play(machine, (WaitOver(), 109.5))

    assert machine.step(LeaseFailed("429", retry_after=60.0), 109.6) == WaitFor(110.0, 0.0, "429")


def test_an_answer_that_is_read_too_late_saves_nothing() -> None:
    machine = leader()
    machine.step(WaitOver(), 109.0)

    assert machine.step(LeaseFound(version(51)), 110.0) == StopWork("not renewed in time")


def test_a_deleted_lease_ends_the_term_at_once() -> None:
    machine = leader()

    assert play(machine, (WaitOver(), 102.0), (LeaseMissing(), 102.1)) == StopWork("the Lease was deleted")
    assert machine.term is None


@pytest.mark.parametrize("taken", [replace(OURS, holder="other"), replace(OURS, uid="u2")])
def test_a_lease_in_other_hands_ends_the_term_at_once(taken: Record) -> None:
    machine = leader()

    command = play(machine, (WaitOver(), 102.0), (LeaseOutdated(), 102.1), (LeaseFound(taken), 102.2))

    assert isinstance(command, StopWork)
    assert machine.term is None


def test_a_refused_renewal_is_looked_into_at_once() -> None:
    assert play(leader(), (WaitOver(), 102.0), (LeaseOutdated(), 102.1)) == ReadLeaderLease(105.1)


def test_a_lease_edited_by_others_but_still_held_is_renewed_in_its_new_version() -> None:
    machine = leader()
    play(machine, (WaitOver(), 102.0), (LeaseOutdated(), 102.1))

    assert machine.step(LeaseFound(version(55)), 102.2) == WaitFor(104.0)
    assert machine.step(WaitOver(), 104.0) == Renew(version(55), 107.0)


def test_a_renewal_that_changed_nothing_does_not_count() -> None:
    machine = leader()
    play(machine, (WaitOver(), 102.0), (LeaseFound(OURS), 102.1))

    assert machine.term is not None
    assert machine.term.ends_at == 110.0


def test_after_the_work_has_stopped_it_campaigns_again_with_a_higher_epoch() -> None:
    machine = leader()
    play(machine, (WaitOver(), 109.0), (LeaseFailed("no answer"), 110.0))

    assert machine.step(WorkStopped(), 110.5) == ReadLeaderLease(113.5)
    assert machine.step(LeaseFound(OURS), 110.6) == Claim(OURS, 113.6)
    machine.step(LeaseFound(version(70)), 110.7)
    assert machine.term is not None
    assert machine.term.epoch == 70


# A restored etcd


@pytest.mark.attack("K1")
def test_a_leader_whose_lease_went_back_loses_its_term_though_it_is_still_named() -> None:
    machine = leader()
    play(
        machine,
        (WaitOver(), 102.0),
        (LeaseFound(version(55)), 102.1),
        (WaitOver(), 104.0),
        (LeaseOutdated(), 104.1),
    )

    stopped = machine.step(LeaseFound(version(48)), 104.2)

    assert isinstance(stopped, StopWork)
    assert "etcd was restored" in stopped.why
    assert machine.term is None


@pytest.mark.attack("K1")
def test_a_restored_record_with_its_own_name_is_watched_like_any_other() -> None:
    """Another process may have led since, and may not know yet that its claim is lost."""
    machine = candidate()
    play(machine, (LeaseFound(replace(OTHERS, version="60")), 1.0), (WaitOver(), 3.0))

    assert isinstance(machine.step(LeaseFound(OURS), 3.1), WaitFor)
    assert isinstance(play(machine, (WaitOver(), 5.0), (LeaseFound(OURS), 5.1)), WaitFor)
    claimed = play(machine, (WaitOver(), 18.2), (LeaseFound(OURS), 18.3))
    assert claimed == Claim(OURS, 21.3)
    machine.step(LeaseFound(version(61)), 18.4)
    assert machine.term is not None
    assert (machine.term.epoch, machine.term.remembers_from, machine.term.remembers_since) == (61, 50, 3.1)


@pytest.mark.attack("K1")
@pytest.mark.parametrize(
    ("observations", "remembers_from"),
    [
        ([(40, 1.0), (40, 9.0), (40, 17.0)], 40),
        ([(38, 1.0), (40, 9.0), (40, 25.0)], 40),
        ([(30, 1.0), (38, 9.0), (40, 17.0), (40, 25.0), (40, 33.0)], 30),
    ],
    ids=["from the first look on", "not across a gap", "across terms of others"],
)
def test_a_term_knows_from_where_on_its_process_has_watched(
    observations: list[tuple[int, float]], remembers_from: int
) -> None:
    machine = candidate()
    command: ElectionCommand = Leave()
    for number, at in observations:
        machine.step(WaitOver(), at)
        command = machine.step(LeaseFound(replace(OTHERS, version=str(number))), at)
    while not isinstance(command, Claim):
        at += 5.0
        machine.step(WaitOver(), at)
        command = machine.step(LeaseFound(replace(OTHERS, version="40")), at)

    machine.step(LeaseFound(version(70)), at + 0.1)

    assert machine.term is not None
    assert machine.term.remembers_from == remembers_from


def remembered_after(*observations: Record) -> int:
    """From where on it remembers once it leads, after it has seen these versions two seconds apart."""
    machine = candidate()
    at = 0.0
    command: ElectionCommand = Leave()
    for record in observations:
        at += 2.0
        machine.step(WaitOver(), at)
        command = machine.step(LeaseFound(record), at)
    while not isinstance(command, Claim):
        at += 5.0
        machine.step(WaitOver(), at)
        command = machine.step(LeaseFound(observations[-1]), at)
    machine.step(LeaseFound(version(90)), at + 0.1)
    assert machine.term is not None
    return machine.term.remembers_from


def renewed(number: int, *, at: str, remembers: int = 0) -> Record:
    return replace(OTHERS, version=str(number), renewed=at, remembers_from=remembers)


@pytest.mark.attack("K1")
@pytest.mark.parametrize(
    ("observations", "remembers_from"),
    [
        ([renewed(40, at="1", remembers=7)], 40),
        ([renewed(40, at="1", remembers=7), renewed(41, at="1", remembers=7)], 40),
        ([renewed(40, at="1", remembers=7), renewed(41, at="2", remembers=7)], 7),
        ([renewed(40, at="1", remembers=7), renewed(41, at="2")], 40),
        ([renewed(40, at="1"), renewed(41, at="2", remembers=99)], 40),
        ([renewed(40, at="1", remembers=7), renewed(41, at="2", remembers=7), renewed(39, at="0")], 39),
    ],
    ids=[
        "a record that is first seen proves nothing",
        "nor does one that somebody else has touched",
        "who sees a renewal knows as much as the leader",
        "who does not say knows nothing",
        "less is not more",
        "a restore ends all memories",
    ],
)
def test_who_sees_the_leader_renew_remembers_what_the_leader_does(
    observations: list[Record], remembers_from: int
) -> None:
    assert remembered_after(*observations) == remembers_from


# Leaving


def test_a_leaving_leader_reads_the_lease_before_it_releases_it() -> None:
    machine = leader()
    machine.step(WaitOver(), 102.0)

    assert machine.step(Resigned(), 102.1) == ReadLeaderLease(105.1)
    assert machine.term is None
    assert machine.step(LeaseFound(version(51)), 102.2) == ReleaseLeadership(version(51), 105.2)
    assert machine.step(LeaseFound(version(52)), 102.3) == Leave()


@pytest.mark.parametrize("seen", [LeaseFound(OTHERS), LeaseMissing(), LeaseFailed("no answer")])
def test_a_leaving_leader_leaves_a_lease_of_another_holder_alone(seen: ElectionEvent) -> None:
    assert play(leader(), (Resigned(), 102.0), (seen, 102.1)) == Leave()


def test_a_release_that_fails_is_left_to_time() -> None:
    machine = leader()

    assert play(machine, (Resigned(), 102.0), (LeaseFound(OURS), 102.1), (LeaseOutdated(), 102.2)) == Leave()


def test_a_candidate_without_an_identity_is_refused() -> None:
    with pytest.raises(ValueError, match="identity"):
        LeaderLease("", TIMING)
