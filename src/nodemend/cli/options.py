"""Flags that several commands share."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from typing import Any, Final, TypeVar

import click

from nodemend.api import well_known
from nodemend.api.quantities import duration_seconds

VIEW_VERSION: Final = "cli.nodemend.io/v1alpha1"
"""API version of JSON and YAML output. Renaming or removing a field requires a new version."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T", str, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The cluster to use, the total timeout in seconds, and the user and groups to impersonate, if any."""

    kubeconfig: str
    context: str
    system_namespace: str
    timeout: float
    as_user: str = ""
    as_groups: tuple[str, ...] = ()

    @property
    def impersonation(self) -> tuple[tuple[str, str], ...]:
        """Impersonation headers of every request."""
        groups = tuple(("Impersonate-Group", group) for group in self.as_groups)
        return (("Impersonate-User", self.as_user), *groups) if self.as_user else ()


class Form(StrEnum):
    TEXT = "text"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


def parse_timeout(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    try:
        seconds = duration_seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if seconds <= 0:
        raise click.BadParameter("it must be longer than 0s")
    return seconds


def _parse_name(_context: click.Context, _parameter: click.Parameter, name: T) -> T:
    """Check a user name or group names. They become headers, so unprintable characters are refused."""
    if not "".join(name).isprintable():
        raise click.BadParameter("it has characters that cannot be shown")
    return name


def cluster_options(function: F) -> Callable[..., Any]:
    """Add the flags that select the cluster; the command receives them as `cluster`."""

    @click.option(
        "--kubeconfig", default="", metavar="FILE", help="The kubeconfig file. By default $KUBECONFIG."
    )
    @click.option("--context", default="", metavar="NAME", help="The context, if not the current one.")
    @click.option(
        "--system-namespace",
        default=well_known.SYSTEM_NAMESPACE,
        show_default=True,
        metavar="NAME",
        help="The namespace of Nodemend.",
    )
    @click.option(
        "--timeout",
        default="1m",
        show_default=True,
        callback=parse_timeout,
        metavar="DURATION",
        help="Time limit for all requests together.",
    )
    @click.option(
        "--as",
        "as_user",
        default="",
        callback=_parse_name,
        metavar="USER",
        help="Send requests as this user.",
    )
    @click.option(
        "--as-group",
        "as_groups",
        multiple=True,
        callback=_parse_name,
        metavar="GROUP",
        help="With --as: as a member of this group. May be given several times.",
    )
    @wraps(function)
    def call(**others: Any) -> object:
        cluster = ClusterOptions(**{field.name: others.pop(field.name) for field in fields(ClusterOptions)})
        if cluster.as_groups and not cluster.as_user:
            raise click.UsageError("--as-group needs --as.")
        return function(cluster=cluster, **others)

    return call


def wait_option(meaning: str) -> Callable[[F], F]:
    return click.option(
        "--wait",
        default="15m",
        show_default=True,
        callback=parse_timeout,
        metavar="DURATION",
        help=meaning,
    )


def node_argument(name: str = "node", **others: Any) -> Callable[[F], F]:
    """Argument for a node's name, which shells complete from the cluster."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        # Imported here because every command has this argument and completion rarely runs.
        from nodemend.cli.connection import names_beginning_with  # noqa: PLC0415

        return names_beginning_with(context.params, begun)

    return click.argument(name, shell_complete=complete, **others)


def namespace_option(meaning: str) -> Callable[[F], F]:
    return click.option("-n", "--namespace", default="", metavar="NAME", help=meaning)


def _output_option(forms: tuple[Form, ...]) -> Callable[[F], F]:
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice([form.value for form in forms]),
        default=Form.TEXT.value,
        callback=lambda _context, _parameter, text: Form(text),
        show_default=True,
        help="The output format.",
    )


output_option = _output_option((Form.TEXT, Form.JSON, Form.YAML))
wide_output_option = _output_option(tuple(Form))
"""Output flag of a command whose text has a longer form."""
utc_option = click.option("--utc", is_flag=True, help="Show times in UTC, not in local time.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Let the API server check everything and write nothing."
)
