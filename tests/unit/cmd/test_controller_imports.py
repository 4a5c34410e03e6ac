"""`cryptography` is an extra of the package: the checker and the remediator run without it."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_controllers_are_imported_without_cryptography() -> None:
    program = "import sys, nodemend.cmd.controllers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "nodemend.signer.controller" in done.stdout.split()
    assert "cryptography" not in done.stdout.split()
