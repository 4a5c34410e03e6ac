"""`python -m controlplane up`: a real control plane for interactive use, until Ctrl-C.

Also build, pin, versions.
"""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from controlplane.build import BuildError, build
from controlplane.pin import pin_kubernetes
from controlplane.pins import ETCD, KUBERNETES_VERSIONS, KWOK, USUAL_KUBERNETES
from controlplane.process import ProcessEndedError
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.volumes import storage


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        options.do(options)
    except (BuildError, ProcessEndedError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ended")
    return 0


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="controlplane", description=__doc__)
    commands = top.add_subparsers(required=True)
    commands.add_parser("versions", help="what is pinned").set_defaults(do=show_versions)
    pinner = commands.add_parser("pin", help="add a version of Kubernetes under go/")
    pinner.set_defaults(do=add_pin)
    pinner.add_argument("version", help="such as v1.36.3")
    builder = commands.add_parser("build", help="build what is missing")
    builder.set_defaults(do=build_programs)
    upper = commands.add_parser("up", help="start, and stay until Ctrl-C")
    upper.set_defaults(do=up)
    for command in (builder, upper):
        command.add_argument("--kubernetes", choices=KUBERNETES_VERSIONS, default=USUAL_KUBERNETES)
    upper.add_argument(
        "--groups", default="a,b,c", help="groups of nodes that fall silent together (%(default)s)"
    )
    upper.add_argument("--nodes", type=int, default=1, metavar="N", help="nodes in each group (%(default)s)")
    upper.add_argument("--lease", type=int, default=40, help="seconds of a node's lease (%(default)s)")
    upper.add_argument(
        "--grace", type=float, default=50, help="seconds until a silent node is Unknown (%(default)s)"
    )
    upper.add_argument("--directory", type=Path, help="keep logs and kubeconfigs here")
    return top


def add_pin(options: argparse.Namespace) -> None:
    print(pin_kubernetes(options.version))


def build_programs(options: argparse.Namespace) -> None:
    print(build(options.kubernetes).path)


def show_versions(_options: argparse.Namespace) -> None:
    for version in KUBERNETES_VERSIONS:
        print(f"kubernetes {version}")
    for family in (ETCD, KWOK):
        print(f"{family.name} {family.version}")


def up(options: argparse.Namespace) -> None:
    """Start a cluster, print how to use it, and run until a signal."""
    signal.signal(signal.SIGTERM, interrupt)
    settings = Settings(
        kubernetes=options.kubernetes,
        attacher=True,
        audit=True,
        node_lease_duration=options.lease,
        node_monitor_grace_period=options.grace,
    )
    with ControlPlane(settings, directory=options.directory) as plane:
        for manifest in storage():
            plane.api.create(manifest)
        for group in filter(None, options.groups.split(",")):
            plane.nodes.add(group, options.nodes, within=120)
        tell(plane)
        signal.pause()


def tell(plane: ControlPlane) -> None:
    print(f"export KUBECONFIG={plane.kubeconfig} PATH={plane.programs.path}:$PATH")
    print(f"\nLogs and audit.log: {plane.directory}")
    print("Processes; kill -STOP one, and kill -CONT it, to play a hang:")
    for name, process in plane.processes.items():
        print(f"  {process.pid:>8}  {name}")
    print("Ctrl-C ends everything.", flush=True)


def interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
