"""Every state that the power table has to say something about."""

from collections.abc import Iterator
from itertools import product

from nodemend.remediation.metal3.power_table import PowerState
from nodemend.safety.host_power import Power


def all_states() -> Iterator[PowerState]:
    both = (False, True)
    for node, need, power, hold, cycled, dated in product(both, both, Power, both, both, both):
        yield PowerState(node, need, power, hold, cycled, dated)
