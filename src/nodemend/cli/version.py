"""`kubectl mend version`. It asks no cluster."""

import platform

import click

from nodemend import __version__


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
            click.echo(f'{{"version": "{__version__}", "python": "{python}"}}')
        case "yaml":
            click.echo(f"version: {__version__}\npython: {python}")
        case _:
            click.echo(f"kubectl mend {__version__} (Python {python})")
