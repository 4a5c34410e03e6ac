"""The commands that only read: declared here, and implemented by modules that they import when called."""

from __future__ import annotations

import json
import platform
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, TextIO

import click

from nodemend import __version__
from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.main import COMPLETE_VARIABLE
from nodemend.cli.options import (
    VIEW_VERSION,
    ClusterOptions,
    Form,
    cluster_options,
    namespace_option,
    node_argument,
    output_option,
    parse_timeout,
    utc_option,
    wide_output_option,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.explain.view import ExplainView
    from nodemend.cli.status.view import StatusView
    from nodemend.cli.terminal import Observation
    from nodemend.cli.timeline.collect import TimelineView


@click.command("check")
@node_argument("nodes", nargs=-1, metavar="[NODE]...")
@wide_output_option
@cluster_options
def check_command(cluster: ClusterOptions, form: Form, nodes: tuple[str, ...]) -> int:
    """Verify the cluster, the installation and the configuration. It changes nothing.

    If nodes have agents, or a check has a SelfRemediationTemplate, it also verifies self-fencing: how many
    nodes could be released by time, after how long, and why others could not. It shows watchdog, times, peers
    and boot gate of the nodes that you name, or with -o wide of all nodes.

    Exits with 1 if a line says FAIL. A line says FAIL for each object that cannot be read.

    \b
    Examples:
      kubectl mend check
      kubectl mend check edge-07 edge-08
      kubectl mend check -o wide
    """
    from nodemend.cli.check.assess import assess
    from nodemend.cli.check.facts import gather
    from nodemend.cli.check.view import only_of, render
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.terminal import show

    named = tuple(name.removeprefix("node/") for name in nodes)
    view = only_of(assess(with_cluster(cluster, gather)), named)
    show(view, form, lambda shown: render(shown, by_node=bool(named) or form is Form.WIDE))
    return ExitCode.WRONG if view.failures else ExitCode.FINE


_FOR_KUBECTL: Final = f"""\
#!/bin/sh
# Save this on your PATH as kubectl_complete-mend and make it executable: then kubectl completes its plugin.
COMP_WORDS="kubectl-mend $*" COMP_CWORD=$# {COMPLETE_VARIABLE}=bash_complete kubectl-mend | sed 's/^[^,]*,//'
echo :4
"""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
def completion_command(shell: str) -> None:
    """Print a script that completes these commands: for kubectl-mend in a shell, or for kubectl itself.

    \b
    Examples:
      source <(kubectl mend completion bash)
      kubectl mend completion kubectl > ~/.local/bin/kubectl_complete-mend
    """
    if shell == "kubectl":
        click.echo(_FOR_KUBECTL, nl=False)
        return
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"{shell} is not known here.")
    root = click.get_current_context().find_root().command
    click.echo(completion(root, {}, "kubectl-mend", COMPLETE_VARIABLE).source())


@click.command("explain")
@node_argument("target", metavar="NODE|machine/NAME")
@namespace_option("The namespace of the Machine, if there are several.")
@output_option
@cluster_options
def explain_command(cluster: ClusterOptions, form: Form, target: str, namespace: str) -> int:
    """Say why a node or a Machine is or is not remediated, and what would change that. It changes nothing.

    The answer comes from the code that decides, run on the current state of the API server. If the node's
    Machine is under a MachineHealthCheck that Nodemend serves, the Machine is explained too. Exits with 1 if
    something that the answer depends on cannot be read.

    \b
    Examples:
      kubectl mend explain edge-07
      kubectl mend explain machine/workers-7xk2p -n capi-system
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.explain.facts import gather_node
    from nodemend.cli.explain.machine import explain_machine, explain_with_machines
    from nodemend.cli.explain.machine_facts import gather_behind, gather_machine, parse_machine
    from nodemend.cli.explain.view import render
    from nodemend.cli.terminal import show, width

    asked = parse_machine(target, namespace)
    if asked is None and namespace:
        raise click.UsageError("-n is for machine/NAME: a node has no namespace.")

    async def act(connected: Cluster) -> ExplainView:
        if asked is not None:
            return explain_machine(*await gather_machine(connected, asked))
        facts = await gather_node(connected, target.removeprefix("node/"))
        return explain_with_machines(facts, await gather_behind(connected, facts))

    view = with_cluster(cluster, act)
    show(view, form, lambda shown: render(shown, width()))
    unread = any(one.unread for one in (view, *view.machines))
    return ExitCode.WRONG if unread else ExitCode.FINE


@click.command("probe")
@node_argument()
@output_option
@cluster_options
def probe_command(cluster: ClusterOptions, form: Form, node: str) -> int:
    """Say what could release a node if it fell silent now. It changes nothing, and asks nothing of the node.

    For each remedy of its check it shows the possible evidence, after how long, and what this depends on: the
    node's watchdog, boot gate, peers or host. For impossible evidence it shows the reason, and what would
    change that. The answer comes from the code that decides, run on the current state of the API server.

    Exits with 1 if no evidence is possible, as far as is known, or if something cannot be read.

    \b
    Example:
      kubectl mend probe edge-07
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.probe import gather, probe_view, render
    from nodemend.cli.terminal import show, width

    name = node.removeprefix("node/")
    view = probe_view(with_cluster(cluster, lambda connected: gather(connected, name)))
    show(view, form, lambda shown: render(shown, width()))
    return ExitCode.FINE if view.releasable and not view.unread else ExitCode.WRONG


@click.command("status")
@click.option("-w", "--watch", "watched", is_flag=True, help="Read again every two seconds, until Ctrl-C.")
@output_option
@cluster_options
def status_command(cluster: ClusterOptions, form: Form, *, watched: bool) -> int:
    """Show everything that needs attention on one screen. It changes nothing.

    Exits with 1 if a controller has no live leader, or if something cannot be read; nothing unread is shown
    as healthy. With --watch a terminal is redrawn after each read; elsewhere, and with -o json or yaml, a
    document is written whenever something has changed. --timeout then applies to each read. If the cluster
    stops answering, the command reports that and reads again.

    \b
    Examples:
      kubectl mend status
      kubectl mend status --watch
    """
    from nodemend.cli.connection import watch_cluster, with_cluster
    from nodemend.cli.status.view import render, without_ages
    from nodemend.cli.terminal import show, show_observation

    if not watched:
        view = with_cluster(cluster, gather)
        show(view, form, render)
        return code_of(view)
    last: list[StatusView] = []

    def tell(observation: Observation[StatusView]) -> None:
        last[:] = [observation.view]
        show_observation(observation, form, render)

    watch_cluster(cluster, gather, without_ages, tell)
    return code_of(last[0]) if last else ExitCode.FINE


def code_of(view: StatusView) -> ExitCode:
    return ExitCode.FINE if view.led and not view.unread else ExitCode.WRONG


async def gather(cluster: Cluster) -> StatusView:
    from nodemend.cli.cluster import read_leaders
    from nodemend.cli.listing import list_machines, list_remediations
    from nodemend.cli.status.view import status_view

    policy = await cluster.policy()
    leaders = await read_leaders(cluster)
    checks = await cluster.health_checks()
    remediations = await list_remediations(cluster)
    machines = await list_machines(cluster)
    return status_view(policy, leaders, checks, remediations, machines, cluster.now)


_STANDARD_OUTPUT: Final = "-"


@click.command("timeline")
@node_argument()
@click.option(
    "--since",
    default="24h",
    show_default=True,
    callback=parse_timeout,
    metavar="DURATION",
    help="The maximum age of a change.",
)
@click.option(
    "--svg",
    type=click.File("w", encoding="utf-8", lazy=True),
    metavar="FILE",
    help="Draw it into this file as well; - draws it on standard output and writes nothing else.",
)
@utc_option
@output_option
@cluster_options
def timeline_command(
    cluster: ClusterOptions, form: Form, node: str, since: float, svg: TextIO | None, *, utc: bool
) -> int:
    """Show what happened to a node, when, and on which evidence. It changes nothing.

    The sources are events, conditions, the status of remediations, the history of checks and the kubelet's
    Lease. Each line names its sources, and has the time that they recorded, by their own clocks. Kubernetes
    deletes events, by default after an hour; the state in objects lasts longer.

    Exits with 1 if a source cannot be read.

    \b
    Examples:
      kubectl mend timeline edge-07
      kubectl mend timeline edge-07 --since 2h --svg edge-07.svg
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.terminal import show, width, write_note
    from nodemend.cli.timeline.build import timeline_view
    from nodemend.cli.timeline.collect import gather
    from nodemend.cli.timeline.svg import draw
    from nodemend.cli.timeline.text import render

    name, zone = node.removeprefix("node/"), UTC if utc else None
    facts = with_cluster(cluster, lambda connected: gather(connected, name))
    view = timeline_view(facts, timedelta(seconds=since))
    if svg is not None:
        svg.write(draw(view, zone))
        if svg.name == _STANDARD_OUTPUT:
            return _code(view)
        write_note(f"drawn: {svg.name}")
    show(view, form, lambda reported: render(reported, width(), zone))
    return _code(view)


def _code(view: TimelineView) -> ExitCode:
    return ExitCode.WRONG if view.unread else ExitCode.FINE


@click.command("tree")
@node_argument()
@output_option
@cluster_options
def tree_command(cluster: ClusterOptions, form: Form, node: str) -> int:
    """Show everything that concerns the healing of one node, as a tree. It changes nothing.

    It shows the node, its kubelet's last Lease renewal and Nodemend's taint; its Machine and its host; the
    checks that watch it; its remediations with their evidence and their lock; the pods and volumes that wait
    for the release. Kinds that are not installed are left out.

    Exits with 1 if something cannot be read, except pods, and except volumes of a Ready node without an open
    remediation.

    \b
    Examples:
      kubectl mend tree edge-07
      kubectl mend tree edge-07 -o json
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.node_report import gather_case
    from nodemend.cli.terminal import show, width
    from nodemend.cli.tree.branches import tree_view
    from nodemend.cli.tree.view import render

    name = node.removeprefix("node/")
    view = tree_view(with_cluster(cluster, lambda connected: gather_case(connected, name)))
    show(view, form, lambda shown: render(shown, width()))
    return ExitCode.WRONG if view.incomplete else ExitCode.FINE


@click.command("version")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="The output format."
)
def version_command(output: str) -> None:
    """Print the version of this program. It contacts no cluster.

    \b
    Example:
      kubectl mend version
    """
    python = platform.python_version()
    view = {"apiVersion": VIEW_VERSION, "kind": "Version", "version": __version__, "python": python}
    match output:
        case "json":
            click.echo(json.dumps(view))
        case "yaml":
            click.echo("\n".join(f"{name}: {value}" for name, value in view.items()))
        case _:
            click.echo(f"kubectl mend {__version__} (Python {python})")
