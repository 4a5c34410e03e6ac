"""What `kubectl mend run` and `override` do alike: look, show, ask, write."""

from dataclasses import dataclass

import click

from nodemend.cli.cluster import Cluster
from nodemend.cli.cluster_shell import with_cluster
from nodemend.cli.options import ClusterOptions, Form
from nodemend.cli.run.text import render_ordered, render_preview, render_taken_back
from nodemend.cli.run.view import OrderedView, OrderView
from nodemend.cli.run.writing import order, prepare, take_back
from nodemend.cli.terminal_shell import ask, show, write_lines


@dataclass(frozen=True, slots=True)
class Wish:
    """What was typed."""

    node: str
    reason: str | None
    past_guard: bool
    withdrawn: bool
    yes: bool
    dry_run: bool


def fulfil(cluster: ClusterOptions, form: Form, wish: Wish) -> None:
    """Give the order, or take it back."""
    if wish.withdrawn:
        _withdraw(cluster, form, wish)
        return
    reason = (wish.reason or "").strip()
    if not reason:
        raise click.UsageError("Say with --reason why. It is kept with your name on the remediation.")

    async def look(connected: Cluster) -> OrderView:
        return await prepare(connected, wish.node, reason, past_guard=wish.past_guard)

    shown = with_cluster(cluster, look)
    if form is Form.TEXT:
        write_lines([*render_preview(shown), ""])
    if not wish.yes and not wish.dry_run:
        past = " past the guard" if wish.past_guard else ""
        ask(f"Order the remediation of {wish.node}{past}, as {shown.by}?")
    with_cluster(cluster, lambda connected: order(connected, shown, dry_run=wish.dry_run))
    show(OrderedView(order=shown, dry_run=wish.dry_run), form, render_ordered)


def _withdraw(cluster: ClusterOptions, form: Form, wish: Wish) -> None:
    if wish.reason is not None:
        raise click.UsageError("--withdraw takes an order back; it goes without --reason.")
    taken = with_cluster(cluster, lambda connected: take_back(connected, wish.node, dry_run=wish.dry_run))
    show(taken, form, render_taken_back)
