"""`python -m tests.e2e.boot_gate [CASE...]`: a real systemd boots with the shipped units, and no machine gets
stuck.

Kubelet starts, or the machine shows the reason why it does not, and the next step.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from controlplane.run import ControlPlane
from controlplane.settings import Settings
from generate.outputs import CRDS, HOST
from tests.e2e.agent_nodes.agent_node import furnish
from tests.e2e.boot_gate.cases import CASES, Site
from tests.e2e.boot_gate.machine import StuckError
from tests.unit.agent.certificates import Authority


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="their names; all of them by default")
    wanted = parser.parse_args().cases
    cases = [one for one in CASES if not wanted or one.__name__ in wanted]
    with tempfile.TemporaryDirectory(prefix="boot-gate-") as scratch:
        folder = Path(scratch)
        clients = Authority(folder, "clients")
        trusts = (f"--client-ca-file={folder / f'{clients.name}.crt'}",)
        settings = Settings(controller_manager=False, scheduler=False, flags={"kube-apiserver": trusts})
        with ControlPlane(settings) as plane:
            install(plane)
            stuck = sum(not play(case, plane, clients, folder) for case in cases)
    print(f"boot-gate: {len(cases)} cases, {stuck} stuck")
    return 1 if stuck else 0


def play(case: Callable[[Site], None], plane: ControlPlane, clients: Authority, folder: Path) -> bool:
    """True if no machine got stuck."""
    name, began, reported = case.__name__.replace("_", "-"), time.monotonic(), "ok"
    try:
        case(Site(plane, clients, folder / name, name))
    except (StuckError, TimeoutError) as error:
        reported = f"STUCK: {error}"
    print(f"{name:28} {time.monotonic() - began:5.1f} s  {reported}", flush=True)
    return reported == "ok"


def install(plane: ControlPlane) -> None:
    """Install the objects of Nodemend that nodes need."""
    furnish(plane)
    for file in (HOST / "read-own-lease.yaml", *CRDS.glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            plane.api.create(document)


if __name__ == "__main__":
    sys.exit(main())
