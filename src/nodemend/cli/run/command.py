"""`kubectl mend run`."""

from __future__ import annotations

import click

from nodemend.cli.options import (
    ClusterOptions,
    Form,
    cluster_options,
    dry_run_option,
    node_argument,
    output_option,
)


@click.command("run")
@node_argument()
@click.option("--reason", metavar="TEXT", help="Why. Kept with your name on the remediation.")
@click.option("--withdraw", "withdrawn", is_flag=True, help="Take the order back, before anything has begun.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@dry_run_option
@output_option
@cluster_options
def command(  # noqa: PLR0913 - one parameter a flag, as click has it
    cluster: ClusterOptions,
    form: Form,
    node: str,
    reason: str | None,
    *,
    withdrawn: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Order the remediation of one node now, without waiting until it has been unhealthy for long enough.

    The guard is asked as for any other: while it says no, the order is held, for at most 15 minutes. A node
    that is Ready and with which its check finds nothing wrong is refused: its remediation would end at once.

    \b
    Examples:
      kubectl mend run edge-07 --reason "its disk is failing, CHG-4411"
      kubectl mend run edge-07 --withdraw
    """
    from nodemend.cli.run.ordering import Wish, fulfil

    fulfil(
        cluster,
        form,
        Wish(
            node.removeprefix("node/"),
            reason,
            past_guard=False,
            withdrawn=withdrawn,
            yes=yes,
            dry_run=dry_run,
        ),
    )
