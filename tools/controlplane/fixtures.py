"""pytest fixtures: `pytest_plugins = ["controlplane.fixtures"]`.

Two control planes per test run (per worker, under xdist), each started at its first use; every test that uses
one finds it clean. Tests that break their control plane start a separate one with `start_control_plane`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from controlplane.run import ControlPlane, StartControlPlane
from controlplane.settings import API_SERVER_ALONE, WHOLE_CLUSTER, Settings


@pytest.fixture(scope="session")
def shared_api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver. A session fixture may install what all tests share, and `mark` it."""
    with ControlPlane(API_SERVER_ALONE, directory=tmp_path_factory.mktemp("api-server")) as plane:
        yield plane


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """All programs, and storage. A session fixture may install what all tests share, and `mark` it."""
    with ControlPlane(WHOLE_CLUSTER, directory=tmp_path_factory.mktemp("cluster")) as plane:
        yield plane


@pytest.fixture
def api_server(shared_api_server: ControlPlane) -> ControlPlane:
    """A clean API server without controllers: only the test changes objects."""
    shared_api_server.wipe()
    return shared_api_server


@pytest.fixture
def cluster(shared_cluster: ControlPlane) -> ControlPlane:
    """A clean cluster with the real controllers and scheduler; nodes are added by the test."""
    shared_cluster.wipe()
    return shared_cluster


@pytest.fixture
def start_control_plane(tmp_path: Path) -> Iterator[StartControlPlane]:
    """Starts a control plane for this test alone, which may break it."""
    with ExitStack() as owned:

        def start(settings: Settings = API_SERVER_ALONE) -> ControlPlane:
            number = len(list(tmp_path.glob("control-plane-*")))
            return owned.enter_context(ControlPlane(settings, directory=tmp_path / f"control-plane-{number}"))

        yield start
