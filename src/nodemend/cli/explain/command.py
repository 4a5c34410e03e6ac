"""`kubectl mend explain`."""

import click

from nodemend.cli.cluster import Cluster
from nodemend.cli.cluster_shell import with_cluster
from nodemend.cli.explain.facts import gather
from nodemend.cli.explain.reasoning import explain_node
from nodemend.cli.explain.text import render
from nodemend.cli.explain.view import ExplainView
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option
from nodemend.cli.terminal_shell import show


@click.command("explain")
@click.argument("node")
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, node: str) -> None:
    """Say why a node is or is not remediated, and what would change that. It changes nothing.

    The answer comes from the code that decides, run on what the API server says now.

    \b
    Example:
      kubectl mend explain edge-07
    """

    async def act(connected: Cluster) -> ExplainView:
        return explain_node(await gather(connected, node.removeprefix("node/")))

    show(with_cluster(cluster, act), form, render)
