"""Output of commands about a cluster of which they can read only a part, on a real API server.

Each answer is a golden file beside the answer before the fix (`*.before.txt`). `python -m
tests.integration.test_cli_truth` rewrites the answers.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from installed.manifests import bind, install

pytestmark = pytest.mark.real

FOLDER: Final = Path(__file__).with_name("golden") / "cli_truth"
PROGRAM: Final = Path(sys.executable).with_name("kubectl-mend")
SPACE: Final = "default"
NODES: Final = "/api/v1/nodes"
CASES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "U2_status_not_installed": ("bare", ("status",)),
    "U2_status_without_rights": ("nobody", ("status",)),
    "U2_check_without_rights": ("nobody", ("check",)),
    "U2_explain_without_rights": ("nobody", ("explain", "edge-1")),
    "U9_override_without_rights": ("viewer", ("override", "edge-1", "--reason", "dead", "--yes")),
    "U9_second_pause": ("admin", ("pause", "--for", "1h", "--reason", "power test", "--dry-run")),
    "U9_status_of_a_pause": ("viewer", ("status",)),
    "U11_no_answer": ("away", ("status",)),
    "U11_failure_as_data": ("away", ("status", "-o", "json")),
    "U11_check_in_80_columns": ("viewer", ("check",)),
}
"""The user and the command.

`bare`: an admin of a cluster without Nodemend; `away`: the server does not exist.
"""


@contextmanager
def stage() -> Iterator[dict[str, Path]]:
    """The kubeconfig of each user."""
    with ControlPlane(API_SERVER_ALONE) as plane:
        for name in ("edge-1", "edge-2"):
            plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        people = {"bare": plane.kubeconfig}
        bare = run(people["bare"], *CASES["U2_status_not_installed"][1])
        install(plane)
        pause = {"reason": "switch swap", "by": "admin", "until": "2999-01-31T12:00:00Z"}
        policy = {"apiVersion": "nodemend.io/v1alpha1", "kind": "RemediationPolicy"}
        plane.api.create({**policy, "metadata": {"name": "cluster"}, "spec": {"pause": pause}})
        for person in ("nobody", "viewer"):
            account = {"apiVersion": "v1", "kind": "ServiceAccount"}
            plane.api.create({**account, "metadata": {"name": person, "namespace": SPACE}})
            people[person] = plane.service_account_kubeconfig(SPACE, person)
        bind(plane, "nodemend-viewer", SPACE, "viewer")
        people["admin"] = plane.kubeconfig
        people["away"] = people["viewer"].with_name("away")
        people["away"].write_text(re.sub(r"(https://[^:]+):\d+", r"\1:1", people["viewer"].read_text()))
        ANSWERED["U2_status_not_installed"] = bare
        yield people


ANSWERED: Final[dict[str, str]] = {}


def run(kubeconfig: Path, *arguments: str) -> str:
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    command = [str(PROGRAM), *arguments, "--kubeconfig", str(kubeconfig)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    said = "\n".join(part.rstrip("\n") for part in (ended.stdout, ended.stderr) if part)
    said = re.sub(r"server \d+\.\d+\.\d+", "server 1.N.N", said)
    said = re.sub(r"until \d{4}-(?!01-31)[0-9T:Z-]+", "until LATER", said)
    return f"$ kubectl mend {' '.join(arguments)}\n{said}\nexit code {ended.returncode}\n"


def answers(people: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    for case, (person, arguments) in CASES.items():
        yield case, ANSWERED.get(case) or run(people[person], *arguments)


@pytest.fixture(scope="module")
def answered() -> Iterator[dict[str, str]]:
    with stage() as people:
        yield dict(answers(people))


@pytest.mark.attack("U2", "U9", "U11")
@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_one_that_was_read(case: str, answered: dict[str, str]) -> None:
    said = answered[case]

    assert said == (FOLDER / f"{case}.txt").read_text()
    text = [line for line in said.splitlines()[1:] if "kubectl " not in line and '": "' not in line]
    assert max(map(len, text)) <= 80
    assert "SSLContext" not in said


def write_anew(suffix: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with stage() as people:
        for case, said in answers(people):
            (FOLDER / f"{case}{suffix}.txt").write_text(said)


if __name__ == "__main__":
    write_anew(sys.argv[1] if len(sys.argv) > 1 else "")
