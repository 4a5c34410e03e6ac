"""`kubectl mend simulate`."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING

import click

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option, utc_option
from nodemend.cli.simulate.options import Inputs, simulate_options

if TYPE_CHECKING:
    from nodemend.cli.simulate.diff import Side
    from nodemend.cli.simulate.plan import Plan
    from nodemend.cli.simulate.snapshot import Snapshot


IN_FORCE = "what is in force"


@click.command("simulate")
@simulate_options
@utc_option
@output_option
@cluster_options
def command(cluster: ClusterOptions, form: Form, inputs: Inputs, plan: Plan, *, utc: bool) -> None:
    """Say what would be remediated and what held, if nodes failed. It changes nothing.

    The answer comes from the code that decides, run in virtual time on the cluster as it is now, or as a file
    says it was.

    WHICH is a node's name (edge-07), a pattern of names (edge-*) or labels (zone=a, or in full). HOWMANY is a
    count or a share, spread evenly over the names. WHEN is a time after the beginning (2m), or two for one
    node after the other (2m..10m).

    \b
    Examples:
      kubectl mend simulate --fail edge-07@0s --act
      kubectl mend simulate --fail zone=a:60%@2m --heal zone=a@20m --for 2h
      kubectl get nodes,nodehealthchecks,remediationpolicies -o json > now.json
      kubectl mend simulate --snapshot now.json --fail edge-07@0s
      kubectl mend simulate --fail '*:30%@2m..10m' --diff stricter.yaml
    """
    from nodemend.cli.simulate.diff import compare
    from nodemend.cli.simulate.diff_text import render_diff
    from nodemend.cli.simulate.text import render
    from nodemend.cli.terminal_shell import show

    _refuse_odd(inputs, plan)
    start = _snapshot(cluster, inputs.snapshot)
    first = _side(start, inputs.policy, plan, inputs)
    if inputs.diff is None:
        zone: tzinfo | None = UTC if utc else None
        show(first.view, form, partial(render, zone=zone))
    else:
        show(compare(first, _side(start, inputs.diff, plan, inputs)), form, render_diff)


def _refuse_odd(inputs: Inputs, plan: Plan) -> None:
    from nodemend.cli.words import spell_seconds

    if [inputs.snapshot, inputs.policy, inputs.diff].count("-") > 1:
        raise click.UsageError("Only one file can come from standard input.")
    for invention in (*plan.fails, *plan.heals):
        if invention.when.ends > plan.lasts:
            late, lasts = spell_seconds(invention.when.ends), spell_seconds(plan.lasts)
            raise click.UsageError(
                f"{invention.choice.written} is at {late}, and it ends after {lasts}: see --for."
            )


def _snapshot(cluster: ClusterOptions, file: str | None) -> Snapshot:
    from nodemend.cli.simulate.documents import DocumentsError
    from nodemend.cli.simulate.snapshot_file import read_snapshot

    if file is not None:
        try:
            return read_snapshot(_read(file), _name(file), datetime.now(UTC))
        except DocumentsError as error:
            raise CommandFailure(ExitCode.USAGE, f"{_name(file)} {error}.") from error
    # A file needs none of what talks to a cluster, and that is half of a start.
    from nodemend.cli.cluster_shell import with_cluster
    from nodemend.cli.simulate.snapshot_cluster import take_snapshot

    return with_cluster(cluster, take_snapshot)


def _side(start: Snapshot, file: str | None, plan: Plan, inputs: Inputs) -> Side:
    """One simulation, under the rules of the snapshot or of a file."""
    from nodemend.cli.simulate.diff import Side
    from nodemend.cli.simulate.documents import DocumentsError
    from nodemend.cli.simulate.engine import simulate
    from nodemend.cli.simulate.picking import NobodyError
    from nodemend.cli.simulate.telling import tell
    from nodemend.cli.simulate.trial import as_if_acting, refuse_bad_limits, with_file

    name = _name(file) if file is not None else IN_FORCE
    try:
        snapshot = with_file(start, _read(file)) if file is not None else start
        refuse_bad_limits(snapshot)
    except DocumentsError as error:
        raise CommandFailure(ExitCode.USAGE, f"{name} {error}.") from error
    snapshot = as_if_acting(snapshot) if inputs.act else snapshot
    if not snapshot.checks:
        raise CommandFailure(
            ExitCode.WRONG,
            f"{start.source} has no NodeHealthCheck, so nothing is watched.",
            "try one with --policy FILE.",
        )
    try:
        story = simulate(snapshot, plan)
    except NobodyError as error:
        raise CommandFailure(ExitCode.USAGE, f"{error}.") from error
    return Side(name, story, tell(snapshot, plan, story))


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _read(file: str) -> bytes:
    try:
        with click.open_file(file, "rb") as content:
            return bytes(content.read())
    except OSError as error:
        raise CommandFailure(ExitCode.USAGE, f"{_name(file)} cannot be read: {error}.") from error
