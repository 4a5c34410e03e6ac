"""`kubectl mend timeline`."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, TextIO

import click

from nodemend.cli.exit_codes import ExitCode
from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    node_argument,
    output_option,
    parse_timeout,
    utc_option,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.timeline.view import TimelineView


_STANDARD_OUTPUT: Final = "-"


@click.command("timeline")
@node_argument()
@click.option(
    "--since",
    default="24h",
    show_default=True,
    callback=parse_timeout,
    metavar="DURATION",
    help="How far back.",
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
def command(
    cluster: ClusterOptions, form: Form, node: str, since: float, svg: TextIO | None, *, utc: bool
) -> int:
    """Tell what happened to a node, when, and on which evidence. It changes nothing.

    From events, conditions, the status of remediations, the history of checks and the kubelet's Lease. Each
    line names its sources, and has the time that they wrote, by their own clocks. Kubernetes forgets events,
    by default after an hour; what objects tell of themselves lasts longer.

    Exits with 1 when something cannot be read.

    \b
    Examples:
      kubectl mend timeline edge-07
      kubectl mend timeline edge-07 --since 2h --svg edge-07.svg
    """

    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.terminal_shell import show, width, write_note
    from nodemend.cli.timeline.facts import gather
    from nodemend.cli.timeline.picture import draw
    from nodemend.cli.timeline.telling import timeline_view
    from nodemend.cli.timeline.text import render

    async def act(connected: Cluster) -> TimelineView:
        facts = await gather(connected, node.removeprefix("node/"))
        return timeline_view(facts, timedelta(seconds=since))

    view, zone = with_cluster(cluster, act), UTC if utc else None
    if svg is not None:
        svg.write(draw(view, zone))
        if svg.name == _STANDARD_OUTPUT:
            return _code(view)
        write_note(f"drawn: {svg.name}")
    show(view, form, lambda told: render(told, width(), zone))
    return _code(view)


def _code(view: TimelineView) -> ExitCode:
    return ExitCode.WRONG if view.unread else ExitCode.FINE
