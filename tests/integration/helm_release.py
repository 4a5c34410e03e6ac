"""A release of the chart on a real API server, as a user makes one."""

import subprocess

from controlplane.run import ControlPlane
from generate.helm_program import run_helm
from generate.outputs import CHART
from nodemend.api.well_known import SYSTEM_NAMESPACE


def helm(plane: ControlPlane, *arguments: str) -> str:
    """Helm's output. Raises subprocess.CalledProcessError with the reason."""
    where = ("--kubeconfig", str(plane.kubeconfig), "--namespace", SYSTEM_NAMESPACE)
    try:
        return run_helm(*arguments, *where)
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise


def make_release(plane: ControlPlane, *options: str) -> str:
    """Install the chart.

    A busy server may not serve its kinds yet when the settings are created, so retry once.
    """
    try:
        return helm(plane, "install", "nodemend", str(CHART), "--create-namespace", *options)
    except subprocess.CalledProcessError:
        return helm(plane, "upgrade", "--install", "nodemend", str(CHART), *options)
