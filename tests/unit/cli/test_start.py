"""The start-up cost of a command. A module that is not imported costs no time on any machine."""

import subprocess
import sys
from typing import Final

import pytest

from nodemend.cli.main import COMMANDS

_HELP_OF_EACH: Final = """
import contextlib, io, sys
from nodemend.cli.main import COMMANDS, main
for name in COMMANDS:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main([name, "--help"]) == 0
    assert f"kubectl mend {name}" in shown.getvalue(), name
heavy = {"aiohttp", "asyncio", "msgspec", "rich", "yaml", "ssl"} & set(sys.modules)
inner = tuple(f"nodemend.{one}" for one in ("guard", "health", "kube", "records", "remediation", "safety"))
ours = {name for name in sys.modules if name.startswith(inner)}
print(sorted(heavy | ours))
"""


@pytest.mark.attack("U11")
def test_declaring_every_command_loads_nothing_that_it_needs_only_when_called() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _HELP_OF_EACH], capture_output=True, text=True, check=True, timeout=120
    )

    assert len(COMMANDS) > 15
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
@pytest.mark.attack("U11")
def test_a_status_of_nodes_loads_nothing_of_machines() -> None:
    script = (
        "import sys; import nodemend.cli.connection, nodemend.cli.status.view, nodemend.cli.cluster;"
        "import nodemend.cli.listing, nodemend.cli.terminal, nodemend.cli.read_commands;"
        "print([name for name in sys.modules if name.startswith('nodemend.')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )

    assert "'nodemend.cli.status.view'" in run.stdout
    for package in ("nodemend.health", "nodemend.remediation", "nodemend.signer", "nodemend.agent"):
        assert f"'{package}" not in run.stdout
    for module in ("cli.listing_caches", "guard.evaluator", "kube.informer", "safety.lifecycle"):
        assert f"'nodemend.{module}'" not in run.stdout
