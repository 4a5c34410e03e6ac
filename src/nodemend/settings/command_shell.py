"""The command line of a controller: every setting as a flag, and a sentence where one is wrong."""

import os
import platform
from collections.abc import Callable
from typing import Final

import click

from nodemend import __version__
from nodemend.settings.controller_settings import SETTINGS, ControllerSettings, read_settings
from nodemend.settings.setting import SettingsError

EXIT_WRONG_USAGE: Final = 2


def controller_command(program: str, summary: str, run: Callable[[ControllerSettings], int]) -> click.Command:
    """The command `program`. `run` gets the settings and returns the exit code."""

    def call(**flags: str | None) -> None:
        try:
            settings = read_settings(flags, os.environ, platform.node())
        except SettingsError as error:
            click.echo(f"{program}: {error}", err=True)
            raise click.exceptions.Exit(EXIT_WRONG_USAGE) from error
        raise click.exceptions.Exit(run(settings))

    options: list[click.Parameter] = [
        click.Option(
            [setting.flag],
            metavar="TEXT" if not setting.default else setting.default,
            help=f"{setting.help} [{setting.variable}]",
        )
        for setting in SETTINGS
    ]
    command = click.Command(
        program,
        params=options,
        callback=call,
        help=summary,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return click.version_option(__version__, prog_name=program)(command)
