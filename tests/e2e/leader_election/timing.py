"""The times of the real runs: the same for both electors, as far as each has them."""

from typing import Final

from nodemend.kube.leader_election import LeaseTiming

OURS: Final = LeaseTiming(
    lease_duration=6, renew_deadline=4.0, stop_within=0.5, retry_period=1.0, request_timeout=1.4
)
