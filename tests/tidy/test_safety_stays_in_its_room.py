"""What imports cannot see: tickets have one maker, keys stand in one file, only shells touch the world."""

import ast
import re
from pathlib import Path

from tests.tidy.source_tree import SOURCE, name_of, parse, python_files

SOURCES = python_files("src")
SHELLS = re.compile(r"(^|_)shell$")
WORLDLY = {"asyncio", "aiohttp", "subprocess", "socket", "time", "random", "threading"}
# The simulated world draws its chance from seeds, and the elector's timing counts no clock of its own.
MAY_BE_WORLDLY = {"testing"}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_a_ticket_is_made_in_the_release_gate_alone() -> None:
    makers = [name_of(path) for path in SOURCES if re.search(r"\bReleaseTicket\(", path.read_text())]
    assert makers == ["src/nodemend/decide/release_gate.py"]


def test_only_shells_touch_the_world() -> None:
    offenders = {
        name_of(path): touched
        for path in SOURCES
        if path.relative_to(SOURCE).parts[0] not in MAY_BE_WORLDLY
        and not SHELLS.search(path.stem)
        and (touched := imports(path) & WORLDLY)
    }
    assert not offenders


def test_keys_stand_in_one_file() -> None:
    ours = re.compile(r'"(?:nodemend\.io/[a-z-]+|node\.kubernetes\.io/[a-z-]+)"')
    may = {"keys.py"}
    offenders = {
        name_of(path): found
        for path in SOURCES
        if path.name not in may and "testing" not in path.parts and (found := ours.findall(path.read_text()))
    }
    assert not offenders


def test_no_wall_clock_in_decisions() -> None:
    for path in python_files("src/nodemend/decide"):
        assert "datetime" not in imports(path), name_of(path)
