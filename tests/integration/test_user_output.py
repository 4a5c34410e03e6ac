"""Commands, conditions, events and alerts as a user reads them on a real API server, scene by scene.

The shipped checker and remediator make each scene (output_scenes.py). Each answer is a golden file beside the
answer before the fix (`*.before.txt`). `python -m tests.integration.test_user_output` rewrites the answers; a
second argument names those to write.

The earlier answers were written with `.before` as the first argument in a checkout of the commit before the
fix of the finding (BEFORE), with this file and output_scenes.py added to it and PYTHONPATH set to its `src`,
its `tools` and itself: programs, manifests and chart are those of that commit.
"""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from controlplane.ports import LOOPBACK
from generate.outputs import CHART
from installed.programs import program
from tests.integration.output_scenes import SCENES, Stage, open_stage

pytestmark = pytest.mark.real

FOLDER: Final = Path(__file__).with_name("golden") / "user_output"
BEFORE: Final = {"U4": "2873681", "U5_explain": "5dea8b3", "U12": "33f60b9"}
"""Commits; all others were written with 3c983ae."""
_CONDITIONS: Final = (
    r"""-o jsonpath='{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}'"""
)
_EVENTS: Final = r"""get events -o jsonpath='{range .items[*]}{.type} {.reason}: {.message}{"\n"}{end}'"""
CASES: Final[Mapping[str, tuple[str, str]]] = {
    "U3_status": ("contradicted", "mend status"),
    "U3_explain": ("contradicted", "mend explain rack-1"),
    "U3_check": ("contradicted", "mend check"),
    "U3_events": ("contradicted", _EVENTS),
    "U7_evidence_contradicted": ("contradicted", "metrics nodemend_evidence_contradicted_timestamp_seconds"),
    "U4_status": ("overlapping", "mend status"),
    "U4_explain": ("overlapping", "mend explain rack-1"),
    "U4_check": ("overlapping", "mend check"),
    "U4_conditions": ("overlapping", f"get nodehealthcheck liveness {_CONDITIONS}"),
    "U7_check_overlapping": ("overlapping", "metrics nodemend_check_overlapping"),
    "U5_status": ("crowded", "mend status"),
    "U5_explain": ("crowded", "mend explain rack-3"),
    "U7_held_and_released": ("crowded", "metrics nodemend_remediation_held_since_timestamp_seconds"),
    "U6_status": ("dry run", "mend status"),
    "U6_explain": ("dry run", "mend explain rack-1"),
    "U6_conditions": ("dry run", f"get nodehealthcheck workers {_CONDITIONS}"),
    "U8_status": ("without template", "mend status"),
    "U8_check": ("without template", "mend check"),
    "U8_probe": ("without template", "mend probe rack-1"),
    "U8_conditions": ("without template", f"get nodehealthcheck workers {_CONDITIONS}"),
    "U7_check_stalled": ("without template", "metrics nodemend_check_stalled"),
    "U10_status": ("rendered again", "mend status"),
    "U10_policy": (
        "rendered again",
        "get remediationpolicy cluster -o jsonpath='{.spec.mode} {.spec.pause.reason}'",
    ),
    "U1_status": ("unserved", "mend status"),
    "U1_explain": ("unserved", "mend explain rack-1"),
    "U1_check": ("unserved", "mend check"),
    "U1_conditions": ("unserved", f"get nodehealthcheck workers {_CONDITIONS}"),
    "U7_remediations_unserved": ("unserved", "metrics nodemend_remediations_unserved"),
    "U12_status": ("just recovered", "mend status"),
}
"""The scene, and the arguments of `kubectl`; or a metric that alerts use."""
_AT_EACH_RUN: Final = re.compile(
    r"(?<!limit )(?<!lasted )\b\d+(m\d\d)?s\b(?! without one)|\b\d+m\b(?! without one)|\b\d+d\d\dh\b"
    r"|\b(?!2026-01-01)\d{4}-\d\d-\d\dT[\d:.]+Z"
)
ALERTS: Final = "U7_alerts"
WIDTH: Final = 80


def ask(stage: Stage, typed: str) -> str:
    """The output. `kubectl mend` runs the plugin beside the Python that runs this."""
    folder = program("kubectl-mend").parent
    kubectl = stage.plane.programs["kubectl"]
    path = f"{folder}:{kubectl.parent}:{os.environ['PATH']}"
    environment = {
        **os.environ,
        "NO_COLOR": "1",
        "COLUMNS": str(WIDTH),
        "KUBECONFIG": str(stage.plane.kubeconfig),
    }
    ended = subprocess.run(
        [str(kubectl), *shlex.split(typed)],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = "\n".join(part.rstrip("\n") for part in (ended.stdout, ended.stderr) if part)
    if typed == _EVENTS:
        said = "\n".join(sorted(set(said.splitlines())))
    return f"$ kubectl {typed}\n{steady(said)}\nexit code {ended.returncode}\n"


def scrape(stage: Stage, name: str) -> str:
    """The series of this metric that the programs expose."""
    lines: list[str] = []
    for process in stage.programs:
        [port] = re.findall(r'"metrics":(\d+)', process.log.read_text())
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=10.0) as answer:
            lines += answer.read().decode().splitlines()
    reported = sorted(re.sub(r" \d\.\d+e\+09$", " TIME", line) for line in lines if line.startswith(name))
    return "\n".join((f"# {name}", *(reported or ["nothing"]), ""))


def steady(said: str) -> str:
    """The text without values that differ in each run: ages and times, with the same length; and versions."""
    said = re.sub(r"server \d+\.\d+\.\d+", "server 1.N.N", said)
    return _AT_EACH_RUN.sub(lambda found: re.sub(r"\d", "N", found[0]), said)


def alerts() -> str:
    """Each alert, as its recipients read it."""
    groups = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return "\n".join(
        f"{rule['alert']} ({rule['labels']['severity']}, for {rule.get('for', '0m')})\n"
        f"  {rule['annotations']['summary']}\n  {rule['annotations']['description']}\n"
        for rule in rules
    )


def answers(only: str = "") -> Iterator[tuple[str, str]]:
    if only in ALERTS:
        yield ALERTS, alerts()
    with open_stage() as stage:
        for scene, play in SCENES.items():
            asked = {case: typed for case, (where, typed) in CASES.items() if where == scene and only in case}
            if not asked:
                continue
            play(stage)
            for case, typed in asked.items():
                metric = typed.removeprefix("metrics ")
                yield case, ask(stage, typed) if metric == typed else scrape(stage, metric)
            stage.plane.wipe()


def in_words(said: str) -> str:
    """The text without line breaks: an age of another length may fold a line elsewhere."""
    return " ".join(re.sub(r"\bN+(mNN)?[sm]\b", "Ns", said).split())


@pytest.fixture(scope="module")
def answered() -> dict[str, str]:
    return dict(answers())


@pytest.mark.attack("U1", "U3", "U4", "U5", "U6", "U7", "U8", "U10", "U12")
@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_one_that_was_read(case: str, answered: dict[str, str]) -> None:
    said = answered[case]

    assert in_words(said) == in_words((FOLDER / f"{case}.txt").read_text())
    if CASES[case][1].startswith("mend "):
        text = [line for line in said.splitlines() if "kubectl " not in line]
        assert max(map(len, text)) <= WIDTH


@pytest.mark.parametrize("case", [case for case, (_, typed) in CASES.items() if typed.startswith("mend ")])
def test_the_next_step_can_be_pasted(case: str) -> None:
    lines = (FOLDER / f"{case}.txt").read_text().splitlines()
    steps = [line.removeprefix("Next: ") for line in lines if line.startswith("Next: ")]

    assert len(steps) == 1
    assert steps == ["nothing"] or steps[0].startswith("kubectl ")
    assert not steps[0].endswith((".", ";", ",", " again"))


@pytest.mark.attack("U7")
def test_the_alerts_are_those_that_were_read() -> None:
    assert alerts() == (FOLDER / f"{ALERTS}.txt").read_text()


@pytest.mark.parametrize("case", [*CASES, ALERTS])
def test_each_output_is_shown_beside_the_previous_one_and_differs(case: str) -> None:
    before = (FOLDER / f"{case}.before.txt").read_text()

    assert in_words(before) != in_words((FOLDER / f"{case}.txt").read_text())


def write_anew(suffix: str, only: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case, said in answers(only):
        (FOLDER / f"{case}{suffix}.txt").write_text(said)


if __name__ == "__main__":
    write_anew(*(*sys.argv[1:], "", "")[:2])
