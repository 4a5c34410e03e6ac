"""One search: Promela to C, C to a program, the program to a verdict. Leaves no files behind."""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.models.runs import Run

MODELS = Path(__file__).parent / "promela"
TRAIL_SECONDS = 60


@dataclass(frozen=True)
class Held:
    """Every reachable state was visited, and safety held in each."""

    states: int


@dataclass(frozen=True)
class Violated:
    """A counterexample was found; `story` has it, one event a line."""

    states: int
    story: tuple[str, ...]


@dataclass(frozen=True)
class Unfinished:
    """Stopped by time, memory or depth, or never started: this proves nothing."""

    states: int
    why: str


Verdict = Held | Violated | Unfinished


@dataclass(frozen=True)
class Outcome:
    run: Run
    verdict: Verdict
    seconds: float


def check(run: Run) -> Outcome:
    """Search the whole state space of a run, or up to its first counterexample."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nodemend-model-") as folder:
        verdict = _search(run, Path(folder))
    return Outcome(run, verdict, time.monotonic() - began)


def defines(run: Run) -> list[str]:
    return [f"-D{define}" for define in run.defines.split()]


def _search(run: Run, folder: Path) -> Verdict:
    model = MODELS / f"{run.model}.pml"
    made = _call(["spin", "-a", *defines(run), str(model)], folder, TRAIL_SECONDS)
    if made is None or not (folder / "pan.c").exists():
        return Unfinished(0, f"spin: {made}")
    size = run.size
    options = ["-DSAFETY", "-DNOFAIR", f"-DMEMLIM={size.megabytes}", *size.options]
    if _call(["gcc", *options, "-o", "pan", "pan.c"], folder, TRAIL_SECONDS) is None:
        return Unfinished(0, "gcc did not end")
    if not (folder / "pan").exists():
        return Unfinished(0, "gcc made no program")
    said = _call(["./pan", f"-m{size.depth}", f"-w{size.hash_bits}", "-E", "-n"], folder, size.seconds)
    if said is None:
        return Unfinished(0, f"more than {size.seconds} s")
    return read(said, lambda: _story(run, model, folder))


def read(said: str, story: Callable[[], tuple[str, ...]]) -> Verdict:
    """The verdict in the search's output. An incomplete search gives no verdict."""
    counted = re.search(r"^\s*([\d.e+]+) states, stored", said, re.MULTILINE)
    states = int(float(counted[1])) if counted else 0
    if "assertion violated" in said:
        return Violated(states, story())
    cut = re.search(
        r"(max search depth too small|Search not completed|out of memory|reached -DMEMLIM.*)", said
    )
    if cut or "errors: 0" not in said or not states:
        return Unfinished(states, cut[1] if cut else said.strip()[-200:])
    return Held(states)


def _story(run: Run, model: Path, folder: Path) -> tuple[str, ...]:
    reported = _call(["spin", "-k", f"{model.name}.trail", *defines(run), str(model)], folder, TRAIL_SECONDS)
    lines = [line.strip() for line in (reported or "").splitlines()]
    end = next((at for at, line in enumerate(lines) if line.startswith("spin:")), len(lines))
    return tuple(line for line in lines[:end] if line)


def _call(command: list[str], folder: Path, seconds: float) -> str | None:
    """The output of a command, or None if it exceeded its time (and was killed)."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            timeout=seconds,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout
