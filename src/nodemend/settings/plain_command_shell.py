"""The command line of the agent: every setting as a flag. By argparse, for click costs two megabytes."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Final

from nodemend import __version__
from nodemend.settings.agent_settings import SETTINGS, AgentSettings, read_agent_settings
from nodemend.settings.setting import SettingsError

EXIT_WRONG_USAGE: Final = 2


def run_with_settings(
    program: str, summary: str, run: Callable[[AgentSettings], int], words: list[str] | None = None
) -> int:
    """`run` gets the settings and returns the exit code. Ends the process where help was asked for."""
    parser = argparse.ArgumentParser(prog=program, description=summary, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{program}, version {__version__}")
    for setting in SETTINGS:
        told = f"{setting.help} [{setting.variable}]".replace("%", "%%")
        parser.add_argument(setting.flag, metavar=setting.default or "TEXT", help=told)
    flags: dict[str, str | None] = vars(parser.parse_args(words))
    try:
        settings = read_agent_settings(flags, os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return EXIT_WRONG_USAGE
    return run(settings)
