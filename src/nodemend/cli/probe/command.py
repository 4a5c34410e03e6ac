"""`kubectl mend probe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, node_argument, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.probe.view import ProbeView


@click.command("probe")
@node_argument()
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, node: str) -> int:
    """Say what could release a node if it fell silent now. It changes nothing, and asks nothing of the node.

    Which evidence each remedy of its check could come to, after how long, and on whom that rests: its
    watchdog, its boot gate, its peers, its host. Of what is not possible it says why, and what would change
    that. The answer comes from the code that decides, run on what the API server says now.

    Exits with 1 when there could be no evidence, as far as is known, or when something cannot be read.

    \b
    Example:
      kubectl mend probe edge-07
    """

    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.probe.facts import gather
    from nodemend.cli.probe.judging import probe_view
    from nodemend.cli.probe.text import render
    from nodemend.cli.terminal_shell import show, width

    async def act(connected: Cluster) -> ProbeView:
        return probe_view(await gather(connected, node.removeprefix("node/")))

    view = with_cluster(cluster, act)
    show(view, form, lambda shown: render(shown, width()))
    return ExitCode.FINE if view.releasable and not view.unread else ExitCode.WRONG
