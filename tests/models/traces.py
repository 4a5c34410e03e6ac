"""Random traces of the main model, for tests that replay them against the shipped code.

`python -m tests.models.traces [COUNT] [FILE]` makes traces of seeds 0 to COUNT-1, one JSON document per line:

    {"format": 1, "seed": 7,
     "parameters": {"G": 14, "W": 4, "K": 6, "T": 23, "NP": 3},
     "scenario": {"mishaps": 2, "mishaps_apart": 5, "marker_after": 9,
                  "out_from": 12, "out_until": 31, "out_who": [0, "manager"]},
     "ticks": [[["round asked", null], ["peer healthy", 0]], [["pinged", null]]]}

`ticks[t]` are the events between tick t and tick t+1, in order: a name of EVENTS, and the peer that it is
about, or null. The reset by the watchdog is the first event of its tick. All durations are in ticks. A trace
ends with `release`, or after STEPS steps of the model. The format's number rises when a name is removed or
changes its meaning; new names may be added.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.models.pan import MODELS

FORMAT = 1
# The simulation prints these when its steps are used up, or if nothing can happen after a release.
SUFFIXES = ("---", "depth-limit", "timeout", "#processes")
STEPS = 20_000
SECONDS_A_TRACE = 30
PARAMETERS = {"G": 14, "W": 4, "K": 6, "T": 23, "NP": 3}
FEATURES = ("TRACE", "FEEDER_DIES", "RESTARTS", "LOSSES", "SLOW_POLLS", "FAILOVER")

EVENTS = {
    "reset": "the watchdog resets the node",
    "renewal sent": "the node's agent sends a renewal under the version that it holds",
    "renewal committed": "the API server commits it",
    "renewal refused": "the API server answers with a conflict",
    "renewal acknowledged": "the agent gets the answer: a clean observation, from its sending",
    "conflict": "the agent gets the conflict: no observation, and it must read",
    "read sent": "the agent reads its own Lease, after a conflict or a start",
    "read served": "the API server reads it",
    "read clean": "the agent gets the Lease, without a marker: it has the version again",
    "read marked": "the agent gets the Lease with the marker: condemned",
    "request lost": "the agent's deadline passes; what was under way may still arrive",
    "stray renewal committed": "a renewal that was given up arrives after all",
    "agent restarted": "the agent dies and starts: the lease's file stays",
    "round asked": "the agent asks all peers",
    "round healthy": "the round ends: renewed from the asking",
    "round condemned": "the round ends: condemned",
    "round outage": "the round ends: most of the list cannot reach the API, renewed from the asking",
    "round undetermined": "the round ends: nothing changes",
    "opening checked": "the feeder has its lock and has seen a lease that lasts",
    "opened": "the feeder opens the device: a ping",
    "ping checked": "the feeder has seen a lease that lasts",
    "pinged": "the feeder pings",
    "closed": "the feeder dies, the kernel closes the device: a ping",
    "feeder died closed": "the feeder dies before it opened the device",
    "peer healthy": "a peer read no marker, after it was asked",
    "peer unhealthy": "a peer read the marker, after it was asked",
    "peer cannot reach": "a peer cannot read, and its contact is older than K",
    "peer renewal committed": "a peer's own renewal is committed",
    "peer renewal acknowledged": "and the peer knows it",
    "peer reply lost": "and the peer does not know it",
    "peer restarted": "a peer's agent dies and starts",
    "manager read": "the manager reads the node's Lease",
    "marker refused": "the manager's marker meets a conflict",
    "marker put": "the marker is committed",
    "marker acknowledged": "the manager knows it, and counts from here",
    "poll sent": "the manager asks for the peers' Leases",
    "poll served": "the API server answers",
    "poll": "the manager weighs the answer",
    "manager replaced": "another manager takes over: proven time begins anew",
    "release": "the manager releases by time",
}
Event = tuple[str, int | None]


@dataclass(frozen=True)
class Scenario:
    """Events that random choice would rarely produce: mishaps, the time of the marker, and partitions."""

    mishaps: int
    mishaps_apart: int
    marker_after: int
    out_from: int
    out_until: int
    out_who: tuple[str | int, ...]

    def defines(self) -> list[str]:
        bits = sum(
            1 << (("node", "manager").index(who) if isinstance(who, str) else 2 + who) for who in self.out_who
        )
        return [
            f"-DMISHAPS={self.mishaps}", f"-DMISHAPS_APART={self.mishaps_apart}",
            f"-DMARKER_AFTER={self.marker_after}", f"-DOUT_FROM={self.out_from}",
            f"-DOUT_UNTIL={self.out_until}", f"-DOUT_WHO={bits}",
        ]  # fmt: skip


@dataclass(frozen=True)
class Trace:
    seed: int
    scenario: Scenario
    ticks: tuple[tuple[Event, ...], ...]

    def document(self) -> str:
        return json.dumps(
            {"format": FORMAT, "seed": self.seed, "parameters": PARAMETERS, **_rest(self)},
            separators=(",", ":"),
        )


def _rest(trace: Trace) -> dict[str, object]:
    return {"scenario": asdict(trace.scenario), "ticks": trace.ticks}


def scenario_of(seed: int) -> Scenario:
    chance = random.Random(seed)
    begin = chance.randrange(40)
    parties: list[str | int] = ["node", "manager", *range(PARAMETERS["NP"])]
    return Scenario(
        mishaps=chance.randrange(12),
        mishaps_apart=chance.randrange(12),
        marker_after=chance.randrange(40),
        out_from=begin,
        out_until=begin + chance.randrange(40),
        out_who=tuple(who for who in parties if chance.random() < 0.5),
    )


def trace_of(seed: int) -> Trace:
    """The trace of one seed: deterministic for the same model and the same version of spin."""
    scenario = scenario_of(seed)
    fixed = [f"-D{name}={value}" for name, value in PARAMETERS.items()] + [f"-D{name}" for name in FEATURES]
    command = [
        "spin",
        "-T",
        f"-n{seed + 1}",
        f"-u{STEPS}",
        *fixed,
        *scenario.defines(),
        str(MODELS / "self_fencing.pml"),
    ]
    # spin writes files with fixed names to its working directory.
    with tempfile.TemporaryDirectory(prefix="nodemend-trace-") as folder:
        said = subprocess.run(
            command, check=True, text=True, stdout=subprocess.PIPE, timeout=SECONDS_A_TRACE, cwd=folder
        ).stdout
    return Trace(seed, scenario, read(said))


def read(said: str) -> tuple[tuple[Event, ...], ...]:
    """The ticks in the simulation's output. Unknown names are an error: no event may be lost."""
    ticks: list[list[Event]] = [[]]
    for line in said.splitlines():
        words = line.strip()
        if words == "tick":
            ticks.append([])
        elif words.startswith(SUFFIXES):
            break
        elif words:
            ticks[-1].append(event_of(words))
    return tuple(tuple(events) for events in ticks)


def event_of(words: str) -> Event:
    about = re.fullmatch(r"peer (\d+) (.+)", words)
    event = (f"peer {about[2]}", int(about[1])) if about else (words, None)
    if event[0] not in EVENTS:
        raise ValueError(f"the model tells of {words!r}, which no trace knows")
    return event


def main(count: int, file: Path | None) -> int:
    began, events, seen = time.monotonic(), 0, set[str]()
    out = file.open("w") if file else None
    for seed in range(count):
        trace = trace_of(seed)
        names = [name for tick in trace.ticks for name, _ in tick]
        events, seen = events + len(names), seen | set(names)
        if out:
            out.write(trace.document() + "\n")
    if out:
        out.close()
    missing = sorted(set(EVENTS) - seen)
    print(
        f"{count} traces, {events:,} events of {len(seen)} of {len(EVENTS)} kinds, "
        f"{time.monotonic() - began:.1f} s" + (f"; never: {', '.join(missing)}" if missing else "")
    )
    return 1 if missing and count >= 1_000 else 0


if __name__ == "__main__":
    asked = sys.argv[1:]
    sys.exit(main(int(asked[0]) if asked else 1_000, Path(asked[1]) if len(asked) > 1 else None))
