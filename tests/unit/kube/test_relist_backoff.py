"""The delay until a reflector lists again."""

from nodemend.kube.flowcontrol import Backoff
from nodemend.kube.reflector import RelistBackoff


def _pace(chance: float = 0.0) -> RelistBackoff:
    return RelistBackoff(Backoff(first=1.0, most=16.0), longest_quiet=60.0, chance=lambda: chance)


def test_failures_in_a_row_wait_longer_each_time() -> None:
    pace = _pace()

    assert [pace.fail(relists=False) for _ in range(6)] == [1, 2, 4, 8, 16, 16]


def test_having_to_relist_counts_twice() -> None:
    pace = _pace()

    assert [pace.fail(relists=True) for _ in range(4)] == [1, 4, 16, 16]


def test_recovery_resets_the_backoff() -> None:
    pace = _pace()
    pace.fail(relists=False)
    pace.fail(relists=False)

    pace.recover()

    assert pace.fail(relists=False) == 1


def test_the_server_s_retry_after_is_kept_with_jitter_and_a_limit() -> None:
    assert _pace().fail(relists=False, quiet=20.0) == 20.0
    assert _pace(0.5).fail(relists=False, quiet=20.0) == 21.0
    assert _pace().fail(relists=False, quiet=86400.0) == 60.0
    assert _pace().fail(relists=False, quiet=0.1) == 1.0
