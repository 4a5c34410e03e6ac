"""`python -m breakages`: five deliberate breakages, each of which must make `.ci/run` fail, and where."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = Path("src/nodemend")
WITHIN: Final = 5400.0


@dataclass(frozen=True, slots=True)
class Breakage:
    """One thing done to a copy. CI must fail in the named section, not before and not by chance."""

    name: str
    file: Path
    old: str
    new: str
    complains: str


BREAKAGES: Final = (
    Breakage(
        "a type error",
        SOURCE / "safety/guard.py",
        'return Hold(CannotRead("the RemediationPolicy", why))',
        'return Hold(CannotRead("the RemediationPolicy", len(why)))',
        "error: Argument 2",
    ),
    Breakage(
        "a layer violation",
        SOURCE / "safety/release.py",
        "from nodemend.safety.facts import NodeFacts",
        "from nodemend.kube.ports import Runtime  # noqa: F401\nfrom nodemend.safety.facts import NodeFacts",
        "Layers: each may import only what stands below it BROKEN",
    ),
    Breakage(
        "a stale CRD",
        Path("deploy/crds/manualremediations.yaml"),
        "shortNames:",
        "shortNames:\n    - stale",
        "stale",
    ),
    Breakage(
        "a failing scenario",
        Path("tests/scenarios/manual_remediation/a_silent_node.txt"),
        "RELEASE node-1",
        "RELEASE node-2",
        "test_the_story_is_the_same",
    ),
    Breakage(
        "a simulated server that is dishonest",
        Path("simulation/api_server/updating.py"),
        "        _require_version(call, old, new)\n",
        "",
        "FAILED tests/unit/simulation/api_server",
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only breakages whose name contains this")
    options = parser.parse_args()
    chosen = [breakage for breakage in BREAKAGES if options.only in breakage.name]
    if not chosen:
        parser.error(f"no breakage has {options.only!r} in its name")
    noticed = [_notices(breakage) for breakage in chosen]
    print(f"{sum(noticed)} of {len(chosen)} deliberate breakages fail .ci/run, each for its reason")
    return 0 if all(noticed) else 1


def _notices(breakage: Breakage) -> bool:
    return _in_copy(breakage, lambda copy: _ci_fails(copy, breakage))


def _in_copy(breakage: Breakage, act: Callable[[Path], bool]) -> bool:
    with tempfile.TemporaryDirectory(prefix="nodemend-breakage-") as folder:
        copy = Path(folder) / "checkout"
        tracked = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
        for name in filter(None, tracked):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        target = copy / breakage.file
        text = target.read_text()
        if text.count(breakage.old) < 1:
            raise SystemExit(f"{breakage.name}: {breakage.file} has no {breakage.old!r} to break")
        target.write_text(text.replace(breakage.old, breakage.new, 1))
        return act(copy)


def _ci_fails(copy: Path, breakage: Breakage) -> bool:
    began = time.monotonic()
    environment = {
        key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")
    }
    done = subprocess.run(
        ["bash", ".ci/run"],
        cwd=copy,
        env={**environment, "CI": "true"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    said = breakage.complains in done.stdout
    verdict = "fails" if done.returncode and said else "NOT NOTICED"
    print(f"{breakage.name}: {verdict} after {time.monotonic() - began:.0f} s", flush=True)
    if verdict != "fails":
        print(done.stdout[-3000:])
    return verdict == "fails"


if __name__ == "__main__":
    sys.exit(main())
