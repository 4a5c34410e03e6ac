"""Rounds in which the leader is killed at one of its writes, and restarted: they end like any other."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from controlplane.process import Process
from controlplane.rounds import Rounds
from installed.programs import flags_for
from tests.e2e.power.healing import is_healed
from tests.e2e.power.real_cluster import REMEDIATOR, Stage
from tests.e2e.power.round import Round, Story, WrongError

NEVER: Final = 0


class Plan:
    """Shared by the rounds and the program that is killed: a file for each name whose writes are counted.

    The file has the round that counts, and the number of the write after which the program dies. Beside it is
    a file with the writes, a line each.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def count(self, round_id: str, names: list[str], number: int) -> None:
        (self._folder / f"{round_id}.writes").touch()
        for name in names:
            part = self._folder / f"{name}.part"
            part.write_text(f"{round_id} {number}")
            part.rename(self._folder / f"{name}.plan")

    def writes(self, round_id: str) -> int:
        return len((self._folder / f"{round_id}.writes").read_text().splitlines())

    def most_writes(self) -> int:
        """The largest number of writes of any round so far."""
        return max(self.writes(file.stem) for file in self._folder.glob("*.writes"))

    def ends_with(self, names: set[str]) -> bool:
        """Count a write about these names; True if it is the last one of this process."""
        files = [file for name in names if name and (file := self._folder / f"{name}.plan").exists()]
        if not files:
            return False
        round_id, number = files[0].read_text().split()
        with (self._folder / f"{round_id}.writes").open("a") as writes:
            writes.write(f"{sorted(names)}\n")
        return self.writes(round_id) == int(number)


@contextmanager
def dying(stage: Stage) -> Iterator[Plan]:
    """Two replicas that may be killed, and are restarted as a kubelet would."""
    folder = stage.plane.directory / "deaths"
    plan = Plan(folder)
    replicas = [_replica(stage, folder, number) for number in (0, 1)]

    def keep() -> None:
        for process in replicas:
            if not process.running:
                process.start()

    keep_rounds = Rounds("keeper", keep)
    try:
        yield plan
    finally:
        keep_rounds.close()
        for process in replicas:
            process.end()


def _replica(stage: Stage, folder: Path, number: int) -> Process:
    flags = ["-m", "tests.e2e.power.dying_remediator", str(folder)]
    flags += flags_for(stage.plane, REMEDIATOR, "--power-cycle=on", replica=number)
    return stage.plane.run(f"dying-remediator-{number}", flags, program=Path(sys.executable))


def dies(round_: Round, plan: Plan, number: int) -> None:
    node = round_.cell.node(round_.node)
    round_.expect("it is there", seen=node is not None)
    uid = node["metadata"]["uid"] if node else ""
    plan.count(round_.boot, [round_.node, f"node-{uid}"], number)
    is_healed(round_)
    if plan.writes(round_.boot) < number:
        raise WrongError(f"there were only {plan.writes(round_.boot)} writes")


def story(plan: Plan, number: int) -> Story:
    when = f"at write {number}" if number else "never"
    return Story(f"remediator dies {when}", partial(dies, plan=plan, number=number))
