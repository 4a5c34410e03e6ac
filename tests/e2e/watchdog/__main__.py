"""`python -m tests.e2e.watchdog RUNS`: this many runs of the stories; exits 1 if one fails."""

import argparse
import random
import signal
import sys
from collections.abc import Iterator

from guest.image import GuestError
from tests.e2e.watchdog.booted_guests import BootedGuests
from tests.e2e.watchdog.expected_results import HARDWARE, Play, plays
from tests.e2e.watchdog.judgement import Verdict, evaluate
from tests.e2e.watchdog.record import Record

PING_EVERY = 2.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("--only", default="", help="stories and drivers that contain this")
    parser.add_argument("--seed", type=int, default=1, help="of the moments at which faults happen")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that guests and their files are removed, too.
    chosen = [play for play in plays(options.runs) if options.only in f"{play.driver} {play.story.name}"]
    try:
        seen = list(_play_all(chosen, random.Random(options.seed)))
    except GuestError as error:
        print(error, file=sys.stderr)
        return 1
    return _report(seen)


def _play_all(chosen: list[Play], chance: random.Random) -> Iterator[tuple[Play, Record, Verdict]]:
    with BootedGuests() as guests:
        for number, play in enumerate(chosen, start=1):
            record = guests.play(play, chance.uniform(0.0, PING_EVERY))
            verdict = evaluate(record, play.story.expected, device_tells=play.driver in HARDWARE)
            mark = "" if verdict.kept else "MISS "
            print(f"{number:3} {mark}{play.driver} {play.story.name}: {verdict.reported}", flush=True)
            if not verdict.kept:
                beats = [f"BEAT {at:.3f} {facts}" for at, facts in record.beats[-3:]]
                print("      " + "\n      ".join([*record.lines[-20:], *beats]), flush=True)
            yield play, record, verdict


def _report(seen: list[tuple[Play, Record, Verdict]]) -> int:
    misses = sum(not verdict.kept for _, _, verdict in seen)
    shares = {
        driver: max(found)
        for driver in sorted({play.driver for play, _, _ in seen})
        if (found := [one.share for play, _, one in seen if play.driver == driver and one.share])
    }
    slowest = ", ".join(f"{driver} {share:.3f}" for driver, share in shares.items())
    resets = sum(record.reset is not None for _, record, _ in seen)
    memory = max((record.rss_kilobytes for _, record, _ in seen), default=0) / 1024
    print(f"longest reset after the last ping or close, in effective times: {slowest}")
    print(f"the feeder's memory in the guest, locked: {memory:.2f} MiB at most")
    print(f"watchdog: {len(seen)} runs, {resets} resets, {misses} misses (at most 0)")
    return 1 if misses or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
