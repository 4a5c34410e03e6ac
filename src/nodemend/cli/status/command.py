"""`kubectl mend status`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.api import keys
from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.status.view import StatusView
    from nodemend.cli.watching import Look


@click.command("status")
@click.option("-w", "--watch", "watched", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, *, watched: bool) -> int:
    """Show on one screen everything that is not simply healthy. It changes nothing.

    Exits with 1 when a controller does not live, or when something cannot be read: of that nothing is said to
    be well. With --watch a terminal is drawn anew at each look; elsewhere, and with -o json or yaml, a
    document is written whenever something has changed. --timeout is then for each look. A cluster that stops
    answering is said to, and looked at again.

    \b
    Examples:
      kubectl mend status
      kubectl mend status --watch
    """
    from nodemend.cli.cluster_shell import watch_cluster, with_cluster
    from nodemend.cli.status.text import render
    from nodemend.cli.status.view import without_ages
    from nodemend.cli.terminal_shell import show, show_look

    if not watched:
        view = with_cluster(cluster, gather)
        show(view, form, render)
        return code_of(view)
    last: list[StatusView] = []

    def tell(look: Look[StatusView]) -> None:
        last[:] = [look.view]
        show_look(look, form, render)

    watch_cluster(cluster, gather, without_ages, tell)
    return code_of(last[0]) if last else ExitCode.FINE


def code_of(view: StatusView) -> ExitCode:
    return ExitCode.FINE if view.led and not view.unread else ExitCode.WRONG


async def gather(cluster: Cluster) -> StatusView:
    from nodemend.api.group_versions import REMEDIATION_POLICY
    from nodemend.api.remediation_policy import RemediationPolicy
    from nodemend.cli.leaders import look_at_leaders
    from nodemend.cli.listed_machines import list_machines
    from nodemend.cli.remediations import list_remediations
    from nodemend.cli.status.view import status_view

    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    leaders = await look_at_leaders(cluster)
    checks = await cluster.health_checks()
    remediations = await list_remediations(cluster)
    machines = await list_machines(cluster)
    return status_view(policy, leaders, checks, remediations, machines, cluster.now)
