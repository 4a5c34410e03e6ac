"""When an agent asks for its certificate, and what it does when it gets none."""

from dataclasses import dataclass, field

import pytest

from nodemend.agent.certificate import (
    AFTER_DENIAL,
    AFTER_FAILURE,
    GIVE_UP_AFTER,
    LOOK_EVERY,
    LOOK_FOR_BUNDLE_EVERY,
    Ask,
    Asking,
    Denied,
    Failed,
    Gone,
    Granted,
    Held,
    Keep,
    Looked,
    Made,
    Make,
    NoBundle,
    NotHeld,
    Pending,
    Post,
    Posted,
    Wait,
)

DAY = 86400.0


@dataclass
class Chance:
    value: float = 0.0
    drawn: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.drawn.append(self.value)
        return self.value


def asking(chance: float = 0.0) -> Asking:
    return Asking(Chance(chance))


def test_without_a_certificate_it_asks_at_once_and_keeps_what_it_gets() -> None:
    machine = asking()
    assert machine.step(Looked(NotHeld()), 0.0) == Make()
    assert machine.step(Made("request"), 0.0) == Post("request")
    assert machine.step(Posted(), 0.1) == Ask(0.5)
    assert machine.step(Pending(), 0.6) == Ask(1.0)
    assert machine.step(Granted("certificate"), 1.6) == Keep("certificate")
    assert machine.step(Looked(Held(DAY, DAY)), 1.6) == Wait(LOOK_EVERY)


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_it_asks_anew_when_a_quarter_of_its_life_is_over_and_not_all_nodes_at_once(chance: float) -> None:
    machine = asking(chance)
    share = 0.25 - 0.1 * chance
    assert machine.step(Looked(Held(DAY, DAY * (1 - share) + 1)), 0.0) == Wait(LOOK_EVERY)
    assert machine.step(Looked(Held(DAY, DAY * (1 - share) - 1)), 0.0) == Make()


def test_one_that_nobody_believes_any_more_is_replaced_however_young() -> None:
    machine = asking()
    assert machine.step(Looked(Held(DAY, DAY)), 0.0) == Wait(LOOK_EVERY)
    assert machine.step(Looked(NotHeld()), 30.0) == Make()


def test_a_request_whose_fate_is_unknown_is_posted_again_and_no_other_beside_it() -> None:
    machine = asking()
    machine.step(Looked(NotHeld()), 0.0)
    machine.step(Made("first"), 0.0)
    assert machine.step(Failed("no answer"), 5.0) == Wait(AFTER_FAILURE.first)
    assert machine.trouble == "no answer"
    assert machine.step(Looked(NotHeld()), 7.0) == Post("first")
    machine.step(Posted(), 7.0)
    machine.step(Granted("certificate"), 8.0)
    machine.step(Looked(Held(DAY, DAY)), 8.0)
    assert machine.trouble == ""


def test_before_anybody_could_believe_a_certificate_none_is_asked_for() -> None:
    machine = asking()
    assert machine.step(Looked(NoBundle()), 0.0) == Wait(LOOK_FOR_BUNDLE_EVERY)
    assert machine.trouble == "no authority is known yet"
    assert machine.step(Looked(NotHeld()), 5.0) == Make()


def test_one_that_is_not_to_be_believed_is_not_asked_for_again_and_again() -> None:
    machine = asking()
    waits = []
    for _ in range(3):
        machine.step(Looked(NotHeld()), 0.0)
        machine.step(Made("request"), 0.0)
        machine.step(Posted(), 0.0)
        assert machine.step(Granted("certificate"), 0.0) == Keep("certificate")
        waits.append(machine.step(Failed("what came is not to be believed"), 0.0))
    assert waits == [Wait(2.0), Wait(4.0), Wait(8.0)]


def test_failures_are_spread_and_ever_farther_apart() -> None:
    machine = asking(0.5)
    waits = [machine.step(Failed("no"), 0.0) for _ in range(12)]
    seconds = [wait.seconds for wait in waits if isinstance(wait, Wait)]
    assert seconds[0] == AFTER_FAILURE.first * 1.5
    assert seconds == sorted(seconds)
    assert seconds[-1] == AFTER_FAILURE.most * 1.5


def test_a_denial_is_told_and_tried_again_slowly_with_a_new_key() -> None:
    machine = asking()
    machine.step(Looked(NotHeld()), 0.0)
    machine.step(Made("first"), 0.0)
    machine.step(Posted(), 0.0)
    assert machine.step(Denied("NotItsOwnName: ..."), 1.0) == Wait(AFTER_DENIAL.first)
    assert machine.trouble == "NotItsOwnName: ..."
    assert machine.step(Looked(NotHeld()), 301.0) == Make()
    assert machine.step(Denied("again"), 302.0) == Wait(2 * AFTER_DENIAL.first)


def test_a_request_that_nobody_answers_is_given_up_in_the_end() -> None:
    machine = asking()
    machine.step(Looked(NotHeld()), 0.0)
    machine.step(Made("first"), 0.0)
    machine.step(Posted(), 100.0)
    for _ in range(20):
        assert isinstance(machine.step(Pending(), 100.0 + GIVE_UP_AFTER - 1), Ask)
    assert machine.step(Pending(), 100.0 + GIVE_UP_AFTER) == Wait(AFTER_FAILURE.first)
    assert machine.step(Looked(NotHeld()), 800.0) == Make()


def test_nor_is_one_waited_for_that_is_gone() -> None:
    machine = asking()
    machine.step(Looked(NotHeld()), 0.0)
    machine.step(Made("first"), 0.0)
    machine.step(Posted(), 0.0)
    assert isinstance(machine.step(Gone(), 1.0), Wait)
    assert machine.step(Looked(NotHeld()), 3.0) == Make()


def test_while_the_signer_is_away_it_goes_on_with_what_it_has() -> None:
    machine = asking()
    assert machine.step(Looked(Held(DAY, DAY * 0.4)), 0.0) == Make()
    machine.step(Made("next"), 0.0)
    assert isinstance(machine.step(Failed("no answer"), 0.0), Wait)
    assert machine.step(Looked(Held(DAY, DAY * 0.3)), 10.0) == Post("next")
