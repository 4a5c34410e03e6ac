"""Settings of an agent at its start."""

import re

import pytest

from nodemend.settings.agent import (
    SETTINGS,
    AgentSettings,
    read_agent_settings,
    run_with_settings,
)
from nodemend.settings.setting import EXIT_WRONG_USAGE, Address, SettingsError
from nodemend.telemetry.logging import LogForm, LogLevel

SAID = {"NODEMEND_NODE_NAME": "n1", "NODEMEND_PEER_HOST": "fd00::1"}


def test_a_node_and_its_address_are_all_that_must_be_said() -> None:
    assert read_agent_settings({}, SAID) == AgentSettings(
        node_name="n1",
        peer_host="fd00::1",
        peer_port=9771,
        host_folder="/run/nodemend",
        state_folder="/run/nodemend/agent",
        certificates="/run/nodemend/agent/tls",
        trust="/etc/nodemend/trust/ca.crt",
        account="/var/run/secrets/kubernetes.io/serviceaccount",
        boot_id="/proc/sys/kernel/random/boot_id",
        ride_through=0.0,
        probe_address="127.0.0.1",
        probe_port=9772,
        log_level=LogLevel.INFO,
        log_form=LogForm.AUTO,
    )


def test_a_host_and_a_port_are_one_address() -> None:
    settings = read_agent_settings({}, SAID)

    assert settings.peers == Address("fd00::1", 9771)
    assert settings.probes == Address("127.0.0.1", 9772)


@pytest.mark.parametrize(
    ("flags", "environment", "says"),
    [
        ({}, {"NODEMEND_PEER_HOST": "h"}, "node-name is '': it must be one printable word"),
        ({}, {"NODEMEND_NODE_NAME": "n"}, "peer-host is '': it must be one printable word"),
        ({"state_folder": "run"}, SAID, "must be a path that begins with /"),
        ({"peer_port": "9772"}, SAID, "both 9772: they must differ"),
        ({}, SAID | {"NODEMEND_STATE_FOLDR": "/x"}, "Did you mean NODEMEND_STATE_FOLDER?"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    flags: dict[str, str | None], environment: dict[str, str], says: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        read_agent_settings(flags, environment)


def test_every_setting_is_a_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run_with_settings("nodemend-agent", "Runs.", lambda _: 0, ["--help"])

    reported = capsys.readouterr().out
    assert not [setting.flag for setting in SETTINGS if setting.flag not in reported]


def test_settings_reach_the_program_and_a_wrong_one_stops_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--node-name=n", "--peer-host", "10.0.0.1"]

    assert run_with_settings("nodemend-agent", "Runs.", lambda reported: len(reported.node_name), words) == 1
    wrong = run_with_settings("nodemend-agent", "Runs.", lambda _: 0, [*words, "--peer-port=x"])
    assert wrong == EXIT_WRONG_USAGE
    assert "--peer-port is 'x'" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["-1", "3601", "nan", "inf", "a while"])
def test_a_ride_through_has_a_bound(wrong: str) -> None:
    with pytest.raises(SettingsError, match="RIDE_THROUGH"):
        read_agent_settings({}, SAID | {"NODEMEND_RIDE_THROUGH": wrong})


def test_a_ride_through_is_in_seconds() -> None:
    assert read_agent_settings({}, SAID | {"NODEMEND_RIDE_THROUGH": "60"}).ride_through == 60.0
