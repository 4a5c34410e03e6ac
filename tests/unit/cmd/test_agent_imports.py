"""An agent runs on every node, so its program imports nothing that only controllers and commands need.

`just agent-footprint` measures the memory; this test names the module that costs it.
"""

import subprocess
import sys
from importlib.util import find_spec

import pytest

FOREIGN = ("click", "cryptography", "prometheus_client", "pygments", "rich", "wsgiref", "yaml")
OURS = (
    *("cli", "guard", "health", "remediation", "rules", "safety", "signer"),
    *("cmd.controllers", "kube.client", "kube.informer", "kube.kubeconfig", "kube.leader_election"),
    *("records.live_reads", "settings.controller", "telemetry.metrics"),
)
MOST_MODULES = 432
"""The number of imported modules before the modules were moved into packages by feature."""


@pytest.fixture(scope="module")
def imported() -> frozenset[str]:
    """All modules that a new Python has after the import of the agent's program."""
    program = "import sys, nodemend.cmd.agent; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("module", [*FOREIGN, *(f"nodemend.{one}" for one in OURS)])
def test_the_agent_does_not_import_it(imported: frozenset[str], module: str) -> None:
    assert "nodemend.cmd.agent" in imported
    assert not {one for one in imported if one == module or one.startswith(f"{module}.")}


@pytest.mark.parametrize("module", OURS)
def test_every_forbidden_module_exists(module: str) -> None:
    """A name that is out of date forbids nothing."""
    assert find_spec(f"nodemend.{module}")


def test_the_agent_imports_few_modules(imported: frozenset[str]) -> None:
    assert len(imported) <= MOST_MODULES
