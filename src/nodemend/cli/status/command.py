"""`kubectl mend status`."""

import click

from nodemend.api import keys
from nodemend.api.group_versions import MANUAL_REMEDIATION, NODE_HEALTH_CHECK, REMEDIATION_POLICY
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.cli.cluster import Cluster
from nodemend.cli.cluster_shell import with_cluster
from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.leaders import look_at_leaders
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option
from nodemend.cli.status.text import render
from nodemend.cli.status.view import StatusView, status_view
from nodemend.cli.terminal_shell import show


@click.command("status")
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form) -> int:
    """Show on one screen everything that is not simply healthy. It changes nothing.

    Exits with 1 when a controller does not live.

    \b
    Example:
      kubectl mend status
    """
    view = with_cluster(cluster, gather)
    show(view, form, render)
    return ExitCode.FINE if view.led else ExitCode.WRONG


async def gather(cluster: Cluster) -> StatusView:
    policy = await cluster.find(REMEDIATION_POLICY, keys.POLICY_NAME, RemediationPolicy)
    leaders = await look_at_leaders(cluster)
    checks = await cluster.all(NODE_HEALTH_CHECK, NodeHealthCheck)
    remediations = await cluster.all(MANUAL_REMEDIATION, ManualRemediation)
    return status_view(policy, leaders, checks, remediations, cluster.now)
