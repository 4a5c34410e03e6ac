"""`kubectl mend drill`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    node_argument,
    output_option,
    parse_timeout,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.drill.view import DrilledView, DrillView


@click.command("drill")
@node_argument()
@click.option("--yes-reset", metavar="NODE", help="The node's name once more, for use without a terminal.")
@click.option("--with-workloads", is_flag=True, help="Although it is not drained: its pods go with it.")
@click.option(
    "--wait",
    default="15m",
    show_default=True,
    callback=parse_timeout,
    metavar="DURATION",
    help="How long the node may take to be back in service.",
)
@output_option
@cluster_options
def command(
    cluster: ClusterOptions,
    form: Form,
    node: str,
    yes_reset: str | None,
    wait: float,
    *,
    with_workloads: bool,
) -> int:
    """Reset one node by its watchdog, now, and time it. THE NODE GOES DOWN.

    A release by time rests on how long a watchdog really takes. This finds it out: the node is marked as in a
    remediation, is fed no more, and keeps a record on its disk until the reset. When it is back, the time is
    held against W, on which managers count. Drain the node first. It is refused while anything else is under
    way, while Nodemend is paused, and for a node that is not well. It needs the ClusterRole nodemend-driller.

    Exits with 0 only if the watchdog was timed and kept to W.

    \b
    Examples:
      kubectl mend drill edge-07
      kubectl mend drill edge-07 --yes-reset edge-07 -o json
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.drill.running import Drill, prepare
    from nodemend.cli.drill.text import render_drilled, render_preview
    from nodemend.cli.drill.view import Outcome
    from nodemend.cli.terminal_shell import show, width, write_lines, write_note
    from nodemend.cli.typed_name import ask_for_name

    node = node.removeprefix("node/")

    async def look(connected: Cluster) -> DrillView:
        return await prepare(connected, node, with_workloads=with_workloads)

    shown = with_cluster(cluster, look)
    if form is Form.TEXT:
        write_lines([*render_preview(shown, width()), ""])
    ask_for_name(node, yes_reset, to="reset it", undone="Nothing was reset.")

    async def act(connected: Cluster) -> DrilledView:
        return await Drill(connected, shown, write_note).run(wait, with_workloads=with_workloads)

    drilled = with_cluster(replace(cluster, timeout=wait + cluster.timeout), act)
    show(drilled, form, lambda view: render_drilled(view, width()))
    return ExitCode.FINE if drilled.outcome is Outcome.WITHIN else ExitCode.WRONG
