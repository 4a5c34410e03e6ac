"""A controller's command line."""

import pytest
from click.testing import CliRunner

from nodemend import __version__
from nodemend.settings.controller import SETTINGS, ControllerSettings, controller_command


class Run:
    """Remembers what it was started with."""

    def __init__(self) -> None:
        self.settings: list[ControllerSettings] = []

    def __call__(self, settings: ControllerSettings) -> int:
        self.settings.append(settings)
        return 7


def test_it_runs_with_its_settings_and_ends_with_the_code_of_the_run() -> None:
    run = Run()
    command = controller_command("nodemend-checker", "Checks.", run)
    result = CliRunner().invoke(command, ["--probe-port", "0"], env={"NODEMEND_LOG_LEVEL": "debug"})

    assert result.exit_code == 7
    assert (run.settings[0].probes.port, run.settings[0].log_level) == (0, "debug")


@pytest.mark.parametrize("arguments", [["--probe-port", "x"], ["--no-such-flag"]])
def test_wrong_usage_ends_with_2_and_runs_nothing(arguments: list[str]) -> None:
    run = Run()
    result = CliRunner().invoke(controller_command("nodemend-checker", "Checks.", run), arguments)

    assert result.exit_code == 2
    assert not run.settings


def test_an_invalid_setting_is_reported_under_the_program_s_name() -> None:
    command = controller_command("nodemend-checker", "Checks.", Run())
    result = CliRunner().invoke(command, ["--metrics-port", "8081"])

    assert result.stderr == (
        "nodemend-checker: --probe-port and --metrics-port are both 8081: they must differ.\n"
    )


def test_the_help_names_every_flag_and_variable() -> None:
    command = controller_command("nodemend-checker", "Checks.", Run())
    shown = CliRunner().invoke(command, ["-h"], terminal_width=400).stdout

    for setting in SETTINGS:
        assert setting.flag in shown
        assert setting.variable in shown


def test_the_version_is_this_one() -> None:
    command = controller_command("nodemend-checker", "Checks.", Run())

    assert __version__ in CliRunner().invoke(command, ["--version"]).stdout
