"""`kubectl mend version`. It asks no cluster."""

import platform

import click

from nodemend import __version__
from nodemend.cli.options import VIEW_VERSION


@click.command("version")
@click.option("-o", "--output", type=click.Choice(["text", "json", "yaml"]), default="text", help="The form.")
def command(output: str) -> None:
    """Print the version of this program. It asks no cluster.

    \b
    Example:
      kubectl mend version
    """
    python = platform.python_version()
    match output:
        case "json":
            head = f'"apiVersion": "{VIEW_VERSION}", "kind": "Version"'
            click.echo(f'{{{head}, "version": "{__version__}", "python": "{python}"}}')
        case "yaml":
            head = f"apiVersion: {VIEW_VERSION}\nkind: Version"
            click.echo(f"{head}\nversion: {__version__}\npython: {python}")
        case _:
            click.echo(f"kubectl mend {__version__} (Python {python})")
