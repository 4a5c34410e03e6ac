"""A few seeds of outages, for CI and mutation testing. `just outage` simulates thousands of hours."""

import pytest

from tests.campaigns.outage.play import KINDS, play, uplink_away
from tests.campaigns.outage.world import Cluster

BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.mark.attack("V1", "V2", "V7")
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("outage-1h", 0), ("outage-1h", 1), ("brown-out-70-of-3", 0), ("brown-out-70-of-5", 0)],
)
def test_an_outage_resets_no_node(kind: str, seed: int) -> None:
    run = play(BY_NAME[kind], seed)
    assert not run.resets, f"python -m tests.campaigns.outage --replay {kind}:{seed}"


def test_same_seed_same_trace() -> None:
    kind = BY_NAME["brown-out-70-of-3"]
    assert play(kind, 1, keep_trace=True) == play(kind, 1, keep_trace=True)


@pytest.mark.attack("V4")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("ride_through", "ended"), [(0.0, True), (60.0, False)])
def test_a_ride_through_setting_covers_an_uplink_loss_of_one_minute(
    seed: int, ride_through: float, ended: bool
) -> None:
    cluster = Cluster(f"uplink {seed}", 12, ride_through=ride_through, sites=3)
    reports = [cluster.store.leases[name].report for name in cluster.nodes]
    assert {one.feed_lease for one in reports} == {35.0 + ride_through}  # type: ignore[union-attr]

    uplink_away(cluster, 60.0)

    assert (cluster.resets > 0) is ended


@pytest.mark.parametrize("seed", range(3))
def test_but_no_longer_than_was_published(seed: int) -> None:
    cluster = Cluster(f"uplink {seed}", 12, ride_through=60.0, sites=3)

    uplink_away(cluster, 150.0)

    assert cluster.resets == 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "bare",
    [
        pytest.param(5, id="nobody has one"),
        pytest.param(1, id="one has none"),
        pytest.param(2, id="two have none"),
        pytest.param(3, id="most have none"),
        pytest.param(4, id="one has one"),
    ],
)
def test_a_full_outage_resets_no_node_with_an_expired_certificate(seed: int, bare: int) -> None:
    cluster = Cluster(f"certificates {seed}", 5)
    cluster.world.uncertified.update(list(cluster.nodes)[:bare])
    cluster.run(50.0)

    cluster.store.down = True
    cluster.run(300.0)

    assert not cluster.resets
