"""Every state that the power table has to say something about."""

from collections.abc import Iterator
from itertools import product

from nodemend.decide.host_power import Power
from nodemend.decide.power_cycle import PowerState


def all_states() -> Iterator[PowerState]:
    both = (False, True)
    for node, need, power, hold, cycled, dated in product(both, both, Power, both, both, both):
        yield PowerState(node, need, power, hold, cycled, dated)
