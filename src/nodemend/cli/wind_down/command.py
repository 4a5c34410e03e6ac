"""`kubectl mend wind-down`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option, parse_timeout

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.wind_down.facts import OpenFacts
    from nodemend.cli.wind_down.view import WindDownView


@click.command("wind-down")
@click.option(
    "--wait",
    default="15m",
    show_default=True,
    callback=parse_timeout,
    metavar="DURATION",
    help="How long remediations may take to reach their safe end.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, wait: float, *, yes: bool) -> int:
    """Bring everything under way to its safe end, before Nodemend is uninstalled.

    It pauses the cluster, tells every remediation to end, and waits until their hosts are on again and all
    that they added is gone. Then it looks for whatever else of ours is left. It exits with 0 only if that is
    nothing on any node or host, and else says what, why, and what to do. The remediator must run meanwhile.

    `helm uninstall` runs it by itself. It may be broken off and run again at any time.

    \b
    Examples:
      kubectl mend wind-down
      kubectl mend wind-down --wait 1h --yes
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.terminal_shell import show, write_note
    from nodemend.cli.wind_down.gather import look_at_open
    from nodemend.cli.wind_down.text import render, render_broken_off
    from nodemend.cli.wind_down.view import wind_down_view
    from nodemend.cli.wind_down.waiting import Course, WindDown

    if not yes:
        _ask(with_cluster(cluster, look_at_open))
    course = Course()

    async def act(connected: Cluster) -> WindDownView:
        left = await WindDown(connected, course, write_note).run(wait)
        return wind_down_view(course.paused_for or "", course.ended, left, connected.system_namespace)

    try:
        view = with_cluster(replace(cluster, timeout=wait + cluster.timeout), act)
    except KeyboardInterrupt:
        write_note(render_broken_off(course.paused_for, course.ending))
        return ExitCode.WRONG
    except CommandFailure:
        write_note(render_broken_off(course.paused_for, course.ending))
        raise
    show(view, form, render)
    return ExitCode.FINE if view.done else ExitCode.WRONG


def _ask(facts: OpenFacts) -> None:
    from nodemend.cli.remediations import node_of
    from nodemend.cli.terminal_shell import ask
    from nodemend.cli.words import spell_names
    from nodemend.decide.explanation import spell_count

    nodes = sorted(node_of(found) for found in facts.remediations)
    what = spell_count(len(nodes), "remediation") + (f" ({spell_names(nodes)})" if nodes else "")
    ask(f"Pause the whole cluster and end {what}, for Nodemend to be uninstalled?")
