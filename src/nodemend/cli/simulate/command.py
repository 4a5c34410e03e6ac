"""`kubectl mend simulate` and its flags."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial, reduce, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from nodemend.api.quantities import parse_duration
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.options import ClusterOptions, Form, cluster_options, output_option, utc_option

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Names of the input files: None if not given, - for standard input."""

    snapshot: str | None
    policy: str | None
    diff: str | None
    act: bool


def _parsed(parse: Callable[[str], T]) -> Callable[..., T | tuple[T, ...]]:
    """Return a callback that parses one value, or each value of a repeatable flag."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, said: str | tuple[str, ...]
    ) -> T | tuple[T, ...]:
        try:
            return parse(said) if isinstance(said, str) else tuple(parse(one) for one in said)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return callback


def _by_invention(parser: str) -> Callable[[str], object]:
    """Return a parser that calls this function of `invention`.

    The module is imported only if there is something to parse.
    """

    def parse(written: str) -> object:
        return getattr(importlib.import_module("nodemend.cli.simulate.scenario"), parser)(written)

    return parse


def _seconds(written: str) -> int:
    seconds = int(parse_duration(written).total_seconds())
    if seconds < 1:
        raise ValueError("it must be longer than 0s")
    return seconds


_FILE: Final = click.Path(exists=True, dir_okay=False, allow_dash=True)
_OPTIONS: Final = (
    click.option(
        "--snapshot",
        type=_FILE,
        metavar="FILE",
        help="Start from this file instead of the cluster; - for standard input.",
    ),
    click.option(
        "--fail",
        "fails",
        multiple=True,
        metavar="WHICH[:HOWMANY]@WHEN",
        callback=_parsed(_by_invention("parse_failure_spec")),
        help="Let nodes fail: edge-07@2m, edge-*:3@2m..10m, zone=a:40%@5m.",
    ),
    click.option(
        "--heal",
        "heals",
        multiple=True,
        metavar="WHICH[:HOWMANY]@WHEN",
        callback=_parsed(_by_invention("parse_failure_spec")),
        help="Let failing nodes heal without a remediation, in the same form.",
    ),
    click.option(
        "--for",
        "lasts",
        default="1h",
        show_default=True,
        metavar="DURATION",
        callback=_parsed(_seconds),
        help="The time to simulate.",
    ),
    click.option(
        "--symptom",
        default="Ready=Unknown",
        show_default=True,
        metavar="TYPE=STATUS",
        callback=_parsed(_by_invention("parse_symptom")),
        help="The condition that failing nodes show.",
    ),
    click.option(
        "--remediation-takes",
        default="10m",
        show_default=True,
        metavar="DURATION",
        callback=_parsed(_seconds),
        help="The duration of a remediation; then the node is back.",
    ),
    click.option(
        "--stays-unhealthy",
        multiple=True,
        metavar="WHICH[:HOWMANY]",
        callback=_parsed(_by_invention("parse_choice")),
        help="Nodes that no remediation heals, such as edge-07 or zone=a:2.",
    ),
    click.option(
        "--policy",
        type=_FILE,
        metavar="FILE",
        help="As if this RemediationPolicy, these NodeHealthChecks or both had been applied.",
    ),
    click.option(
        "--diff",
        type=_FILE,
        metavar="FILE",
        help="Compare with this one: what one would remediate, and the other hold.",
    ),
    click.option(
        "--act", is_flag=True, help="As if the mode were Act, and nothing were paused or in dry run."
    ),
)


def simulate_options(function: F) -> Callable[..., Any]:
    """Add the flags; the command receives them as `inputs` and `plan`."""

    @wraps(function)
    def call(**said: Any) -> object:
        from nodemend.cli.simulate.scenario import Plan

        inputs = Inputs(**{name: said.pop(name) for name in ("snapshot", "policy", "diff", "act")})
        names = ("fails", "heals", "stays_unhealthy", "symptom", "lasts", "remediation_takes")
        plan = Plan(**{name: said.pop(name) for name in names})
        return function(inputs=inputs, plan=plan, **said)

    return reduce(lambda made, option: option(made), reversed(_OPTIONS), call)


if TYPE_CHECKING:
    from nodemend.cli.simulate.diff import Side
    from nodemend.cli.simulate.input import Snapshot
    from nodemend.cli.simulate.scenario import Plan


CURRENT_RULES = "the current configuration"


@click.command("simulate")
@simulate_options
@utc_option
@output_option
@cluster_options
def simulate_command(cluster: ClusterOptions, form: Form, inputs: Inputs, plan: Plan, *, utc: bool) -> None:
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
    from nodemend.cli.terminal import show

    _refuse_odd(inputs, plan)
    start = _snapshot(cluster, inputs.snapshot)
    first = _side(start, inputs.policy, plan, inputs)
    if inputs.diff is None:
        zone: tzinfo | None = UTC if utc else None
        show(first.view, form, partial(render, zone=zone))
    else:
        show(compare(first, _side(start, inputs.diff, plan, inputs)), form, render_diff)


def _refuse_odd(inputs: Inputs, plan: Plan) -> None:
    from nodemend.cli.text import spell_seconds

    if [inputs.snapshot, inputs.policy, inputs.diff].count("-") > 1:
        raise click.UsageError("Only one file can come from standard input.")
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


def _side(start: Snapshot, file: str | None, plan: Plan, inputs: Inputs) -> Side:
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
    snapshot = as_if_acting(snapshot) if inputs.act else snapshot
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
