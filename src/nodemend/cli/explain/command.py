"""`kubectl mend explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, node_argument, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.explain.view import ExplainView


@click.command("explain")
@node_argument("target", metavar="NODE|machine/NAME")
@click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Where the Machine is, if there are several."
)
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, target: str, namespace: str) -> int:
    """Say why a node or a Machine is or is not remediated, and what would change that. It changes nothing.

    The answer comes from the code that decides, run on what the API server says now. Of a node that has a
    Machine under a MachineHealthCheck of ours, that is explained too. Exits with 1 when something cannot be
    read that the answer rests on.

    \b
    Examples:
      kubectl mend explain edge-07
      kubectl mend explain machine/workers-7xk2p -n capi-system
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.explain.facts import gather
    from nodemend.cli.explain.machine_facts import gather_behind, gather_machine, parse_machine
    from nodemend.cli.explain.machine_reasoning import explain_machine
    from nodemend.cli.explain.nodes_and_machines import explain_with_machines
    from nodemend.cli.explain.text import render
    from nodemend.cli.terminal_shell import show, width

    asked = parse_machine(target, namespace)
    if asked is None and namespace:
        raise click.UsageError("-n is for machine/NAME: a node has no namespace.")

    async def act(connected: Cluster) -> ExplainView:
        if asked is not None:
            return explain_machine(*await gather_machine(connected, asked))
        facts = await gather(connected, target.removeprefix("node/"))
        return explain_with_machines(facts, await gather_behind(connected, facts))

    view = with_cluster(cluster, act)
    show(view, form, lambda shown: render(shown, width()))
    unread = any(one.unread for one in (view, *view.machines))
    return ExitCode.WRONG if unread else ExitCode.FINE
