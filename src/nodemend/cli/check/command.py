"""`kubectl mend check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, node_argument, wide_output_option

if TYPE_CHECKING:
    from nodemend.cli.check.view import CheckView
    from nodemend.cli.cluster import Cluster


@click.command("check")
@node_argument("nodes", nargs=-1, metavar="[NODE]...")
@wide_output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, nodes: tuple[str, ...]) -> int:
    """Verify the cluster, the installation and the configuration. It changes nothing.

    Where nodes have agents, or a check would have nodes reset themselves, self-fencing is looked at too: how
    many nodes could be released by time, after how long, and why others could not. Of the nodes that you
    name, and with -o wide of all, it shows watchdog, times, peers and boot gate.

    Exits with 1 when a line says FAIL, as one does of everything that cannot be read.

    \b
    Examples:
      kubectl mend check
      kubectl mend check edge-07 edge-08
      kubectl mend check -o wide
    """
    from nodemend.cli.check.text import render
    from nodemend.cli.check.view import only_of
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.terminal_shell import show

    named = tuple(name.removeprefix("node/") for name in nodes)
    view = only_of(with_cluster(cluster, _check), named)
    show(view, form, lambda shown: render(shown, by_node=bool(named) or form is Form.WIDE))
    return ExitCode.WRONG if view.failures else ExitCode.FINE


async def _check(cluster: Cluster) -> CheckView:
    from nodemend.cli.check.assess import assess
    from nodemend.cli.check.gather import gather

    return assess(await gather(cluster))
