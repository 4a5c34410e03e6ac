"""The image's root, built without an engine, and what runs in it."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from image_root.build_root import build_root
from image_root.chroot import run_in
from image_root.debian_packages import PACKAGES

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="a chroot needs root"),
    pytest.mark.skipif(
        shutil.which("apt-get") is None or not Path("/etc/debian_version").read_text().startswith("12"),
        reason="the packages are those of Debian 12",
    ),
]

OURS = frozenset(
    {"kubectl-mend", "nodemend-agent", "nodemend-checker", "nodemend-remediator", "nodemend-signer"}
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("image") / "root"
    programs = build_root(root)
    assert programs == sorted(OURS)
    yield root
    shutil.rmtree(root)


def test_kubectl_mend_starts_in_it_as_an_unprivileged_user(root: Path) -> None:
    assert "kubectl mend" in run_in(root, ["kubectl-mend", "version"])
    assert run_in(root, ["python3", "-c", "import os; print(os.getuid(), os.getgid())"]) == "65532 65532\n"


def test_everything_we_need_can_be_imported(root: Path) -> None:
    modules = "aiohttp, msgspec, yaml, click, rich, prometheus_client, ssl, asyncio, nodemend"

    assert run_in(root, ["python3", "-I", "-c", f"import {modules}; print('ok')"]) == "ok\n"


def test_it_trusts_the_usual_authorities(root: Path) -> None:
    count = "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"

    assert int(run_in(root, ["python3", "-c", count])) > 100


def test_there_is_no_shell_no_package_manager_and_no_way_to_more_rights(root: Path) -> None:
    programs = {file.name for folder in ("usr/bin", "usr/sbin") for file in (root / folder).iterdir()}
    privileged = [
        file
        for file in root.rglob("*")
        if not file.is_symlink() and file.is_file() and file.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)
    ]

    assert programs == {*OURS, "python3", "python3.11"}
    assert privileged == []


def test_nothing_is_compiled_at_each_start(root: Path) -> None:
    for package in ("usr/local/lib/python3.11/dist-packages/nodemend", "usr/lib/python3.11/asyncio"):
        sources = list((root / package).glob("*.py"))
        assert len(list((root / package / "__pycache__").glob("*.pyc"))) == len(sources)


def test_scanners_see_what_is_inside(root: Path) -> None:
    recorded = {file.name for file in (root / "var/lib/dpkg/status.d").iterdir()}

    assert recorded == set(PACKAGES)
    assert "Debian GNU/Linux 12" in (root / "etc/os-release").read_text()
