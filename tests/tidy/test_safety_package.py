"""Safety rules that import contracts cannot check.

One module creates tickets, one file contains the keys, and only listed modules do I/O.
"""

import ast
import re
from pathlib import Path

from mutants.__main__ import decision_modules
from tests.tidy.source_tree import SOURCE, name_of, parse, python_files

SOURCES = python_files("src")
WORLDLY = {"asyncio", "aiohttp", "subprocess", "socket", "time", "random", "threading"}
DO_IO = {
    "agent/api_check/check.py",
    "agent/boot_gate/gate_io.py",
    "agent/certificates_io.py",
    "agent/files.py",
    "agent/peer_http.py",
    "agent/reset_log_io.py",
    "agent/watchdog/main.py",
    "cli/connection.py",
    "cmd/agent.py",
    "cmd/serving.py",
    "kube/asyncio_runtime.py",
    "kube/credentials_io.py",
    "kube/http_transport.py",
}
"""Modules that import an event loop, a clock, chance or sockets. All others get them as arguments."""


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_a_ticket_is_created_only_in_the_release_gate() -> None:
    makers = [
        name_of(path)
        for path in python_files("src", "simulation")
        if re.search(r"\bReleaseTicket\(", path.read_text())
    ]
    assert makers == ["src/nodemend/safety/release.py"]


def test_only_listed_modules_do_io() -> None:
    assert {str(path.relative_to(SOURCE)) for path in SOURCES if imports(path) & WORLDLY} == DO_IO


def test_keys_are_defined_in_one_file() -> None:
    ours = re.compile(r'"(?:nodemend\.io/[a-z-]+|node\.kubernetes\.io/[a-z-]+)"')
    may = {"well_known.py"}
    offenders = {
        name_of(path): found
        for path in SOURCES
        if path.name not in may and (found := ours.findall(path.read_text()))
    }
    assert not offenders


def test_no_wall_clock_in_decisions() -> None:
    for path in decision_modules():
        assert "datetime" not in imports(path), name_of(path)
