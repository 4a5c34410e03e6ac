"""Flags that several commands share."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, Final, TypeVar

import click

from nodemend.api import keys
from nodemend.api.quantities import parse_duration

VIEW_VERSION: Final = "cli.nodemend.io/v1alpha1"
"""Of what commands write as JSON or YAML: a field that is renamed or goes makes it another."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster, and how long to wait for it in all (seconds)."""

    kubeconfig: str
    context: str
    system_namespace: str
    timeout: float


class Form(StrEnum):
    """What comes out."""

    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def parse_timeout(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if seconds <= 0:
        raise click.BadParameter("it must be longer than 0s")
    return seconds


def cluster_options(function: F) -> Callable[..., Any]:
    """Adds the flags that say which cluster; the command gets them as `cluster`."""

    @click.option(
        "--kubeconfig", default="", metavar="FILE", help="The kubeconfig file. By default $KUBECONFIG."
    )
    @click.option("--context", default="", metavar="NAME", help="The context, if not the current one.")
    @click.option(
        "--system-namespace",
        default=keys.SYSTEM_NAMESPACE,
        show_default=True,
        metavar="NAME",
        help="Where Nodemend is installed.",
    )
    @click.option(
        "--timeout",
        default="1m",
        show_default=True,
        callback=parse_timeout,
        metavar="DURATION",
        help="How long the cluster may take in all.",
    )
    @wraps(function)
    def call(
        kubeconfig: str, context: str, system_namespace: str, timeout: float, **others: object
    ) -> object:
        return function(cluster=ClusterOptions(kubeconfig, context, system_namespace, timeout), **others)

    return call


def output_option(function: F) -> F:
    return _output_option((Form.TEXT, Form.JSON, Form.YAML))(function)


def wide_output_option(function: F) -> F:
    """For a command whose text has a longer form."""
    return _output_option(tuple(Form))(function)


def _output_option(forms: tuple[Form, ...]) -> Callable[[F], F]:
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice([form.value for form in forms]),
        default=Form.TEXT.value,
        callback=lambda _context, _parameter, text: Form(text),
        show_default=True,
        help="The form of the output.",
    )


def utc_option(function: F) -> F:
    return click.option("--utc", is_flag=True, help="Show times in UTC, not in local time.")(function)


def dry_run_option(function: F) -> F:
    return click.option(
        "--dry-run", is_flag=True, help="Let the API server check everything and write nothing."
    )(function)
