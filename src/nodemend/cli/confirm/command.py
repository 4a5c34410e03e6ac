"""`kubectl mend confirm`."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

import click

from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    dry_run_option,
    node_argument,
    output_option,
    utc_option,
)

if TYPE_CHECKING:
    from nodemend.cli.cluster import Cluster
    from nodemend.cli.confirm.view import ConfirmView, WithdrawnView


@click.command("confirm")
@node_argument()
@click.option("--reason", metavar="TEXT", help="How you know that it is down. Kept with your name.")
@click.option("--withdraw", "withdrawn", is_flag=True, help="Take your word back, before the release begins.")
@click.option("--i-typed", metavar="NODE", help="The node's name once more, for use without a terminal.")
@click.option(
    "-n", "--namespace", default="", metavar="NAME", help="Where the remediation is, if there are several."
)
@dry_run_option
@utc_option
@output_option
@cluster_options
def command(  # noqa: PLR0913 - one parameter a flag, as click has it
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
    """Vouch that a node is down, so that its pods and volumes are released and start elsewhere.

    It shows the node's last sign of life and what will be released, and asks for the node's name. Your word
    is recorded under your own name. Vouch only for a machine that you have seen without power, or reset: if
    it still runs, its data may be destroyed.

    \b
    Examples:
      kubectl mend confirm edge-07 --reason "unplugged it, I stand beside it"
      kubectl mend confirm edge-07 --withdraw
    """
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.confirm.text import render_confirmed, render_preview, render_withdrawn
    from nodemend.cli.confirm.view import ConfirmedView
    from nodemend.cli.confirm.writing import confirm, prepare
    from nodemend.cli.terminal_shell import show, write_lines
    from nodemend.cli.typed_name import ask_for_name

    node = node.removeprefix("node/")
    if withdrawn:
        _refuse_both(reason, i_typed)
        show(_withdraw(cluster, node, namespace, dry_run=dry_run), form, render_withdrawn)
        return
    if not reason or not reason.strip():
        raise click.UsageError("Say with --reason how you know that the node is down.")

    async def look(connected: Cluster) -> ConfirmView:
        return await prepare(connected, node, namespace, reason.strip())

    shown = with_cluster(cluster, look)
    if form is Form.TEXT:
        write_lines([*render_preview(shown, UTC if utc else None), ""])
    if not dry_run:
        ask_for_name(node, i_typed, to="vouch for it", undone="Nothing was written.")
    with_cluster(cluster, lambda connected: confirm(connected, shown, dry_run=dry_run))
    show(ConfirmedView(word=shown, dry_run=dry_run), form, render_confirmed)


def _withdraw(cluster: ClusterOptions, node: str, namespace: str, *, dry_run: bool) -> WithdrawnView:
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.confirm.writing import withdraw

    return with_cluster(cluster, lambda connected: withdraw(connected, node, namespace, dry_run=dry_run))


def _refuse_both(reason: str | None, i_typed: str | None) -> None:
    if reason is not None or i_typed is not None:
        raise click.UsageError("--withdraw takes back a word; it goes without --reason and --i-typed.")
