"""The storms of one leadership."""

from nodemend.controllers.checking.weather import Region, Scope, Weather

CLUSTER = Scope(Region.CLUSTER)
WORKERS = Scope(Region.CHECK, "workers")
ZONE = Scope(Region.DOMAIN, "zone-a")


def test_calm_is_calm() -> None:
    weather = Weather(stormy_before=False, now=0.0)
    weather.look(CLUSTER, raging=False, now=1.0)
    assert weather.told(300.0, 1.0) == ""
    assert weather.settling((CLUSTER, WORKERS), 300.0, 1.0) == 0


def test_it_rages_and_then_settles_and_then_is_forgotten() -> None:
    weather = Weather(stormy_before=False, now=0.0)
    weather.look(WORKERS, raging=True, now=10.0)
    assert weather.told(300.0, 10.0) == "Raging"
    weather.look(WORKERS, raging=False, now=50.0)
    assert weather.told(300.0, 60.0) == "Settling"
    assert weather.settling((CLUSTER, WORKERS), 300.0, 60.0) == 290
    assert weather.told(300.0, 350.0) == ""


def test_a_storm_in_one_place_does_not_hold_another() -> None:
    weather = Weather(stormy_before=False, now=0.0)
    weather.look(ZONE, raging=True, now=10.0)
    weather.look(ZONE, raging=False, now=20.0)
    assert weather.settling((CLUSTER, WORKERS), 300.0, 30.0) == 0
    assert weather.settling((CLUSTER, WORKERS, ZONE), 300.0, 30.0) == 290


def test_a_new_leader_lets_an_old_storm_settle_anew() -> None:
    weather = Weather(stormy_before=True, now=1000.0)
    assert weather.settling((CLUSTER, WORKERS), 300.0, 1000.0) == 300
    assert weather.told(300.0, 1299.0) == "Settling"
    assert weather.told(300.0, 1300.0) == ""
