"""The storms of one leader term."""

from nodemend.guard.state import StormScope, StormScopeKind, StormTracker

CLUSTER = StormScope(StormScopeKind.CLUSTER)
WORKERS = StormScope(StormScopeKind.CHECK, "workers")
ZONE = StormScope(StormScopeKind.DOMAIN, "zone-a")


def test_no_storm_stays_no_storm() -> None:
    storm_tracker = StormTracker(stormy_before=False, now=0.0)
    storm_tracker.update(CLUSTER, active=False, now=1.0)
    assert storm_tracker.storm_state(300.0, 1.0) == ""
    assert storm_tracker.cooldown((CLUSTER, WORKERS), 300.0, 1.0) == 0


def test_a_storm_is_active_then_settles_then_is_forgotten() -> None:
    storm_tracker = StormTracker(stormy_before=False, now=0.0)
    storm_tracker.update(WORKERS, active=True, now=10.0)
    assert storm_tracker.storm_state(300.0, 10.0) == "StormActive"
    storm_tracker.update(WORKERS, active=False, now=50.0)
    assert storm_tracker.storm_state(300.0, 60.0) == "CoolingDown"
    assert storm_tracker.cooldown((CLUSTER, WORKERS), 300.0, 60.0) == 290
    assert storm_tracker.storm_state(300.0, 350.0) == ""


def test_a_storm_in_one_scope_does_not_hold_another() -> None:
    storm_tracker = StormTracker(stormy_before=False, now=0.0)
    storm_tracker.update(ZONE, active=True, now=10.0)
    storm_tracker.update(ZONE, active=False, now=20.0)
    assert storm_tracker.cooldown((CLUSTER, WORKERS), 300.0, 30.0) == 0
    assert storm_tracker.cooldown((CLUSTER, WORKERS, ZONE), 300.0, 30.0) == 290


def test_a_new_leader_restarts_the_settle_time_of_an_old_storm() -> None:
    storm_tracker = StormTracker(stormy_before=True, now=1000.0)
    assert storm_tracker.cooldown((CLUSTER, WORKERS), 300.0, 1000.0) == 300
    assert storm_tracker.storm_state(300.0, 1299.0) == "CoolingDown"
    assert storm_tracker.storm_state(300.0, 1300.0) == ""
