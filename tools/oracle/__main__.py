"""`python -m oracle`: compares the campaigns' behavior and the project's generated files with saved digests.

A refactoring changes neither. For each seed of each campaign two digests are saved: of the flow of its
requests, and of the requests in full (simulation.request_log). Generated and rendered files (scenarios,
CRDs, manifests, chart, reference pages) are saved by their own digests. With --save the present state is
saved, and the difference is reviewed as that of any golden file.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Final

from simulation.request_log import RequestDigests
from tests.simulation.checks import run as checks
from tests.simulation.hostile import run as hostile
from tests.simulation.power import run as power
from tests.simulation.self_fencing_nodes import run as fencing
from tests.simulation.walking_path import run as walking_path

ROOT: Final = Path(__file__).resolve().parents[2]
SAVED: Final = Path(__file__).with_name("saved")
SEEDS: Final = 300
Key = tuple[str, int]
"""A campaign and a seed."""
PLAYS: Final[Mapping[str, Callable[[int], RequestDigests | None]]] = {
    "walking_path": lambda seed: walking_path.play(seed, keep_trace=True).requests,
    "checks": lambda seed: checks.play(seed, keep_trace=True).requests,
    "power": lambda seed: power.play(seed, keep_trace=True).requests,
    "fencing": lambda seed: fencing.play(seed, keep_trace=True).requests,
    "hostile": lambda seed: hostile.play(seed, keep_trace=True).requests,
}
FILES: Final = ("tests/scenarios/*/*.txt", "deploy/**/*", "docs/reference/*.md")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of each campaign")
    parser.add_argument("--campaign", choices=PLAYS, action="append", help="all, unless named")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    campaigns = options.campaign or list(PLAYS)
    keys = [(campaign, seed) for seed in range(options.seeds) for campaign in campaigns]
    before, found = _read_digests(), {}
    for key, digests in _play(keys, options.workers):
        found[key] = digests
        if not options.save and before.get(key) != digests:
            print(f"{key[0]} {key[1]}: {_difference(before.get(key), digests)}", flush=True)
    files = dict(_files())
    if options.save:
        _write_digests(before | found)
        _write_files(files)
    return _report(found, before, files, saved=options.save)


def _play(keys: list[Key], workers: int) -> Iterator[tuple[Key, RequestDigests]]:
    with ProcessPoolExecutor(workers) as pool:
        yield from zip(keys, pool.map(_digests, keys, chunksize=4), strict=True)


def _digests(key: Key) -> RequestDigests:
    campaign, seed = key
    digests = PLAYS[campaign](seed)
    if digests is None:
        raise AssertionError(f"{campaign} {seed} told no digests")
    return digests


def _difference(before: RequestDigests | None, now: RequestDigests) -> str:
    if before is None:
        return "was never saved"
    return "other requests" if before.flow != now.flow else "the same requests with other bodies"


def _report(
    found: Mapping[Key, RequestDigests],
    before: Mapping[Key, RequestDigests],
    files: Mapping[str, str],
    *,
    saved: bool,
) -> int:
    if saved:
        print(f"oracle: saved {len(found)} seeds and {len(files)} files")
        return 0
    known = {key: before[key] for key in found if key in before}
    flows = sum(found[key].flow == one.flow for key, one in known.items())
    fulls = sum(found[key] == one for key, one in known.items())
    files_before = _read_files()
    differing = sorted(
        name for name in files_before.keys() | files.keys() if files_before.get(name) != files.get(name)
    )
    for name in differing:
        print(f"{name}: differs")
    print(
        f"oracle: {fulls} of {len(found)} full digests and {flows} of {len(found)} flow digests are equal, "
        f"{len(differing)} of {len(files)} files differ"
    )
    return 0 if fulls == flows == len(found) and not differing else 1


def _read_digests() -> dict[Key, RequestDigests]:
    file = SAVED / "digests.txt"
    rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return {(campaign, int(seed)): RequestDigests(flow, full) for campaign, seed, flow, full in rows}


def _write_digests(digests: Mapping[Key, RequestDigests]) -> None:
    lines = (
        f"{campaign} {seed} {one.flow} {one.full}\n" for (campaign, seed), one in sorted(digests.items())
    )
    SAVED.mkdir(exist_ok=True)
    (SAVED / "digests.txt").write_text("".join(lines))


def _files() -> Iterator[tuple[str, str]]:
    for pattern in FILES:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                yield str(path.relative_to(ROOT)), sha256(path.read_bytes()).hexdigest()


def _read_files() -> dict[str, str]:
    file = SAVED / "files.txt"
    rows = [line.split(maxsplit=1) for line in file.read_text().splitlines()] if file.exists() else []
    return {name: digest for digest, name in rows}


def _write_files(files: Mapping[str, str]) -> None:
    lines = (f"{digest} {name}\n" for name, digest in sorted(files.items()))
    (SAVED / "files.txt").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
