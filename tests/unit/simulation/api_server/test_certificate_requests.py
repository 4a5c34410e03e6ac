"""CertificateSigningRequests of the simulated server, by stories that the real one plays too."""

import json
from typing import Any

import msgspec
import pytest

from nodemend.kube.request import Content, Method, Request
from simulation.api_server.server import SimulatedApiServer
from tests.unit.simulation.api_server.certificate_stories import STORIES, Ask
from tests.unit.simulation.api_server.client import NOON


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_story(story: Any) -> None:
    server = SimulatedApiServer(lambda: NOON)

    def ask(method: str, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        content = Content.MERGE_PATCH if method == "PATCH" else Content.JSON
        encoded = b"" if method == "GET" else msgspec.json.encode(body)
        answer = server.handle(Request(Method(method), path, (), encoded, content))
        return answer.status, json.loads(answer.body)

    reported: Ask = ask
    story(reported)
