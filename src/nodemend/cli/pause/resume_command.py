"""`kubectl mend resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.cli.options import ClusterOptions, Form, cluster_options, dry_run_option, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.pause.view import ResumedView


@click.command("resume")
@click.option("--check", default="", metavar="NAME", help="End the pause of this NodeHealthCheck.")
@dry_run_option
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, check: str, *, dry_run: bool) -> None:
    """End a pause. Remediations begin and go on again, as far as the mode allows.

    \b
    Examples:
      kubectl mend resume
      kubectl mend resume --check workers
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.pause.text import render_resumed
    from nodemend.cli.pause.view import resumed_view
    from nodemend.cli.pause.writing import clear_pause
    from nodemend.cli.terminal_shell import show

    check = check.removeprefix("nhc/")

    async def act(connected: Cluster) -> ResumedView:
        change = await clear_pause(connected, check=check, dry_run=dry_run)
        return resumed_view(change, check=check, dry_run=dry_run)

    show(with_cluster(cluster, act), form, render_resumed)
