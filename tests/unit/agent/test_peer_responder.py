"""Answers of a node to its peers, and the rate of API checks on their behalf."""

import pytest

from nodemend.agent.peer_responder import (
    MOST_WAITING,
    PeerResponder,
    ReadPeerLease,
    SendAnswer,
    StatusQuestion,
    answer_for,
)
from nodemend.api.agent import Marker
from nodemend.kube.outcome import LeaseFailed, LeaseFound, LeaseMissing, LeaseOutdated
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import AgentLease, AgentLeaseResult

CLEAN = LeaseFound(AgentLease(uid="l", version="1"))
MARKED = LeaseFound(
    AgentLease(uid="l", version="1", marker=Marker(node_uid="u", boot_id="b", remediation_uid="r"))
)
DOWN = LeaseFailed("no answer in time")


def asks(number: int, node: str = "n", *, uid: str = "u", boot: str = "b") -> StatusQuestion:
    return StatusQuestion(number, node, uid, boot)


@pytest.mark.parametrize(
    ("news", "out_of_reach", "answer"),
    [
        (CLEAN, True, PeerReply.HEALTHY),
        (MARKED, True, PeerReply.FENCE_NOW),
        (LeaseMissing(), True, PeerReply.SILENT),
        (LeaseOutdated(), True, PeerReply.SILENT),
        (DOWN, True, PeerReply.API_OUT_OF_REACH),
        (DOWN, False, PeerReply.SILENT),
    ],
)
def test_it_reports_its_observation_and_denies_only_when_it_may(
    news: AgentLeaseResult, out_of_reach: bool, answer: PeerReply
) -> None:
    assert answer_for(asks(1), news, out_of_reach=out_of_reach) is answer


@pytest.mark.parametrize(("uid", "boot"), [("another", "b"), ("u", "another")])
def test_a_marker_for_another_boot_neither_ends_nor_extends_this_boot(uid: str, boot: str) -> None:
    assert answer_for(asks(1, uid=uid, boot=boot), MARKED, out_of_reach=False) is PeerReply.SILENT


def test_a_request_joins_no_api_check_that_began_before_it() -> None:
    responder = PeerResponder()
    assert responder.ask(asks(1), 100.0) == [ReadPeerLease("n", 102.0)]
    assert responder.ask(asks(2), 100.1) == []
    assert responder.ask(asks(3), 100.9) == []

    assert responder.looked("n", CLEAN, 101.0, out_of_reach=False) == [
        SendAnswer(1, PeerReply.HEALTHY),
        ReadPeerLease("n", 103.0),
    ]
    assert responder.looked("n", MARKED, 101.5, out_of_reach=False) == [
        SendAnswer(2, PeerReply.FENCE_NOW),
        SendAnswer(3, PeerReply.FENCE_NOW),
    ]


def test_any_number_of_requests_causes_only_a_few_api_checks_per_second() -> None:
    responder, observations = PeerResponder(), 0
    for number in range(10_000):
        now = number / 1000
        node = f"n{number % 500}"
        for command in responder.ask(asks(number, node), now):
            if isinstance(command, ReadPeerLease):
                observations += 1
                again = responder.looked(node, CLEAN, now, out_of_reach=False)
                observations += sum(isinstance(one, ReadPeerLease) for one in again)
    assert observations <= 5 + 10 * 5


def test_a_caller_over_the_limit_is_refused_at_once() -> None:
    responder = PeerResponder(reads_per_second=1000)
    for number in range(MOST_WAITING):
        assert responder.ask(asks(number, f"n{number}"), 0.0) == [ReadPeerLease(f"n{number}", 2.0)]

    assert responder.ask(asks(999, "m"), 0.0) == [SendAnswer(999, PeerReply.SILENT)]
    responder.looked("n0", CLEAN, 0.5, out_of_reach=False)
    assert responder.ask(asks(1000, "m"), 1.0) == [ReadPeerLease("m", 3.0)]


def test_a_peer_that_asks_too_often_gets_no_api_check_until_it_slows_down() -> None:
    responder = PeerResponder()
    assert responder.ask(asks(1), 0.0) == [ReadPeerLease("n", 2.0)]
    responder.looked("n", CLEAN, 0.01, out_of_reach=False)
    for number in range(2, 2000):
        now = 0.01 + number / 100
        for command in responder.ask(asks(number), now):
            if isinstance(command, ReadPeerLease):
                assert now < 0.1
                responder.looked("n", CLEAN, now, out_of_reach=False)

    assert responder.ask(asks(3000), 25.0) == [ReadPeerLease("n", 27.0)]


@pytest.mark.slow
def test_a_peer_at_the_normal_rate_gets_each_api_check_beside_any_number_of_excessive_ones() -> None:
    responder, heard = PeerResponder(), 0
    for tick in range(60 * 100):
        now = tick / 100
        crowd = [asks(tick, f"f{number}") for number in range(20)]
        peer = [asks(tick, "peer")] if tick % 100 == 99 else []
        for question in (*crowd, *peer):
            for command in responder.ask(question, now):
                if isinstance(command, ReadPeerLease):
                    heard += command.node == "peer"
                    responder.looked(command.node, CLEAN, now, out_of_reach=False)
    assert heard == 60


def test_the_last_api_checks_go_to_peers_that_have_not_asked_recently() -> None:
    responder = PeerResponder()
    for number in range(3):
        assert responder.ask(asks(number, f"n{number}"), 0.0) == [ReadPeerLease(f"n{number}", 2.0)]
        responder.looked(f"n{number}", CLEAN, 0.0, out_of_reach=False)

    assert responder.ask(asks(10, "n0"), 0.0) == [SendAnswer(10, PeerReply.SILENT)]
    assert responder.ask(asks(11, "m"), 0.0) == [ReadPeerLease("m", 2.0)]


def test_later_callers_get_silent_if_no_api_check_is_left() -> None:
    responder = PeerResponder(reads_per_second=3)
    responder.ask(asks(1), 0.0)
    responder.ask(asks(2), 0.1)

    assert responder.looked("n", CLEAN, 0.2, out_of_reach=False) == [
        SendAnswer(1, PeerReply.HEALTHY),
        SendAnswer(2, PeerReply.SILENT),
    ]
