"""Facts that the feeder's program determines about its machine before it starts."""

import os
from pathlib import Path

import pytest

from nodemend.agent.watchdog.main import FeederRunner, run
from nodemend.agent.watchdog.model import FeederRules
from nodemend.protocol.watchdog_drivers import SECOND


def rules(folder: Path, *words: str) -> FeederRules:
    """The rules as the state machine gets them; no device is opened."""
    found: list[FeederRules] = []

    class Idle(FeederRunner):
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
def test_a_machine_may_sleep_if_the_kernel_and_the_sleep_target_allow_it(
    tmp_path: Path, states: str | None, target: str | None, sleeps: bool
) -> None:
    if states is not None:
        (tmp_path / "states").write_text(states)
    if target is not None:
        (tmp_path / "target").symlink_to(target)
    words = ("--power-states", str(tmp_path / "states"), "--sleep-target", str(tmp_path / "target"))
    assert rules(tmp_path, *words).may_sleep is sleeps


def test_without_the_sleep_options_the_feeder_does_not_check_them(tmp_path: Path) -> None:
    assert not rules(tmp_path).may_sleep


def reported(boot: str, *facts: str) -> str:
    return "\n".join(["nodemend-feeder-status 1", f"boot {boot}", *facts, ""])


ARMED = ("state armed", "written-seconds 5", f"effective {10 * SECOND}")


@pytest.mark.attack("V6")
@pytest.mark.parametrize(
    ("status", "longest"),
    [
        (reported("boot-1", *ARMED), 5),
        (reported("boot-1", "state ended", *ARMED[1:]), 5),
        (reported("boot-0", *ARMED), None),
        (reported("boot-1", "state waiting"), None),
        (reported("boot-1", "state armed", "written-seconds five", "effective x"), None),
        (None, None),
    ],
    ids=["armed", "ended", "another boot", "never opened", "odd", "no status"],
)
def test_a_restarted_feeder_does_not_raise_the_device_timeout_in_this_boot(
    tmp_path: Path, status: str | None, longest: int | None
) -> None:
    """Its former timeout is published, and a manager may rely on it: the machine may be cut off by now."""
    if status is not None:
        (tmp_path / "status").write_text(status)
    found = rules(tmp_path, "--wanted-reset", "60", "--ping-every", "20")
    assert found.longest_timeout == longest
    assert found.ping_every == (5 if longest else 20) * SECOND
    assert found.read_interval * 4 == found.ping_every
