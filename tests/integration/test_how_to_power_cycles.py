"""The how-tos and runbooks of power cycles: every manifest in them is applied, and every command is run."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from controlplane.api import collection
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.waiting import wait_until
from foreign_kinds.install import install as install_kinds
from foreign_kinds.install import install_definitions
from generate.outputs import ROOT, render_chart
from installed.manifests import install
from nodemend.api.resources import BARE_METAL_HOST, Resource
from nodemend.api.well_known import SYSTEM_NAMESPACE
from simulation.cluster.foreign_kinds import a_definition

pytestmark = pytest.mark.real

HOW_TO: Final = ROOT / "docs" / "how-to"
SCENE: Final = Path(__file__).with_name("how_to_world.yaml")
PAGES: Final = (
    "power_cycle_nodes",
    "host_that_will_not_come_back",
    "stop_a_power_cycle",
    "read_the_evidence",
    "power_cycles_for_cluster_api",
    "power_cycles_for_medik8s",
)
SETTINGS: Final = (
    "powerCycle.enabled=true",
    "powerCycle.askedBy.clusterApi=true",
    "powerCycle.askedBy.medik8s=true",
    "machineHealthChecks.enabled=true",
)
THEIR_ROLE: Final = "/apis/rbac.authorization.k8s.io/v1/clusterroles/capi-aggregated-manager-role"
MEDIK8S: Final = Resource("remediation.medik8s.io", "v1alpha1", "NodeHealthCheck", "nodehealthchecks")
RUNBOOKS: Final = (
    "NodemendPowerOffUnconfirmed",
    "NodemendPowerCycleFailed",
    "NodemendHostHeldLong",
    "NodemendPowerOffRequestLeftBehind",
    "NodemendHostUnhealthy",
)
PLACEHOLDERS: Final = {
    "NODE": "edge-07",
    "NAME": "edge-07",
    "REMEDIATION": "edge-07",
    "HOST": "rack-7-u12",
    "NAMESPACE": "metal",
}


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page, in its language."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> Iterator[Block]:
    text = (HOW_TO / f"{page}.md").read_text()
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])


ALL: Final = [block for page in PAGES for block in blocks(page)]
MANIFESTS: Final = [block for block in ALL if block.language == "yaml"]
COMMANDS: Final = [
    (block, command) for block in ALL if block.language == "sh" for command in block.text.splitlines()
]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Nodemend, and the kinds of other projects that the pages mention."""
    with ControlPlane(Settings(scheduler=False)) as plane:
        install_kinds(plane, "cluster-api")
        theirs = a_definition(MEDIK8S)
        theirs["spec"]["scope"] = "Cluster"
        install_definitions(plane, [_whole(a_definition(BARE_METAL_HOST)), _whole(theirs)])
        install(plane, *SETTINGS)
        set_scene(plane)
        # kube-controller-manager adds Nodemend's role to it.
        wait_until("Cluster API's role is filled", lambda: bool(plane.api.get(THEIR_ROLE).get("rules")))
        yield plane


def set_scene(plane: ControlPlane) -> None:
    """Create the objects again that an earlier page has deleted."""
    remediator = plane.client_with(plane.service_account_token(SYSTEM_NAMESPACE, "nodemend-remediator"))
    for document in yaml.safe_load_all(SCENE.read_text()):
        status, path = document.pop("status", None), f"{collection(document)}/{document['metadata']['name']}"
        if plane.api.find(path) is None:
            plane.api.create(document)
        elif document["kind"] == "Node" and "spec" in document:
            plane.api.patch(path, {"spec": document["spec"]})
        if status is not None:
            # A policy of Nodemend lets only the remediator report on remediations.
            api = remediator if document["kind"] == "Metal3Remediation" else plane.api
            api.patch(f"{path}/status", {"status": status})


def _whole(definition: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **definition}


def test_every_block_is_a_manifest_or_commands() -> None:
    assert {block.language for block in ALL} == {"yaml", "sh"}
    assert len(MANIFESTS) >= 5
    assert len(COMMANDS) >= 30


@pytest.mark.parametrize("block", MANIFESTS, ids=str)
def test_a_manifest_is_accepted_unchanged(plane: ControlPlane, block: Block) -> None:
    set_scene(plane)
    applied = plane.kubectl(
        "apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", stdin=block.text
    )

    kinds = [document["kind"] for document in yaml.safe_load_all(block.text)]
    assert applied.count("serverside-applied") == len(kinds)


@pytest.mark.parametrize("command", [command for _, command in COMMANDS if command.startswith("helm ")])
def test_a_release_can_be_changed_so(command: str) -> None:
    words = shlex.split(command)
    start = ["helm", "upgrade", "nodemend", "deploy/chart/nodemend", "-n", "nodemend-system"]
    assert words[: len(start) + 1] == [*start, "--reuse-values"]
    flags, settings = words[len(start) + 1 :: 2], words[len(start) + 2 :: 2]

    assert set(flags) == {"--set"}
    assert render_chart(*settings)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_can_be_given(plane: ControlPlane, page: str) -> None:
    """As an admin. Each block is a separate situation."""
    for block in blocks(page):
        if block.language == "sh":
            commands = block.text.splitlines()
            assert_given(plane, [command for command in commands if not command.startswith("helm ")])


@pytest.mark.parametrize("runbook", RUNBOOKS)
def test_every_command_of_a_runbook_can_be_given(plane: ControlPlane, runbook: str) -> None:
    text = (ROOT / "docs" / "runbooks" / f"{runbook}.md").read_text()
    commands = [_fill_in(command) for command in indented_commands(text)]

    assert len(commands) >= 2
    assert_given(plane, commands)


def indented_commands(text: str) -> Iterator[str]:
    """The commands, each over as many lines as its quotes and backslashes need."""
    begun = ""
    for line in text.splitlines():
        begins = re.match(r" {4,}kubectl ", line)
        if not begun and not begins:
            continue
        begun = f"{begun}\n{line}" if begun else line.strip()
        try:
            shlex.split(begun)
        except ValueError:
            continue
        if not begun.endswith("\\"):
            yield begun
            begun = ""


def _fill_in(command: str) -> str:
    for placeholder, value in PLACEHOLDERS.items():
        command = re.sub(rf"\b{placeholder}\b", value, command)
    return command


def assert_given(plane: ControlPlane, commands: list[str]) -> None:
    set_scene(plane)
    failed = []
    for command in commands:
        done = _give(plane, command)
        # No controllers run here, and `check` reports that.
        fine = (0, 1) if command.startswith("kubectl mend check") else (0,)
        if done.returncode not in fine:
            failed.append(f"{command}\n  {done.returncode}: {done.stdout}{done.stderr}")

    assert not failed, "\n".join(failed)


def _give(plane: ControlPlane, command: str) -> subprocess.CompletedProcess[str]:
    ours, theirs = Path(sys.executable).parent, plane.programs["kubectl"].parent
    env = {
        **os.environ,
        "KUBECONFIG": str(plane.kubeconfig),
        "PATH": f"{theirs}:{ours}:{os.environ['PATH']}",
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env=env,
        input="y\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
