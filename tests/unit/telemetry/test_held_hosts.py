"""The hosts that the last sweep found, and since when."""

from nodemend.telemetry.metrics import HeldFor, HeldHostRegistry, HostName

FIRST, SECOND = HostName("metal", "h1"), HostName("metal", "h2")


def test_a_host_that_stays_held_for_the_same_keeps_its_beginning() -> None:
    registry = HeldHostRegistry()
    registry.update([HeldFor(FIRST, "m-1")], [], wall=100.0)
    registry.update([HeldFor(FIRST, "m-1"), HeldFor(SECOND, "m-2")], [], wall=160.0)

    assert dict(registry.held()) == {HeldFor(FIRST, "m-1"): 100.0, HeldFor(SECOND, "m-2"): 160.0}


def test_what_is_left_behind_begins_when_its_remediation_is_gone() -> None:
    registry = HeldHostRegistry()
    registry.update([HeldFor(FIRST, "m-1")], [], wall=100.0)
    registry.update([HeldFor(FIRST, "")], [], wall=160.0)

    assert dict(registry.held()) == {HeldFor(FIRST, ""): 160.0}


def test_a_host_that_is_no_longer_observed_is_no_longer_reported() -> None:
    registry = HeldHostRegistry()
    registry.update([HeldFor(FIRST, "m-1")], [FIRST, SECOND], wall=100.0)
    registry.update([], [SECOND], wall=160.0)
    assert (list(registry.held()), list(registry.unhealthy())) == ([], [SECOND])

    registry.clear()
    assert not list(registry.unhealthy())
