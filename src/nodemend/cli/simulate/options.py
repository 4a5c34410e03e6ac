"""The flags of `kubectl mend simulate`."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from typing import Any, Final, TypeVar

import click

from nodemend.api.quantities import parse_duration

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The names of the files; None for one that was not named, - for standard input."""

    snapshot: str | None
    policy: str | None
    diff: str | None
    act: bool


def _parsed(parse: Callable[[str], T]) -> Callable[..., T | tuple[T, ...]]:
    """One value, or each of several."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, said: str | tuple[str, ...]
    ) -> T | tuple[T, ...]:
        try:
            return parse(said) if isinstance(said, str) else tuple(parse(one) for one in said)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return callback


def _by_invention(parser: str) -> Callable[[str], object]:
    """By the function of this name. Its module is loaded once there is something to parse."""

    def parse(written: str) -> object:
        return getattr(importlib.import_module("nodemend.cli.simulate.invention"), parser)(written)

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
        callback=_parsed(_by_invention("parse_invention")),
        help="Let nodes fail: edge-07@2m, edge-*:3@2m..10m, zone=a:40%@5m.",
    ),
    click.option(
        "--heal",
        "heals",
        multiple=True,
        metavar="WHICH[:HOWMANY]@WHEN",
        callback=_parsed(_by_invention("parse_invention")),
        help="Let failing nodes heal without a remediation, written likewise.",
    ),
    click.option(
        "--for",
        "lasts",
        default="1h",
        show_default=True,
        metavar="DURATION",
        callback=_parsed(_seconds),
        help="How long to simulate.",
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
        help="How long a remediation takes; then the node is back.",
    ),
    click.option(
        "--stays-sick",
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
    click.option("--act", is_flag=True, help="As if the mode were Act, and nothing paused or on dry run."),
)


def simulate_options(function: F) -> Callable[..., Any]:
    """Adds the flags; the command gets them as `inputs` and `plan`."""

    @wraps(function)
    def call(**said: Any) -> object:
        from nodemend.cli.simulate.plan import Plan  # noqa: PLC0415 - declaring a command loads nothing

        inputs = Inputs(**{name: said.pop(name) for name in ("snapshot", "policy", "diff", "act")})
        names = ("fails", "heals", "stays_sick", "symptom", "lasts", "remediation_takes")
        plan = Plan(**{name: said.pop(name) for name in names})
        return function(inputs=inputs, plan=plan, **said)

    return reduce(lambda made, option: option(made), reversed(_OPTIONS), call)
