"""`kubectl mend override`."""

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


@click.command("override")
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
    """Order the remediation of one node now, past the limits of the storm guard.

    It passes what the guard counts: how many are unhealthy or under remediation, and how fast. It passes
    neither DryRun, a pause, an exclusion or maintenance, nor a view that is too old, the quorum of the
    control plane, or another remediation at work; a node that is well is refused, as with run. Who let it,
    past what, and why is recorded. It needs the ClusterRole nodemend-overrider.

    \b
    Examples:
      kubectl mend override edge-07 --reason "rack 7 is back, this one is dead"
      kubectl mend override edge-07 --withdraw
    """
    from nodemend.cli.run.ordering import Wish, fulfil

    fulfil(
        cluster,
        form,
        Wish(
            node.removeprefix("node/"), reason, past_guard=True, withdrawn=withdrawn, yes=yes, dry_run=dry_run
        ),
    )
