"""Changes of the installation while power cycles are in progress, each at another point."""

import re
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from controlplane.waiting import wait_until
from foreign_kinds.install import DEFINITIONS
from installed.programs import mend
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.lifecycle.install import Installation
from tests.e2e.power.real_cluster import REMEDIATOR, Stage
from tests.e2e.power.round import Round, WrongError

A_WHILE: Final = 12.0
NEWER: Final = "verifying"
"""A phase that this version does not support."""


@dataclass(frozen=True, slots=True)
class Change:
    name: str
    happen: Callable[[Stage, Installation, Sequence[Round]], None]


def _upgraded(_stage: Stage, ours: Installation, rounds: Sequence[Round]) -> None:
    """Stop gracefully, apply everything again, and start."""
    ours.stop()
    ours.apply_anew()
    ours.start()
    _let_go_on(rounds)


def _downgraded(stage: Stage, ours: Installation, rounds: Sequence[Round]) -> None:
    """A newer version has written unknown values. This version leaves them alone, and reports them."""
    ours.stop()
    _know_more(stage)
    newer = stage.plane.client_with(stage.plane.service_account_token(SYSTEM_NAMESPACE, REMEDIATOR))
    phases = [round_.cell.phase(round_.node) for round_ in rounds]
    for round_ in rounds:
        newer.patch(_status(round_), {"status": {"phase": NEWER, "verified": "by hand"}})
    before = [_seen(round_) for round_ in rounds]
    ours.start()
    wait_until("it says how many", lambda: _unreadable(ours) == len(rounds), within=60.0)
    _let_go_on(rounds)
    time.sleep(A_WHILE)
    if before != (after := [_seen(round_) for round_ in rounds]):
        raise WrongError(f"what it does not know was changed: {before} became {after}")
    for round_, phase in zip(rounds, phases, strict=True):
        newer.patch(_status(round_), {"status": {"phase": phase}})


def _wound_down(stage: Stage, ours: Installation, rounds: Sequence[Round]) -> None:
    """All power cycles end safely first; hosts that do not come back on are reported.

    Then Nodemend is removed.
    """
    detaching = threading.Timer(A_WHILE, _let_volumes_go, (stage, rounds))
    detaching.start()
    answer = mend(stage.plane.kubeconfig, "wind-down", "--yes", "--wait", "5m", within=400.0)
    detaching.join()
    print(answer.stdout + answer.stderr)
    for round_ in rounds:
        round_.expect("its end was waited for", seen=f"{round_.node}: ended" in answer.stdout + answer.stderr)
    for round_ in rounds:
        round_.expect("its remediation has ended", seen=round_.cell.remediation(round_.node) is None)
        round_.expect("nothing is left", seen=round_.cell.leftovers() == [])
        reported = round_.powered or "PowerNotRestored" in round_.events()
        round_.expect("it is on, or said not to be", seen=reported)
    if answer.returncode != 0:
        raise WrongError(f"wind-down ended with {answer.returncode}")
    ours.stop()
    ours.remove()
    _let_go_on(rounds)
    ours.apply_anew()
    ours.start()
    resumed = mend(stage.plane.kubeconfig, "resume")
    if resumed.returncode != 0:
        raise WrongError(f"resume: {resumed.stdout}{resumed.stderr}")


def _torn_out(stage: Stage, ours: Installation, rounds: Sequence[Round]) -> None:
    """Kill and remove Nodemend without preparation: nothing more happens, users can find the held hosts, and
    the next installation continues.
    """
    ours.stop(gently=False)
    ours.remove()
    held = [round_.node for round_ in rounds if round_.cell.held(round_.node)]
    answer = mend(stage.plane.kubeconfig, "wind-down", "--yes", "--wait", "10s", within=90.0)
    said = answer.stdout + answer.stderr
    print(said)
    if answer.returncode == 0 or not all(node in said for node in held):
        raise WrongError(f"{held} are held off by nobody, and it was not said")
    _let_go_on(rounds)
    time.sleep(A_WHILE)
    ours.apply_anew()
    ours.start()
    mend(stage.plane.kubeconfig, "resume")


CHANGES: Final = (
    Change("upgraded", _upgraded),
    Change("downgraded", _downgraded),
    Change("wound down and installed again", _wound_down),
    Change("torn out and installed again", _torn_out),
)


def _let_volumes_go(stage: Stage, rounds: Sequence[Round]) -> None:
    """A started release completes first, for which its volumes must be detached."""
    for round_ in rounds:
        stage.plane.attacher.release(round_.node)


def _let_go_on(rounds: Sequence[Round]) -> None:
    for round_ in rounds:
        round_.undo_faults()


def _know_more(stage: Stage) -> None:
    """The kinds of a newer version are installed, as after a downgrade."""
    path = f"{DEFINITIONS}/metal3remediations.remediation.metal3.io"
    versions = stage.plane.api.get(path)["spec"]["versions"]
    status = versions[0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    status["phase"]["enum"] = sorted({*status["phase"]["enum"], NEWER})
    status["verified"] = {"type": "string"}
    stage.plane.api.patch(path, {"spec": {"versions": versions}})


def _status(round_: Round) -> str:
    return f"{round_.cell.remediations}/{round_.node}/status"


def _seen(round_: Round) -> tuple[str, bool, bool, int]:
    cell, node = round_.cell, round_.node
    return cell.phase(node), cell.held(node), cell.tainted(node), len(round_.releases())


def _unreadable(ours: Installation) -> float:
    """The number in its metrics; -1 without metrics."""
    found = re.findall(r'"metrics":(\d+)', ours.remediator.log.read_text())
    if not found:
        return -1.0
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{found[-1]}/metrics", timeout=5) as answer:
            summary = answer.read().decode()
    except OSError:  # The port of the process before.
        return -1.0
    counted = re.search(r'nodemend_unreadable_objects\{resource="metal3remediations"\} (\S+)', summary)
    return float(counted[1]) if counted else -1.0
