"""`kubectl mend stop`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    dry_run_option,
    node_argument,
    output_option,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.remediations import Remediation
    from nodemend.cli.stop.view import StopView


_DEFAULT_REASON: Final = "kubectl mend stop --all"


@click.command("stop")
@node_argument(required=False)
@click.option("--all", "everything", is_flag=True, help="Pause the cluster, and end every open remediation.")
@click.option("--reason", default=_DEFAULT_REASON, metavar="TEXT", help="Why, for the pause of --all.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Where the remediation is.")
@dry_run_option
@output_option
@cluster_options
def command(  # noqa: PLR0913 - one parameter a flag, as click has it
    cluster: ClusterOptions,
    form: Form,
    node: str | None,
    reason: str,
    namespace: str,
    *,
    everything: bool,
    yes: bool,
    dry_run: bool,
) -> int:
    """End the remediation of a node, or all of them, at the next safe point.

    --all is the red handle: first the cluster is paused, then every open remediation is told to end.

    \b
    Examples:
      kubectl mend stop edge-07
      kubectl mend stop --all --yes
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.stop.text import render
    from nodemend.cli.stop.view import Failed, StopView, stopped_view
    from nodemend.cli.stop.writing import NotStopped, Told, stop
    from nodemend.cli.terminal_shell import show

    if everything == (node is not None):
        raise click.UsageError("Name a node, or say --all.")
    name = (node or "").removeprefix("node/")
    if not yes and not dry_run:
        found = with_cluster(cluster, lambda connected: _choose(connected, name, namespace))
        _ask(found, everything=everything)

    async def act(connected: Cluster) -> StopView:
        # First the pause: what is deleted must not be asked for anew at once.
        paused_for = await _pause(connected, reason, dry_run=dry_run) if everything else ""
        chosen = await _choose(connected, name, namespace)
        ended = [await stop(connected, found, dry_run=dry_run) for found in chosen]
        return StopView(
            stopped=tuple(stopped_view(one.remediation) for one in ended if isinstance(one, Told)),
            failed=tuple(Failed(node=one.node, why=one.why) for one in ended if isinstance(one, NotStopped)),
            paused=everything,
            pause_reason=paused_for,
            dry_run=dry_run,
        )

    view = with_cluster(cluster, act)
    show(view, form, render)
    return ExitCode.WRONG if view.failed else ExitCode.FINE


async def _pause(cluster: Cluster, reason: str, *, dry_run: bool) -> str:
    """Why the cluster is paused now: a pause that stood before keeps its reason beside this one."""
    from nodemend.api.pause import Pause
    from nodemend.cli.pause.writing import set_pause

    pause = Pause(reason=reason, by=await cluster.caller())
    change = await set_pause(cluster, pause, keep=True, dry_run=dry_run)
    return change.after.reason if change.after else reason


async def _choose(cluster: Cluster, node: str, namespace: str) -> list[Remediation]:
    from nodemend.cli.remediations import find_open, open_remediations

    if node:
        return [await find_open(cluster, node, namespace)]
    return await open_remediations(cluster, namespace)


def _ask(chosen: list[Remediation], *, everything: bool) -> None:
    from nodemend.cli.remediations import node_of
    from nodemend.cli.terminal_shell import ask
    from nodemend.cli.words import spell_names
    from nodemend.decide.explanation import spell_count

    named = spell_names([node_of(found) for found in chosen])
    what = f"{spell_count(len(chosen), 'remediation')}" + (f" ({named})" if named else "")
    before = "Pause the whole cluster and stop" if everything else "Stop"
    ask(f"{before} {what}?")
