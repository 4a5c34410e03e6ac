"""`kubectl mend check`."""

import click

from nodemend.cli.check.assess import assess
from nodemend.cli.check.gather import gather
from nodemend.cli.check.text import render
from nodemend.cli.check.view import CheckView
from nodemend.cli.cluster import Cluster
from nodemend.cli.cluster_shell import with_cluster
from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option
from nodemend.cli.terminal_shell import show


@click.command("check")
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form) -> int:
    """Verify the cluster, the installation and the configuration. It changes nothing.

    Exits with 1 when a line says FAIL.

    \b
    Example:
      kubectl mend check
    """
    view = with_cluster(cluster, _check)
    show(view, form, render)
    return ExitCode.WRONG if view.failures else ExitCode.FINE


async def _check(cluster: Cluster) -> CheckView:
    return assess(await gather(cluster))
