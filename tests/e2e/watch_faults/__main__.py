"""`python -m tests.e2e.watch_faults --rounds 1000`: watches on a real API server behind faulty proxies.

After every round the cache must equal a fresh list, and every deleted object must have been reported. Before
that, reflectors with production timings get watches that always fail, and their requests are counted. The
last line is the result; exits 1 on a single miss.
"""

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from nodemend.kube.asyncio_runtime import run
from tests.e2e.watch_faults.faults import Fault
from tests.e2e.watch_faults.request_budget import MOST_REQUESTS, WAYS, most_requests
from tests.e2e.watch_faults.watcher import Watcher, watching

WATCHERS = 8
PRIVATE_FAULTS = tuple(fault for fault in Fault if fault not in {Fault.NONE, Fault.MUTE})
RESTART, COMPACTION = "API server restart", "etcd compaction"
# One batch of this many breaks the server itself, for all watchers at once.
SERVER_EVERY_BATCHES = 4


@dataclass
class Counts:
    rounds: Counter[str] = field(default_factory=Counter)
    misses: list[str] = field(default_factory=list)

    def note(self, what: str, wrong: Sequence[str]) -> None:
        self.rounds[what] += 1
        self.misses += [f"{what}: {why}" for why in wrong]


async def try_rounds(plane: ControlPlane, rounds: int, seed: int) -> tuple[Counts, int]:
    """Run the rounds, several at a time. Returns the outcomes, and the number of deleted objects."""
    totals = Counts()
    chance = random.Random(seed)
    async with AsyncExitStack() as owned:
        watchers = [
            await owned.enter_async_context(watching(plane, number, seed)) for number in range(WATCHERS)
        ]
        for watcher in watchers:
            totals.misses += await watcher.settle({})
        batch = 0
        while (left := rounds - totals.rounds.total()) > 0:
            batch += 1
            if batch % SERVER_EVERY_BATCHES == 0:
                what = COMPACTION if batch // SERVER_EVERY_BATCHES % 2 else RESTART
                await _break_server(plane, what, watchers[:left], totals)
            else:
                await _break_paths(batch, watchers[:left], chance, totals)
        return totals, sum(watcher.objects.deleted for watcher in watchers)


async def _break_paths(batch: int, watchers: list[Watcher], chance: random.Random, totals: Counts) -> None:
    async def suffer(number: int, watcher: Watcher) -> None:
        # The odd step gives each watcher each fault: eight watchers and an even step would never cover all of
        # twelve.
        fault = PRIVATE_FAULTS[(batch + number * 5) % len(PRIVATE_FAULTS)]
        totals.note(fault, await watcher.suffer(fault, chance))

    await asyncio.gather(*(suffer(number, watcher) for number, watcher in enumerate(watchers)))


async def _break_server(plane: ControlPlane, what: str, watchers: list[Watcher], totals: Counts) -> None:
    """Objects change before the server fails, unseen by watchers that are cut off already, and after."""
    known = [dict(watcher.ledger.present) for watcher in watchers]
    for watcher in watchers:
        watcher.proxy.inject(Fault.STALL)
    await asyncio.gather(*(asyncio.to_thread(watcher.objects.change, 8) for watcher in watchers))
    if what == COMPACTION:
        await asyncio.to_thread(plane.compact)
    await asyncio.to_thread(plane.restart_api_server)
    await asyncio.gather(*(asyncio.to_thread(watcher.objects.change, 3) for watcher in watchers))
    for watcher in watchers:
        watcher.proxy.inject(Fault.NONE)
    settled = await asyncio.gather(
        *(watcher.settle(before) for watcher, before in zip(watchers, known, strict=True))
    )
    for wrong in settled:
        totals.note(what, wrong)


async def count_requests(plane: ControlPlane, seconds: float) -> dict[str, int]:
    """For each fault, and each way to list, the most requests in any 30 s."""
    cases = [(fault, streaming) for fault in WAYS for streaming in (True, False)]
    counts = await asyncio.gather(
        *(most_requests(plane, fault, seconds, streaming=streaming) for fault, streaming in cases)
    )
    return {
        f"{fault}, listed {'as a stream' if streaming else 'by pages'}": count
        for (fault, streaming), count in zip(cases, counts, strict=True)
    }


async def campaign(rounds: int, seconds: float, seed: int) -> int:
    with ControlPlane(API_SERVER_ALONE) as plane:
        counts = await count_requests(plane, seconds)
        for way, count in counts.items():
            print(f"always fails ({way}): at most {count} requests in 30 s")
        totals, deleted = await try_rounds(plane, rounds, seed)
    for what, number in totals.rounds.most_common():
        print(f"{number:5d} rounds: {what}")
    for miss in totals.misses[:50]:
        print(f"MISS {miss}")
    most = max(counts.values())
    print(
        f"watch-faults: {totals.rounds.total()} rounds of {len(totals.rounds)} faults, {deleted} deletes, "
        f"{len(totals.misses)} misses; at most {most} requests in 30 s against a watch that always fails"
    )
    return 1 if totals.misses or most > MOST_REQUESTS or totals.rounds.total() < rounds else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=32.0, help="how long watches always fail")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return run(campaign(arguments.rounds, arguments.seconds, arguments.seed))


if __name__ == "__main__":
    sys.exit(main())
