"""The feeder's code is unpacked again if another user could have written it."""

import os
from pathlib import Path

import pytest

from nodemend.agent.host_bundle import NAME, unpack, write_archive

pytestmark = pytest.mark.attack("S10")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    write_archive(str(tmp_path / NAME))
    return tmp_path / NAME


def test_an_unpacked_file_is_not_written_again(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "host"
    assert unpack(str(archive), str(folder)) == 0
    before = (folder / "start.py").stat().st_ino

    assert unpack(str(archive), str(folder)) == 0
    assert (folder / "start.py").stat().st_ino == before


@pytest.mark.parametrize(
    "what", ["", "start.py", "nodemend/agent/host_program.py", "nodemend/agent/watchdog"]
)
def test_a_file_that_others_may_write_is_not_run(archive: Path, tmp_path: Path, what: str) -> None:
    folder = tmp_path / "host"
    unpack(str(archive), str(folder))
    right = (folder / "start.py").read_text()
    (folder / "start.py").write_text("evil")
    (folder / what).chmod(0o777)

    unpack(str(archive), str(folder))

    assert (folder / "start.py").read_text() == right
    assert not any((at.stat().st_mode & 0o022) for at in folder.rglob("*"))


def test_a_link_to_another_folder_is_not_run(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "host"
    unpack(str(archive), str(folder))
    (tmp_path / "evil.py").write_text("evil")
    (folder / "start.py").unlink()
    (folder / "start.py").symlink_to(tmp_path / "evil.py")

    unpack(str(archive), str(folder))

    assert not (folder / "start.py").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_of_another_owner_is_replaced(archive: Path, tmp_path: Path) -> None:
    folder = tmp_path / "host"
    unpack(str(archive), str(folder))
    os.chown(folder / "start.py", 65532, 65532)

    unpack(str(archive), str(folder))

    assert (folder / "start.py").stat().st_uid == 0
