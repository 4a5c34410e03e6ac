"""`kubectl mend tree`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, node_argument, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.tree.view import TreeView


@click.command("tree")
@node_argument()
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, node: str) -> int:
    """Show everything that concerns the healing of one node, as a tree. It changes nothing.

    The node, its kubelet's last sign of life and our taint; its Machine and its host; the checks that watch
    it; its remediations with their evidence and their lock; the pods and volumes that wait for the release.
    What is not installed is left out. Of what cannot be read that is said, and then it exits with 1.

    \b
    Examples:
      kubectl mend tree edge-07
      kubectl mend tree edge-07 -o json
    """

    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.node_case import gather_case
    from nodemend.cli.terminal_shell import show, width
    from nodemend.cli.tree.growing import tree_view
    from nodemend.cli.tree.text import render

    async def act(connected: Cluster) -> TreeView:
        return tree_view(await gather_case(connected, node.removeprefix("node/")))

    view = with_cluster(cluster, act)
    show(view, form, lambda shown: render(shown, width()))
    return ExitCode.WRONG if view.incomplete else ExitCode.FINE
