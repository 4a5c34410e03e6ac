"""`kubectl mend pause`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from nodemend.api import keys
from nodemend.api.quantities import parse_duration
from nodemend.cli.options import ClusterOptions, Form, cluster_options, dry_run_option, output_option

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.pause.view import PausedView
    from nodemend.cli.remediations import Remediation


@click.command("pause")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for whoever finds it paused.")
@click.option(
    "--for",
    "duration",
    metavar="DURATION",
    help="End it by itself after so long, such as 2h; without this somebody must resume.",
)
@click.option(
    "--check", default="", metavar="NAME", help="Pause this NodeHealthCheck alone, not the whole cluster."
)
@click.option(
    "--replace", is_flag=True, help="End the pause that stands; else the later end holds, and both reasons."
)
@dry_run_option
@output_option
@cluster_options
def command(  # noqa: PLR0913 - one parameter a flag, as click has it
    cluster: ClusterOptions,
    form: Form,
    reason: str,
    duration: str | None,
    check: str,
    *,
    replace: bool,
    dry_run: bool,
) -> None:
    """Stop new actions at once: in the whole cluster, or for the nodes of one check.

    In a paused cluster what has begun reaches its next safe point and waits there. A paused check begins
    nothing new; what it has begun goes on. There is room for one pause: a second one says which stood, keeps
    its reason beside the new one, and ends no earlier.

    \b
    Examples:
      kubectl mend pause --for 2h --reason "core switch swap, CHG-4411"
      kubectl mend pause --check workers --for 1h --reason "new kernel"
    """
    from nodemend.api.pause import Pause
    from nodemend.api.timestamps import print_time
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.pause.text import render_paused
    from nodemend.cli.pause.view import paused_view
    from nodemend.cli.pause.writing import set_pause
    from nodemend.cli.remediations import open_remediations
    from nodemend.cli.terminal_shell import show

    check = check.removeprefix("nhc/")
    if not reason.strip():
        raise click.UsageError("Say with --reason why, for whoever finds it paused.")
    lasts = _duration(duration) if duration is not None else None

    async def act(connected: Cluster) -> PausedView:
        by = await connected.caller()
        until = print_time(connected.now + lasts) if lasts is not None else None
        pause = Pause(reason=reason.strip(), by=by, until=until)
        change = await set_pause(connected, pause, check=check, replace=replace, dry_run=dry_run)
        going_on = [one for one in await open_remediations(connected) if not check or _is_of(check, one)]
        return paused_view(change.after or pause, change, going_on, check=check, dry_run=dry_run)

    show(with_cluster(cluster, act), form, render_paused)


def _is_of(check: str, remediation: Remediation) -> bool:
    return remediation.metadata.labels.get(keys.CHECK) == check


def _duration(written: str) -> timedelta:
    try:
        lasts = parse_duration(written)
    except ValueError as error:
        raise click.UsageError(f"--for: {error}.") from error
    if not lasts:
        raise click.UsageError("--for: a pause must last longer than nothing.")
    return lasts
