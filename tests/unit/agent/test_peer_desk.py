"""What a node tells its peers, and how often it looks for them."""

import pytest

from nodemend.agent.peer_desk import MOST_WAITING, LookAt, PeerDesk, Question, Say, judge
from nodemend.api.agent_lease import Marker
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import AgentLease, Failed, Found, LeaseNews, Missing, Outdated

CLEAN = Found(AgentLease(uid="l", version="1"))
MARKED = Found(
    AgentLease(uid="l", version="1", marker=Marker(node_uid="u", boot_id="b", remediation_uid="r"))
)
DOWN = Failed("no answer in time")


def asks(number: int, node: str = "n", *, uid: str = "u", boot: str = "b") -> Question:
    return Question(number, node, uid, boot)


@pytest.mark.parametrize(
    ("news", "out_of_reach", "answer"),
    [
        (CLEAN, True, Answer.HEALTHY),
        (MARKED, True, Answer.CONDEMNED),
        (Missing(), True, Answer.SILENT),
        (Outdated(), True, Answer.SILENT),
        (DOWN, True, Answer.API_OUT_OF_REACH),
        (DOWN, False, Answer.SILENT),
    ],
)
def test_it_says_what_it_saw_and_denies_only_when_it_may(
    news: LeaseNews, out_of_reach: bool, answer: Answer
) -> None:
    assert judge(asks(1), news, out_of_reach=out_of_reach) is answer


@pytest.mark.parametrize(("uid", "boot"), [("another", "b"), ("u", "another")])
def test_a_marker_for_another_boot_neither_condemns_this_one_nor_lets_it_go_on(uid: str, boot: str) -> None:
    assert judge(asks(1, uid=uid, boot=boot), MARKED, out_of_reach=False) is Answer.SILENT


def test_a_question_joins_no_look_that_has_begun_before_it() -> None:
    desk = PeerDesk(now=100.0)
    assert desk.ask(asks(1), 100.0) == [LookAt("n", 102.0)]
    assert desk.ask(asks(2), 100.1) == []
    assert desk.ask(asks(3), 100.9) == []

    assert desk.looked("n", CLEAN, 101.0, out_of_reach=False) == [Say(1, Answer.HEALTHY), LookAt("n", 103.0)]
    assert desk.looked("n", MARKED, 101.5, out_of_reach=False) == [
        Say(2, Answer.CONDEMNED),
        Say(3, Answer.CONDEMNED),
    ]


def test_however_many_ask_only_a_few_looks_a_second_are_caused() -> None:
    desk, looks = PeerDesk(now=0.0), 0
    for number in range(10_000):
        now = number / 1000
        node = f"n{number % 500}"
        for command in desk.ask(asks(number, node), now):
            if isinstance(command, LookAt):
                looks += 1
                again = desk.looked(node, CLEAN, now, out_of_reach=False)
                looks += sum(isinstance(one, LookAt) for one in again)
    assert looks <= 5 + 10 * 5


def test_whoever_cannot_be_served_is_told_at_once() -> None:
    desk = PeerDesk(now=0.0, looks_a_second=1000.0)
    for number in range(MOST_WAITING):
        assert desk.ask(asks(number, f"n{number}"), 0.0) == [LookAt(f"n{number}", 2.0)]

    assert desk.ask(asks(999, "m"), 0.0) == [Say(999, Answer.SILENT)]
    desk.looked("n0", CLEAN, 0.5, out_of_reach=False)
    assert desk.ask(asks(1000, "m"), 1.0) == [LookAt("m", 3.0)]


def test_who_asks_more_than_any_agent_does_gets_no_look_until_it_has_calmed_down() -> None:
    desk = PeerDesk(now=0.0)
    assert desk.ask(asks(1), 0.0) == [LookAt("n", 2.0)]
    desk.looked("n", CLEAN, 0.01, out_of_reach=False)
    for number in range(2, 2000):
        now = 0.01 + number / 100
        for command in desk.ask(asks(number), now):
            if isinstance(command, LookAt):
                assert now < 0.1
                desk.looked("n", CLEAN, now, out_of_reach=False)

    assert desk.ask(asks(3000), 25.0) == [LookAt("n", 27.0)]


def test_however_many_ask_too_much_one_that_asks_as_it_should_is_looked_for_each_time() -> None:
    desk, heard = PeerDesk(now=0.0), 0
    for tick in range(60 * 100):
        now = tick / 100
        crowd = [asks(tick, f"f{number}") for number in range(20)]
        peer = [asks(tick, "peer")] if tick % 100 == 99 else []
        for question in (*crowd, *peer):
            for command in desk.ask(question, now):
                if isinstance(command, LookAt):
                    heard += command.node == "peer"
                    desk.looked(command.node, CLEAN, now, out_of_reach=False)
    assert heard == 60


def test_the_last_looks_are_for_those_who_have_not_asked_lately() -> None:
    desk = PeerDesk(now=0.0)
    for number in range(3):
        assert desk.ask(asks(number, f"n{number}"), 0.0) == [LookAt(f"n{number}", 2.0)]
        desk.looked(f"n{number}", CLEAN, 0.0, out_of_reach=False)

    assert desk.ask(asks(10, "n0"), 0.0) == [Say(10, Answer.SILENT)]
    assert desk.ask(asks(11, "m"), 0.0) == [LookAt("m", 2.0)]


def test_those_who_came_later_are_told_silent_when_no_look_is_left() -> None:
    desk = PeerDesk(now=0.0, looks_a_second=1.0)
    desk.ask(asks(1), 0.0)
    desk.ask(asks(2), 0.1)

    assert desk.looked("n", CLEAN, 0.2, out_of_reach=False) == [Say(1, Answer.HEALTHY), Say(2, Answer.SILENT)]
