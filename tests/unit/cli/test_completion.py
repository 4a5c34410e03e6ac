"""Completion in shells, and through kubectl."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest

from nodemend.cli.main import COMMANDS, main

KUBECONFIG: Final = """\
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
users: [{{name: u, user: {{}}}}]
current-context: x
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_KUBECTL_MEND_COMPLETE" in capsys.readouterr().out


def complete(*words: str) -> list[str]:
    """The completions that bash would offer for the last argument."""
    script = "import sys; from nodemend.cli.main import main; sys.exit(main())"
    environment = {
        **os.environ,
        "_KUBECTL_MEND_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(("kubectl-mend", *words)),
        "COMP_CWORD": str(len(words)),
    }
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return [line.partition(",")[2] for line in run.stdout.splitlines() if line]


def test_commands_are_completed() -> None:
    assert complete("") == list(COMMANDS)
    assert complete("co") == ["confirm", "completion"]


def test_flags_are_completed() -> None:
    assert "--withdraw" in complete("confirm", "--w")


def test_kubectl_gets_a_program_that_implements_its_completion_protocol(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["completion", "kubectl"])
    script = capsys.readouterr().out

    assert script.startswith("#!/bin/sh\n")
    assert script.endswith("echo :4\n")


@contextmanager
def answering(status: int, body: bytes) -> Iterator[tuple[str, list[Message]]]:
    """A loopback server with the same reply for every request: yields a kubeconfig for it, and the headers
    that it received.
    """
    heard: list[Message] = []

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield KUBECONFIG.format(port=server.server_port), heard
        finally:
            server.shutdown()
            thread.join()


def nodes(*names: str) -> bytes:
    items = [{"metadata": {"name": name}} for name in names]
    return json.dumps({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": items}).encode()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explain", "tree", "confirm", "override", "check"])
def test_names_of_nodes_are_completed_from_the_cluster_that_is_named(command: str, tmp_path: Path) -> None:
    with answering(200, nodes("edge-01", "edge-02", "core-01")) as (kubeconfig, heard):
        (tmp_path / "config").write_text(kubeconfig)
        words = (command, "--kubeconfig", str(tmp_path / "config"), "--as", "anna", "--as-group", "sre")
        assert complete(*words, "edge") == ["edge-01", "edge-02"]

    assert [(one["Impersonate-User"], one["Impersonate-Group"]) for one in heard] == [("anna", "sre")]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [(403, b"{}"), (200, b"<html>")], ids=["forbidden", "no API server"])
def test_where_there_are_no_names_nothing_is_offered(answer: tuple[int, bytes], tmp_path: Path) -> None:
    with answering(*answer) as (kubeconfig, _):
        (tmp_path / "config").write_text(kubeconfig)
        assert complete("explain", "--kubeconfig", str(tmp_path / "config"), "edge") == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--as-group", "sre"), "--as-group needs --as"),
        (("--as", "anna\r\nX: y"), "characters that cannot be shown"),
    ],
)
def test_the_impersonated_user_is_checked(
    words: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", *words]) == 2
    assert why in capsys.readouterr().err
