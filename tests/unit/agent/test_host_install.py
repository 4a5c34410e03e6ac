"""Files that the chart's installer leaves on a host, and the one that is a program."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nodemend.agent.files import make_folder
from nodemend.agent.host_bundle import NAME, install, write_archive

HOST = Path(__file__).resolve().parents[3] / "deploy" / "host"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """The files flat in one folder, as the ConfigMap is mounted."""
    folder = tmp_path / "given"
    folder.mkdir()
    for file in (*HOST.glob("*.service"), *HOST.glob("kubelet.service.d/*"), HOST / "host.env"):
        shutil.copyfile(file, folder / file.name)
    return folder


@pytest.fixture
def host(tmp_path: Path) -> Path:
    for name in ("systemd", "settings", "program"):
        (tmp_path / "host" / name).mkdir(parents=True)
    return tmp_path / "host"


def files(host: Path) -> dict[str, bytes]:
    return {str(file.relative_to(host)): file.read_bytes() for file in host.rglob("*") if file.is_file()}


def test_units_settings_and_program_are_there_and_enabled(given: Path, host: Path) -> None:
    install(str(given), str(host), "n1")

    assert set(files(host)) == {
        "settings/host.env",
        f"program/{NAME}",
        "systemd/nodemend-feeder.service",
        "systemd/nodemend-boot-gate.service",
        "systemd/kubelet.service.d/50-nodemend.conf",
        "systemd/multi-user.target.wants/nodemend-feeder.service",
        "systemd/multi-user.target.wants/nodemend-boot-gate.service",
    }
    assert b"\nNODEMEND_NODE=n1\n" in (host / "settings" / "host.env").read_bytes()
    wanted = host / "systemd" / "multi-user.target.wants" / "nodemend-feeder.service"
    assert str(wanted.readlink()) == "../nodemend-feeder.service"


@pytest.mark.attack("K4")
def test_the_install_masks_the_sleep_targets_but_keeps_an_operator_s_unit(given: Path, host: Path) -> None:
    (host / "systemd" / "suspend.target").write_text("[Unit]\n")
    install(str(given), str(host), "n1")

    assert str((host / "systemd" / "sleep.target").readlink()) == os.devnull
    assert str((host / "systemd" / "hibernate.target").readlink()) == os.devnull
    assert (host / "systemd" / "suspend.target").read_text() == "[Unit]\n", "a person's own is left alone"


def test_a_second_time_nothing_is_touched(given: Path, host: Path) -> None:
    """Size and time identify the feeder's program."""
    install(str(given), str(host), "n1")
    before = (host / "program" / NAME).stat().st_mtime_ns

    assert install(str(given), str(host), "n1") == []
    assert (host / "program" / NAME).stat().st_mtime_ns == before


def test_settings_of_an_operator_are_left_alone(given: Path, host: Path) -> None:
    (host / "settings" / "host.env").write_text("NODEMEND_NODE=mine\n")
    install(str(given), str(host), "n1")

    assert (host / "settings" / "host.env").read_text() == "NODEMEND_NODE=mine\n"


def test_kubelet_is_made_to_wait_last_of_all(given: Path, host: Path) -> None:
    written = install(str(given), str(host), "n1")

    assert written[-1].endswith("kubelet.service.d/50-nodemend.conf")
    (given / "nodemend-feeder.service").unlink()
    shutil.rmtree(host / "systemd")
    with pytest.raises(FileNotFoundError):
        install(str(given), str(host), "n1")
    assert not (host / "systemd" / "kubelet.service.d" / "50-nodemend.conf").exists()


def test_the_program_runs_by_itself_and_is_the_same_file_each_time(tmp_path: Path) -> None:
    for name in ("a.pyz", "b.pyz"):
        write_archive(str(tmp_path / name))
    assert (tmp_path / "a.pyz").read_bytes() == (tmp_path / "b.pyz").read_bytes()

    command = [sys.executable, "-I", "-S", str(tmp_path / "a.pyz"), "api-check", "--help"]
    reported = subprocess.run(command, check=True, capture_output=True, text=True, env={}, cwd="/").stdout
    assert "--publish" in reported


def test_the_agent_s_folder_is_private_and_not_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    make_folder(str(folder), os.getuid())
    make_folder(str(folder), os.getuid())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        make_folder(str(tmp_path / "link"), os.getuid())
