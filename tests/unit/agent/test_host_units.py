"""The systemd units of a host pass only options that the programs accept."""

import re
import shlex
from pathlib import Path

import pytest

from nodemend.agent.api_check.check import parser as check_parser
from nodemend.agent.boot_gate.gate_io import parser as gate_parser
from nodemend.agent.files import GATE, LAST_RESET, STATUS, TESTED
from nodemend.agent.reset_log_io import parser as recorder_parser
from nodemend.agent.watchdog.main import parse_arguments
from nodemend.protocol.watchdog_drivers import SECOND
from nodemend.settings.agent import read_agent_settings

HOST = Path(__file__).resolve().parents[3] / "deploy" / "host"
START = ["/usr/bin/python3", "-I", "-S", "/run/nodemend/host/start.py"]
SAID = {"NODEMEND_NODE": "n1", "NODEMEND_API_SERVER": "https://api:6443", "NODEMEND_DRILL": ""}


def environment() -> dict[str, str]:
    lines = (HOST / "host.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value or SAID[name] for name, _, value in pairs}


def command(unit: str) -> list[str]:
    """The command that systemd would start, without the interpreter."""
    text = (HOST / unit).read_text().replace("\\\n", " ")
    [line] = [line.removeprefix("ExecStart=") for line in text.splitlines() if line.startswith("ExecStart=")]
    known = environment()
    words = [re.sub(r"\$\{(\w+)\}", lambda found: known[found[1]], word) for word in shlex.split(line)]
    assert words[:4] == START
    return words[4:]


def test_the_feeder_gets_every_setting_and_checks_the_api_server_by_itself() -> None:
    program, *words = command("nodemend-feeder.service")
    reported = parse_arguments(words)
    assert program == "feeder"
    assert reported.paths["lease"].startswith("/run/nodemend/")
    assert (reported.wanted_reset, reported.lease_length) == (10 * SECOND, 35 * SECOND)
    assert list(reported.check[:5]) == [*START, "api-check"]
    assert check_parser().parse_args(reported.check[5:]).node == "n1"
    assert reported.drill is None


def test_the_feeder_and_gate_units_use_the_same_paths() -> None:
    feeder = parse_arguments(command("nodemend-feeder.service")[1:])
    gate = gate_parser().parse_args(command("nodemend-boot-gate.service")[1:])
    settings = read_agent_settings({}, {"NODEMEND_NODE_NAME": "n1", "NODEMEND_PEER_HOST": "h"})
    assert list(feeder.recorder[:5]) == [*START, "last-words"]
    recorder = recorder_parser().parse_args(feeder.recorder[5:])
    assert (recorder.folder, recorder.status) == (gate.resets, feeder.paths["status"])
    assert gate.last_reset == f"{settings.host_folder}/{LAST_RESET}"
    assert gate.cmdline == "/proc/cmdline"
    assert gate.tested == f"{settings.host_folder}/{TESTED}"
    assert not gate.tested_here.startswith(settings.host_folder)


def test_the_gate_reads_the_status_that_the_feeder_writes() -> None:
    feeder = parse_arguments(command("nodemend-feeder.service")[1:])
    program, *words = command("nodemend-boot-gate.service")
    gate = gate_parser().parse_args(words)
    assert program == "boot-gate"
    assert gate.status == feeder.paths["status"]
    *asks, option, status = feeder.check
    assert gate.check[: len(asks)] == asks
    assert (option, status) == ("--status", gate.status)
    check = check_parser().parse_args(gate.check[5:])
    assert check.publish == feeder.paths["status"]
    assert check.lease_length * SECOND == feeder.lease_length
    assert check_parser().parse_args(feeder.check[5:]).publish is None


def test_the_gate_writes_its_record_where_the_agent_reads_it() -> None:
    gate = gate_parser().parse_args(command("nodemend-boot-gate.service")[1:])
    settings = read_agent_settings({}, {"NODEMEND_NODE_NAME": "n1", "NODEMEND_PEER_HOST": "h"})
    feeder = parse_arguments(command("nodemend-feeder.service")[1:])
    assert gate.record == f"{settings.host_folder}/{GATE}"
    assert gate.status == f"{settings.host_folder}/{STATUS}"
    assert feeder.paths["lease"] == f"{settings.state_folder}/lease"


def test_an_empty_setting_lets_no_gate_open_without_an_api_check() -> None:
    gate = gate_parser().parse_args(
        ["--status=s", "--record=r", "--boot-id=b", "--open-if", "", "--", "check"]
    )
    assert not gate.open_if


@pytest.mark.parametrize("unit", ["nodemend-feeder.service", "nodemend-boot-gate.service"])
def test_kubelet_is_ordered_after_each_unit(unit: str) -> None:
    [before] = re.findall(r"^Before=(.*)$", (HOST / unit).read_text(), re.MULTILINE)
    assert "kubelet.service" in before.split()


@pytest.mark.attack("V6")
@pytest.mark.parametrize(
    "unit",
    ["nodemend-feeder.service", "nodemend-boot-gate.service", "kubelet.service.d/50-nodemend.conf"],
)
def test_no_unit_ends_with_another(unit: str) -> None:
    """Restarting a feeder or a gate stops no other unit of this boot."""
    suffixes = re.findall(
        r"^(Requires|Requisite|BindsTo|PartOf|StopPropagatedFrom)=", (HOST / unit).read_text(), re.MULTILINE
    )
    assert suffixes == []


@pytest.mark.attack("V6")
def test_kubelet_needs_the_gate() -> None:
    drop_in = (HOST / "kubelet.service.d" / "50-nodemend.conf").read_text()
    assert "ExecStartPre=/usr/bin/test -s /run/nodemend/gate\n" in drop_in
    assert "After=nodemend-boot-gate.service" in drop_in


def test_the_lease_outlives_the_feeder() -> None:
    unit = (HOST / "nodemend-feeder.service").read_text()
    assert "RuntimeDirectoryPreserve=yes" in unit
    assert "Restart=always" in unit
