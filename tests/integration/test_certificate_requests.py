"""The real server plays the stories of CertificateSigningRequests that hold the simulated one to it."""

from typing import Any

import pytest

from controlplane.api import MERGE, ApiError
from controlplane.run import ControlPlane
from controlplane.settings import API_SERVER_ALONE
from tests.unit.simulation.api_server.certificate_stories import STORIES

pytestmark = pytest.mark.real


def test_every_story() -> None:
    with ControlPlane(API_SERVER_ALONE) as plane:

        def ask(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            kind = MERGE if method == "PATCH" else "application/json"
            try:
                answer = plane.api.request(method, path, body or None, content_type=kind)
            except ApiError as error:
                return error.status, {}
            return (201 if method == "POST" else 200), answer

        for story in STORIES:
            story(ask)
