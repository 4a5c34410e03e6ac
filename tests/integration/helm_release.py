"""A release of the chart on a real API server, as a person makes one."""

import subprocess

from controlplane.run import ControlPlane
from generate.helm_program import run_helm
from generate.outputs import CHART
from nodemend.api.keys import SYSTEM_NAMESPACE


def helm(plane: ControlPlane, *arguments: str) -> str:
    """What Helm printed. Raises subprocess.CalledProcessError, which says why."""
    where = ("--kubeconfig", str(plane.kubeconfig), "--namespace", SYSTEM_NAMESPACE)
    try:
        return run_helm(*arguments, *where)
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)
        raise


def make_release(plane: ControlPlane, *options: str) -> str:
    """On a busy server its own kinds may not be served yet when its settings are made: once more."""
    try:
        return helm(plane, "install", "nodemend", str(CHART), "--create-namespace", *options)
    except subprocess.CalledProcessError:
        return helm(plane, "upgrade", "--install", "nodemend", str(CHART), *options)
