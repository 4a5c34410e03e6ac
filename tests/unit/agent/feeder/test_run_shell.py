"""What the feeder's program finds out about its machine before it begins."""

import os
from pathlib import Path

import pytest

from nodemend.agent.feeder.feeder_shell import FeederShell
from nodemend.agent.feeder.run_shell import run
from nodemend.agent.feeder.words import FeederRules


def rules(folder: Path, *words: str) -> FeederRules:
    """As its machine is given them; no device is touched."""
    found: list[FeederRules] = []

    class Idle(FeederShell):
        def __init__(
            self,
            rules: FeederRules,
            paths: dict[str, str],
            check: tuple[str, ...],
            recorder: tuple[str, ...] = (),
        ) -> None:
            found.append(rules)

        def run(self) -> str:
            return ""

    (folder / "boot-id").write_text("boot-1\n")
    required = ("device", "lock", "lease", "permit", "status", "boot-id")
    paths = [word for name in required for word in (f"--{name}", str(folder / name))]
    assert run([*paths, *words], Idle) == 0
    return found[0]


@pytest.mark.attack("K4")
@pytest.mark.parametrize(
    ("states", "target", "sleeps"),
    [
        ("freeze mem disk\n", None, True),
        ("freeze mem disk\n", "/usr/lib/systemd/system/sleep.target", True),
        ("freeze mem disk\n", os.devnull, False),
        ("\n", None, False),
        (None, None, False),
    ],
    ids=["unmasked", "another unit", "masked", "knows no way", "no such file"],
)
def test_whether_somebody_may_put_it_to_sleep(
    tmp_path: Path, states: str | None, target: str | None, sleeps: bool
) -> None:
    if states is not None:
        (tmp_path / "states").write_text(states)
    if target is not None:
        (tmp_path / "target").symlink_to(target)
    words = ("--power-states", str(tmp_path / "states"), "--sleep-target", str(tmp_path / "target"))
    assert rules(tmp_path, *words).may_sleep is sleeps


def test_where_nobody_asks_it_is_not_looked_at(tmp_path: Path) -> None:
    assert not rules(tmp_path).may_sleep
