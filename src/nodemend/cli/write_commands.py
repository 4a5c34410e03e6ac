"""The commands that write: declared here, and implemented by modules that they import when called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from nodemend.api import well_known
from nodemend.api.quantities import parse_duration
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    dry_run_option,
    namespace_option,
    node_argument,
    output_option,
    utc_option,
    wait_option,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.drill import DrilledView
    from nodemend.cli.listing import AnyRemediation
    from nodemend.cli.pause import PausedView
    from nodemend.cli.stop import StopView
    from nodemend.cli.wind_down.view import WindDownView

F = TypeVar("F", bound=Callable[..., Any])


@click.command("confirm")
@node_argument()
@click.option("--reason", metavar="TEXT", help="The proof that it is down. Recorded with your name.")
@click.option("--withdraw", "withdrawn", is_flag=True, help="Withdraw the confirmation, before the release.")
@click.option("--i-typed", metavar="NODE", help="The node's name once more, for use without a terminal.")
@namespace_option("The namespace of the remediation, if there are several.")
@dry_run_option
@utc_option
@output_option
@cluster_options
def confirm_command(  # noqa: PLR0913 - click passes one parameter per flag
    cluster: ClusterOptions,
    form: Form,
    node: str,
    reason: str | None,
    namespace: str,
    i_typed: str | None,
    *,
    withdrawn: bool,
    dry_run: bool,
    utc: bool,
) -> None:
    """Confirm that a node is down, so that its pods and volumes are released and start elsewhere.

    It shows the kubelet's last Lease renewal and the workloads that will be released, and asks for the node's
    name. The confirmation is recorded under your user name. Confirm only if the machine is down: you powered
    it off or reset it, or you saw it without power. If it still runs, its data may be destroyed.

    \b
    Examples:
      kubectl mend confirm edge-07 --reason "unplugged it, I am next to it"
      kubectl mend confirm edge-07 --withdraw
    """
    from nodemend.cli.confirm import ConfirmedView, confirm, prepare, render_confirmed, render_preview
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.terminal import ask_for_name, show, write_lines

    node = node.removeprefix("node/")
    if withdrawn:
        if reason is not None or i_typed is not None:
            raise click.UsageError(
                "--withdraw removes the confirmation; it allows neither --reason nor --i-typed."
            )
        _withdraw(cluster, form, node, namespace, dry_run=dry_run)
        return
    if not reason or not reason.strip():
        raise click.UsageError("Say with --reason how you know that the node is down.")

    shown = with_cluster(cluster, lambda connected: prepare(connected, node, namespace, reason.strip()))
    if form is Form.TEXT:
        write_lines([*render_preview(shown, UTC if utc else None), ""])
    if not dry_run:
        ask_for_name(node, i_typed, to="confirm that it is down", undone="Nothing was written.")
    with_cluster(cluster, lambda connected: confirm(connected, shown, dry_run=dry_run))
    show(ConfirmedView(confirmation=shown, dry_run=dry_run), form, render_confirmed)


def _withdraw(cluster: ClusterOptions, form: Form, node: str, namespace: str, *, dry_run: bool) -> None:
    from nodemend.cli.confirm import render_withdrawn, withdraw
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.terminal import show

    view = with_cluster(cluster, lambda connected: withdraw(connected, node, namespace, dry_run=dry_run))
    show(view, form, render_withdrawn)


@click.command("drill")
@node_argument()
@click.option("--yes-reset", metavar="NODE", help="The node's name once more, for use without a terminal.")
@click.option(
    "--with-workloads", is_flag=True, help="Reset it although it is not drained: its pods end with it."
)
@wait_option("Time limit for the node to be back in service.")
@output_option
@cluster_options
def drill_command(
    cluster: ClusterOptions,
    form: Form,
    node: str,
    yes_reset: str | None,
    wait: float,
    *,
    with_workloads: bool,
) -> int:
    """Reset one node by its watchdog, now, and time it. THE NODE GOES DOWN.

    A release by time relies on the time that a watchdog needs to reset the node. The drill measures it: as in
    a remediation, the node gets a marker and stops feeding its watchdog, and it writes to its disk until the
    reset. When the node is back, the measured time is compared with W, the time that the remediator
    assumes. Drain the node first.

    The drill is refused while a remediation is open in the cluster; while Nodemend is paused or in mode
    DryRun; if the RemediationPolicy does not exist or cannot be read; and for a node that is not Ready, or
    whose agent does not report or would not reset it. It needs the ClusterRole nodemend-driller.

    Exits with 0 only if the drill measured the watchdog and it was not slower than W.

    \b
    Examples:
      kubectl mend drill edge-07
      kubectl mend drill edge-07 --yes-reset edge-07 -o json
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.drill import DrillRun, Outcome, prepare, render_drilled, render_preview
    from nodemend.cli.terminal import ask_for_name, show, width, write_lines, write_note

    node = node.removeprefix("node/")

    shown = with_cluster(cluster, lambda connected: prepare(connected, node, with_workloads=with_workloads))
    if form is Form.TEXT:
        write_lines([*render_preview(shown, width()), ""])
    ask_for_name(node, yes_reset, to="reset it", undone="Nothing was reset.")

    async def act(connected: Cluster) -> DrilledView:
        return await DrillRun(connected, shown, write_note).run(wait, with_workloads=with_workloads)

    drilled = with_cluster(replace(cluster, timeout=wait + cluster.timeout), act)
    show(drilled, form, lambda view: render_drilled(view, width()))
    return ExitCode.FINE if drilled.outcome is Outcome.WITHIN else ExitCode.WRONG


@click.command("pause")
@click.option("--reason", required=True, metavar="TEXT", help="The reason, shown while the pause lasts.")
@click.option(
    "--for",
    "duration",
    metavar="DURATION",
    help="The pause ends after this time, such as 2h; without it, a user must resume.",
)
@click.option(
    "--check", default="", metavar="NAME", help="Pause this NodeHealthCheck alone, not the whole cluster."
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace an earlier pause; else the later end applies, with both reasons.",
)
@dry_run_option
@output_option
@cluster_options
def pause_command(  # noqa: PLR0913 - click passes one parameter per flag
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

    In a paused cluster, open remediations continue to their next safe point and wait there. A paused check
    starts no remediation; its open remediations continue. The cluster and each check have only one pause: a
    second one shows the first, is merged with it, keeps both reasons and ends at the later end.

    \b
    Examples:
      kubectl mend pause --for 2h --reason "core switch swap, CHG-4411"
      kubectl mend pause --check workers --for 1h --reason "new kernel"
    """
    from nodemend.api.meta import Pause, print_time
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.listing import open_remediations
    from nodemend.cli.pause import paused_view, render_paused, set_pause
    from nodemend.cli.terminal import show

    check = check.removeprefix("nhc/")
    if not reason.strip():
        raise click.UsageError("Say with --reason why it is paused.")
    lasts = _duration(duration) if duration is not None else None

    async def act(connected: Cluster) -> PausedView:
        by = await connected.caller()
        until = print_time(connected.now + lasts) if lasts is not None else None
        pause = Pause(reason=reason.strip(), by=by, until=until)
        change = await set_pause(connected, pause, check=check, replace=replace, dry_run=dry_run)
        going_on = [one for one in await open_remediations(connected) if not check or _is_of(check, one)]
        return paused_view(change.after or pause, change, going_on, check=check, dry_run=dry_run)

    show(with_cluster(cluster, act), form, render_paused)


def _is_of(check: str, remediation: AnyRemediation) -> bool:
    return remediation.metadata.labels.get(well_known.CHECK) == check


def _duration(written: str) -> timedelta:
    try:
        lasts = parse_duration(written)
    except ValueError as error:
        raise click.UsageError(f"--for: {error}.") from error
    if not lasts:
        raise click.UsageError("--for: a pause must last longer than 0s.")
    return lasts


@click.command("resume")
@click.option("--check", default="", metavar="NAME", help="End the pause of this NodeHealthCheck.")
@dry_run_option
@output_option
@cluster_options
def resume_command(cluster: ClusterOptions, form: Form, check: str, *, dry_run: bool) -> None:
    """End a pause. Remediations begin and go on again, as far as the mode allows.

    \b
    Examples:
      kubectl mend resume
      kubectl mend resume --check workers
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.pause import clear_pause, render_resumed, resumed_view
    from nodemend.cli.terminal import show

    check = check.removeprefix("nhc/")

    change = with_cluster(cluster, lambda connected: clear_pause(connected, check=check, dry_run=dry_run))
    show(resumed_view(change, check=check, dry_run=dry_run), form, render_resumed)


def _order_options(function: F) -> Callable[..., Any]:
    """Add the flags of run and override."""

    @node_argument()
    @click.option("--reason", metavar="TEXT", help="The reason. Recorded with your name on the remediation.")
    @click.option(
        "--withdraw", "withdrawn", is_flag=True, help="Withdraw the order, before its remediation begins."
    )
    @click.option("--yes", is_flag=True, help="Do not ask.")
    @dry_run_option
    @output_option
    @cluster_options
    @wraps(function)
    def call(**flags: Any) -> object:
        return function(**flags)

    return call


@click.command("run")
@_order_options
def run_command(**flags: Any) -> None:
    """Order the remediation of one node now, without waiting until it has been unhealthy for long enough.

    The guard applies as to any remediation: while it refuses, the order is held, for at most 15 minutes. A
    node that is Ready and meets no threshold of its check is refused: its remediation would end at once.

    \b
    Examples:
      kubectl mend run edge-07 --reason "its disk is failing, CHG-4411"
      kubectl mend run edge-07 --withdraw
    """
    from nodemend.cli.run import fulfil

    fulfil(past_guard=False, **flags)


@click.command("override")
@_order_options
def override_command(**flags: Any) -> None:
    """Order the remediation of one node now, past the limits of the storm guard.

    It overrides the limits on how many nodes are unhealthy or under remediation, and how fast remediations
    start. It overrides neither DryRun, a pause, an exclusion or maintenance, nor a stale view of the cluster,
    the quorum of the control plane, or another open remediation. A healthy node is refused, as with run. The
    user, the reason and the limits are recorded. It needs the ClusterRole nodemend-overrider.

    \b
    Examples:
      kubectl mend override edge-07 --reason "rack 7 is back, this one is dead"
      kubectl mend override edge-07 --withdraw
    """
    from nodemend.cli.run import fulfil

    fulfil(past_guard=True, **flags)


_DEFAULT_REASON: Final = "kubectl mend stop --all"


@click.command("stop")
@node_argument(required=False)
@click.option("--all", "everything", is_flag=True, help="Pause the cluster, and end every open remediation.")
@click.option(
    "--reason", default=_DEFAULT_REASON, metavar="TEXT", help="The reason of the pause that --all sets."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@namespace_option("The namespace of the remediation.")
@dry_run_option
@output_option
@cluster_options
def stop_command(  # noqa: PLR0913 - click passes one parameter per flag
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

    --all is the emergency stop: it pauses the cluster, and then deletes every open remediation.

    \b
    Examples:
      kubectl mend stop edge-07
      kubectl mend stop --all --yes
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.stop import render, stop, stop_view
    from nodemend.cli.terminal import ask, show

    if everything == (node is not None):
        raise click.UsageError("Name a node, or say --all.")
    name = (node or "").removeprefix("node/")
    if not yes and not dry_run:
        found = with_cluster(cluster, lambda connected: _choose(connected, name, namespace))
        ask(f"{'Pause the whole cluster and stop' if everything else 'Stop'} {_spell(found)}?")

    async def act(connected: Cluster) -> StopView:
        # Pause first: otherwise the checker would immediately request the deleted remediations again.
        paused_for = await _pause(connected, reason, dry_run=dry_run) if everything else ""
        chosen = await _choose(connected, name, namespace)
        ended = [await stop(connected, found, dry_run=dry_run) for found in chosen]
        return stop_view(ended, paused=everything, pause_reason=paused_for, dry_run=dry_run)

    view = with_cluster(cluster, act)
    show(view, form, render)
    return ExitCode.WRONG if view.failed else ExitCode.FINE


async def _pause(cluster: Cluster, reason: str, *, dry_run: bool) -> str:
    """Pause the cluster and return the reason.

    An existing pause is merged; one without an end is left unchanged.
    """
    from nodemend.api.meta import Pause
    from nodemend.cli.pause import set_pause

    pause = Pause(reason=reason, by=await cluster.caller())
    change = await set_pause(cluster, pause, keep=True, dry_run=dry_run)
    return change.after.reason if change.after else reason


async def _choose(cluster: Cluster, node: str, namespace: str) -> list[AnyRemediation]:
    from nodemend.cli.listing import find_open, open_remediations

    if node:
        return [await find_open(cluster, node, namespace)]
    return await open_remediations(cluster, namespace)


def _spell(remediations: Iterable[AnyRemediation]) -> str:
    """Return the number of remediations and the names of their nodes."""
    from nodemend.cli.listing import node_of
    from nodemend.cli.text import spell_names
    from nodemend.safety.holds import spell_count

    nodes = [node_of(found) for found in remediations]
    return spell_count(len(nodes), "remediation") + (f" ({spell_names(nodes)})" if nodes else "")


@click.command("wind-down")
@wait_option("Time limit for remediations to reach their safe end.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@output_option
@cluster_options
def wind_down_command(cluster: ClusterOptions, form: Form, wait: float, *, yes: bool) -> int:
    """Bring everything under way to its safe end, before Nodemend is uninstalled.

    It pauses the cluster, deletes every remediation, and waits until their hosts are on again and everything
    that they added is removed. Then it searches for other leftovers of Nodemend. It exits with 0 only if no
    node or host has any; otherwise it prints each one, its cause and the next step. The remediator must run
    meanwhile.

    `helm uninstall` runs it automatically. It can be interrupted and run again at any time.

    \b
    Examples:
      kubectl mend wind-down
      kubectl mend wind-down --wait 1h --yes
    """
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.listing import node_of
    from nodemend.cli.terminal import ask, show, write_note
    from nodemend.cli.wind_down.leftovers import read_open
    from nodemend.cli.wind_down.view import render, render_broken_off, wind_down_view
    from nodemend.cli.wind_down.waiting import WindDown, WindDownProgress

    if not yes:
        found = sorted(with_cluster(cluster, read_open).remediations, key=node_of)
        ask(f"Pause the whole cluster and end {_spell(found)}, for Nodemend to be uninstalled?")
    course = WindDownProgress()

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
