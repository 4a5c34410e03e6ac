"""A hold is as old as its reason, even if the numbers in its sentence change."""

from nodemend.telemetry.metrics import FORGOTTEN_AFTER, HeldRemediation, HoldRegistry

EDGE = HeldRemediation("ManualRemediation", "default", "edge-07")


def test_the_same_reason_keeps_its_beginning_and_its_first_words() -> None:
    registry = HoldRegistry()
    registry.note(EDGE, "KubeletActive", "silent for 5 s", wall=1000.0, now=0.0)
    state = registry.note(EDGE, "KubeletActive", "silent for 15 s", wall=1010.0, now=10.0)

    assert (state.since, state.sentence) == (1000.0, "silent for 5 s")


def test_another_reason_restarts_the_duration() -> None:
    registry = HoldRegistry()
    registry.note(EDGE, "KubeletActive", "silent", wall=1000.0, now=0.0)
    state = registry.note(EDGE, "WaitingForConfirmation", "waiting", wall=1010.0, now=10.0)

    assert (state.since, state.sentence) == (1010.0, "waiting")


def test_a_hold_that_is_not_observed_for_long_is_over() -> None:
    registry = HoldRegistry()
    registry.note(EDGE, "WaitingForConfirmation", "waiting", wall=1000.0, now=0.0)

    assert [held for held, _ in registry.all(FORGOTTEN_AFTER)] == [EDGE]
    assert not list(registry.all(FORGOTTEN_AFTER + 1))
    later = registry.note(EDGE, "WaitingForConfirmation", "waiting", wall=2000.0, now=FORGOTTEN_AFTER + 2)
    assert later.since == 2000.0


def test_a_hold_that_is_struck_is_gone() -> None:
    registry = HoldRegistry()
    registry.note(EDGE, "WaitingForConfirmation", "waiting", wall=1000.0, now=0.0)
    registry.remove(EDGE)

    assert registry.find(EDGE) is None
    assert not list(registry.all(0.0))


def test_the_tracker_has_a_maximum_size() -> None:
    registry = HoldRegistry()
    for number in range(10_050):
        registry.note(HeldRemediation("K", "n", str(number)), "WaitingForConfirmation", "", wall=0.0, now=0.0)

    assert len(list(registry.all(0.0))) == 10_000
    assert registry.find(HeldRemediation("K", "n", "0")) is None
