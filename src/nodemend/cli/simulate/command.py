"""`kubectl mend simulate` and its flags."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option, utc_option

if TYPE_CHECKING:
    from nodemend.cli.simulate.diff import Side
    from nodemend.cli.simulate.input import Snapshot
    from nodemend.cli.simulate.scenario import Plan

CURRENT_RULES = "the current configuration"
_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True)


def _parsed(parser: str) -> Callable[..., object]:
    """Return a callback that parses one value, or each value of a repeatable flag.

    `parser` names a function of `scenario`, which is imported only if there is something to parse.
    """

    def callback(_context: click.Context, _parameter: click.Parameter, said: str | tuple[str, ...]) -> object:
        parse = getattr(importlib.import_module("nodemend.cli.simulate.scenario"), parser)
        try:
            return parse(said) if isinstance(said, str) else tuple(parse(one) for one in said)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return callback


@click.command("simulate")
@click.option(
    "--snapshot",
    type=_FILE,
    metavar="FILE",
    help="Start from this file instead of the cluster; - for standard input.",
)
@click.option(
    "--fail",
    "fails",
    multiple=True,
    metavar="WHICH[:HOWMANY]@WHEN",
    callback=_parsed("parse_failure_spec"),
    help="Let nodes fail: edge-07@2m, edge-*:3@2m..10m, zone=a:40%@5m.",
)
@click.option(
    "--heal",
    "heals",
    multiple=True,
    metavar="WHICH[:HOWMANY]@WHEN",
    callback=_parsed("parse_failure_spec"),
    help="Let failing nodes heal without a remediation, in the same form.",
)
@click.option(
    "--for",
    "lasts",
    default="1h",
    show_default=True,
    metavar="DURATION",
    callback=_parsed("parse_seconds"),
    help="The time to simulate.",
)
@click.option(
    "--symptom",
    default="Ready=Unknown",
    show_default=True,
    metavar="TYPE=STATUS",
    callback=_parsed("parse_symptom"),
    help="The condition that failing nodes show.",
)
@click.option(
    "--remediation-takes",
    default="10m",
    show_default=True,
    metavar="DURATION",
    callback=_parsed("parse_seconds"),
    help="The duration of a remediation; then the node is back.",
)
@click.option(
    "--stays-unhealthy",
    multiple=True,
    metavar="WHICH[:HOWMANY]",
    callback=_parsed("parse_choice"),
    help="Nodes that no remediation heals, such as edge-07 or zone=a:2.",
)
@click.option(
    "--policy",
    type=_FILE,
    metavar="FILE",
    help="As if this RemediationPolicy, these NodeHealthChecks or both had been applied.",
)
@click.option(
    "--diff",
    type=_FILE,
    metavar="FILE",
    help="Compare with this one: what one would remediate, and the other hold.",
)
@click.option("--act", is_flag=True, help="As if the mode were Act, and nothing were paused or in dry run.")
@utc_option
@output_option
@cluster_options
def simulate_command(  # noqa: PLR0913 - click passes one parameter per flag
    cluster: ClusterOptions,
    form: Form,
    snapshot: str | None,
    policy: str | None,
    diff: str | None,
    *,
    act: bool,
    utc: bool,
    **planned: Any,
) -> None:
    """Say what would be remediated and what held, if nodes failed. It changes nothing.

    The answer comes from the code that decides, run in virtual time on the current state of the cluster or on
    the state in a file.

    A node's name (edge-07), a pattern of names (edge-*) or labels (zone=a, or in full) can be given as WHICH.
    HOWMANY is a count or a share, spread evenly over the names. WHEN is a time after the beginning (2m), or
    two times, between which the nodes fail one after the other (2m..10m).

    \b
    Examples:
      kubectl mend simulate --fail edge-07@0s --act
      kubectl mend simulate --fail zone=a:60%@2m --heal zone=a@20m --for 2h
      kubectl get nodes,nodehealthchecks,remediationpolicies -o json > now.json
      kubectl mend simulate --snapshot now.json --fail edge-07@0s
      kubectl mend simulate --fail '*:30%@2m..10m' --diff stricter.yaml
    """
    from nodemend.cli.simulate.diff import compare, render_diff
    from nodemend.cli.simulate.output import render
    from nodemend.cli.simulate.scenario import Plan
    from nodemend.cli.terminal import show

    plan = Plan(**planned)
    if [snapshot, policy, diff].count("-") > 1:
        raise click.UsageError("Only one file can come from standard input.")
    _refuse_late(plan)
    start = _snapshot(cluster, snapshot)
    first = _side(start, policy, plan, act=act)
    if diff is None:
        zone: tzinfo | None = UTC if utc else None
        show(first.view, form, partial(render, zone=zone))
    else:
        show(compare(first, _side(start, diff, plan, act=act)), form, render_diff)


def _refuse_late(plan: Plan) -> None:
    from nodemend.cli.text import spell_seconds

    for invention in (*plan.fails, *plan.heals):
        if invention.when.ends > plan.lasts:
            late, lasts = spell_seconds(invention.when.ends), spell_seconds(plan.lasts)
            raise click.UsageError(
                f"{invention.choice.written} is at {late}, and it ends after {lasts}: see --for."
            )


def _snapshot(cluster: ClusterOptions, file: str | None) -> Snapshot:
    from nodemend.cli.simulate.input import DocumentsError, read_snapshot

    if file is not None:
        try:
            return read_snapshot(_read(file), _name(file), datetime.now(UTC))
        except DocumentsError as error:
            raise CommandFailure(ExitCode.USAGE, f"{_name(file)} {error}.") from error
    # A simulation from a file does not import the modules that access a cluster: they are half of the startup
    # time.
    from nodemend.cli.connection import with_cluster
    from nodemend.cli.simulate.input import take_snapshot

    return with_cluster(cluster, take_snapshot)


def _side(start: Snapshot, file: str | None, plan: Plan, *, act: bool) -> Side:
    """Run one simulation, with the rules of the snapshot or of a file."""
    from nodemend.cli.simulate.diff import Side
    from nodemend.cli.simulate.engine import simulate
    from nodemend.cli.simulate.input import DocumentsError, as_if_acting, refuse_bad_limits, with_file
    from nodemend.cli.simulate.output import build_view
    from nodemend.cli.simulate.scenario import NoNodesError

    name = _name(file) if file is not None else CURRENT_RULES
    try:
        snapshot = with_file(start, _read(file)) if file is not None else start
        refuse_bad_limits(snapshot)
    except DocumentsError as error:
        raise CommandFailure(ExitCode.USAGE, f"{name} {error}.") from error
    snapshot = as_if_acting(snapshot) if act else snapshot
    if not snapshot.checks:
        raise CommandFailure(
            ExitCode.WRONG,
            f"{start.source} has no NodeHealthCheck, so nothing is watched.",
            "try one with --policy FILE.",
        )
    try:
        story = simulate(snapshot, plan)
    except NoNodesError as error:
        raise CommandFailure(ExitCode.USAGE, f"{error}.") from error
    return Side(name, story, build_view(snapshot, plan, story))


def _name(file: str) -> str:
    return "standard input" if file == "-" else file


def _read(file: str) -> bytes:
    try:
        with click.open_file(file, "rb") as content:
            return bytes(content.read())
    except OSError as error:
        raise CommandFailure(ExitCode.USAGE, f"{_name(file)} cannot be read: {error}.") from error
