"""`python -m cluster_api up`: Cluster API's manager, Machines and a check, until Ctrl-C.

Also build, x2, conversion.
"""

import argparse
import signal
import sys
from pathlib import Path

from cluster_api import conversion, private_network, upstream_x2
from cluster_api.run import DIAGNOSTICS_PORT, ClusterApi, prepare
from controlplane.__main__ import interrupt
from controlplane.build import BuildError
from controlplane.pins import KUBERNETES_VERSIONS, USUAL_KUBERNETES
from controlplane.process import ProcessEndedError
from controlplane.run import ControlPlane
from controlplane.settings import Settings

LABELS = {"pool": "workers"}


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        done: int = options.do(options)
    except (BuildError, ProcessEndedError, TimeoutError, PermissionError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ended")
        return 0 if options.do is up else 130  # The defect was not reproduced.
    return done


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="cluster_api", description=__doc__)
    commands = top.add_subparsers(required=True)
    builder = commands.add_parser("build", help="build what is missing")
    builder.set_defaults(do=build)
    upper = commands.add_parser("up", help="start, and stay until Ctrl-C")
    upper.set_defaults(do=up)
    shower = commands.add_parser("x2", help="show the second Machine that is left without a request")
    shower.set_defaults(do=x2)
    converter = commands.add_parser("conversion", help="compare its conversion of checks with ours")
    converter.set_defaults(do=convert)
    upper.add_argument("--kubernetes", choices=KUBERNETES_VERSIONS, default=USUAL_KUBERNETES)
    upper.add_argument("--groups", default="a,b,c", help="groups that fall silent together (%(default)s)")
    upper.add_argument("--nodes", type=int, default=2, metavar="N", help="in each group (%(default)s)")
    upper.add_argument(
        "--timeout", type=int, default=30, help="seconds until a node is unhealthy (%(default)s)"
    )
    upper.add_argument("--most", type=int, default=2, help="unhealthy nodes at most (%(default)s)")
    upper.add_argument("--grace", type=float, default=15, help="seconds until Ready is Unknown (%(default)s)")
    upper.add_argument("--directory", type=Path, help="keep logs and kubeconfigs here")
    return top


def build(_options: argparse.Namespace) -> int:
    print(prepare(Settings()))
    return 0


def x2(_options: argparse.Namespace) -> int:
    program = prepare(upstream_x2.SETTINGS)
    private_network.enter_network()
    outcome = upstream_x2.show(program)
    print(f"upstream-x2: {outcome}")
    return 0 if outcome.shown else 1


def convert(_options: argparse.Namespace) -> int:
    program = prepare(conversion.SETTINGS)
    private_network.enter_network()
    outcome = conversion.compare(program)
    for name in outcome.differ:
        print(f"DIFFERS {name}")
    print(f"upstream-conversion: {outcome}")
    return 1 if outcome.differ else 0


def up(options: argparse.Namespace) -> int:
    """Start all parts, print how to use them, and run until a signal."""
    settings = Settings(
        kubernetes=options.kubernetes,
        audit=True,
        node_lease_duration=40,
        node_monitor_grace_period=options.grace,
    )
    program = prepare(settings)
    way_in = private_network.enter_network()
    with ControlPlane(settings, directory=options.directory) as plane:
        manager = ClusterApi(plane, program)
        names = [
            name
            for group in filter(None, options.groups.split(","))
            for name in plane.nodes.add(group, options.nodes, within=120)
        ]
        manager.add_machines(names, LABELS)
        manager.wait_for_nodes(names)
        manager.add_check("workers", LABELS, timeout=options.timeout, most=options.most)
        manager.wait_healthy("workers", len(names))
        tell(plane, len(names), way_in)
        signal.pause()
    return 0


def tell(plane: ControlPlane, machines: int, way_in: str) -> None:
    print(f"{machines} Machines are healthy under the check `workers`. All of this has a network of its own:")
    print(f"  {way_in} bash")
    print("and there:")
    print(f"  export KUBECONFIG={plane.kubeconfig} PATH={plane.programs.path}:$PATH")
    print("  kubectl get machinehealthchecks.cluster.x-k8s.io,metal3remediations")
    print(f"  curl http://127.0.0.1:{DIAGNOSTICS_PORT}/metrics")
    print(f"\nLogs and audit.log: {plane.directory}")
    print("Processes; kill -STOP a kwok, and kill -CONT it, to silence its nodes:")
    for name, process in plane.processes.items():
        print(f"  {process.pid:>8}  {name}")
    print("Ctrl-C ends everything.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
