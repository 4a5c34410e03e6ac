"""`python -m tests.campaigns.self_fencing_time`: marker to release, with defaults and a watchdog of 10 s.

The shipped controller and agents among simulated machines: times are exact, and the same on every machine.
"""

import argparse
import sys
import warnings
from dataclasses import dataclass, field

from nodemend.api import well_known
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld

MOST_BY_TIME = 75.0
AT_ONCE = 3.0
"""Seconds: one pass of the controller, which runs every two, and its writes."""


@dataclass(slots=True)
class Watch:
    """The times of writes, in true time."""

    world: FencingWorld
    marked: float = 0.0
    released: float = 0.0
    reported: float = 0.0
    writes: list[str] = field(default_factory=list)

    def remediator(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        now, body = self.world.world.scheduler.now, request.body
        if well_known.MARKER.encode() in body and b"bootID" in body:
            self.marked = self.marked or now
        if request.path.endswith(f"/nodes/{SICK}") and well_known.OUT_OF_SERVICE.encode() in body:
            self.released = self.released or now
        if request.path.endswith("/status") and b'"released":true' in body:
            self.released = self.released or now

    def agents(self, _user: str, request: Request, _answer: ApiResponse) -> None:
        if request.path.endswith(f"/{SICK}") and b"-boot-2" in request.body:
            self.reported = self.reported or self.world.world.scheduler.now


def by_time(seed: int) -> float:
    """Seconds from the marker to the release of a node that nothing is received from."""
    watch = _play(f"time {seed}", cut_off=True)
    return watch.released - watch.marked


def by_new_boot(seed: int) -> float:
    """Seconds from the report of the new boot to the release of the one before."""
    watch = _play(f"boot {seed}", cut_off=False)
    return watch.released - watch.reported


def _play(seed: str, *, cut_off: bool) -> Watch:
    world = FencingWorld(seed)
    watch = Watch(world)
    world.world.remediator.witnesses.append(watch.remediator)
    world.agents.witnesses.append(watch.agents)
    if cut_off:
        world.cut_off()
        world.run(50.0)
    world.ask()
    world.run_until(lambda: watch.released > 0.0, 300.0)
    world.close()
    return watch


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    times, boots = [by_time(seed) for seed in seeds], [by_new_boot(seed) for seed in seeds]
    print(
        f"fencing-time: {len(seeds)} seeds each; by time {min(times):.1f} to {max(times):.1f} s after the "
        f"marker (at most {MOST_BY_TIME:.0f}), by a new boot {max(boots):.1f} s "
        f"after its report (at most {AT_ONCE:.0f})"
    )
    return 0 if max(times) <= MOST_BY_TIME and max(boots) <= AT_ONCE else 1


if __name__ == "__main__":
    sys.exit(main())
