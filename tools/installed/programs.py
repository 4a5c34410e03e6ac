"""Nodemend's programs as processes beside a real control plane, each under its own service account."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from controlplane.process import Process
from controlplane.run import ControlPlane
from nodemend.api.well_known import SYSTEM_NAMESPACE

PROGRAMS: Final = ("nodemend-checker", "nodemend-remediator")


def program(name: str) -> Path:
    """Beside the Python that runs this, or on the path."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: just setup")
    return Path(found)


QUICK: Final = ("--lease-duration=10s", "--renew-deadline=6s", "--retry-period=1s", "--request-timeout=2s")
"""A first leader waits one lease duration, so short ones keep tests fast."""


def start(plane: ControlPlane, name: str, *more: str, replica: int = 0) -> Process:
    """One replica, under its account in the manifests. It ends with the control plane."""
    flags = flags_for(plane, name, *more, replica=replica)
    return plane.run(f"{name}-{replica}", flags, program=program(name))


def flags_for(plane: ControlPlane, name: str, *more: str, replica: int = 0) -> list[str]:
    kubeconfig = plane.service_account_kubeconfig(SYSTEM_NAMESPACE, name)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--identity={name}-{replica}",
        "--probe-address=127.0.0.1",
        "--probe-port=0",
        "--metrics-address=127.0.0.1",
        "--metrics-port=0",
        "--log-form=json",
        *QUICK,
        *more,
    ]


def mend(kubeconfig: Path, *arguments: str, within: float = 60.0) -> subprocess.CompletedProcess[str]:
    """`kubectl mend ...` as a user runs it."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "NO_COLOR": "1", "COLUMNS": "110"}
    command = [str(program("kubectl-mend")), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=within, check=False
    )
