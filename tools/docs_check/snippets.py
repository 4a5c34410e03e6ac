"""Snippets for a shell: executed here, executed by a named test, or marked with a reason why not.

The mark is an HTML comment before the snippet. With `all` it is for each snippet of the page without its own:

    <!-- executed by: tests/integration/test_x.py -->
    <!-- not executed: needs a cluster with metal3 -->
    <!-- all executed by: tests/integration/test_how_to.py -->
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Final

from docs_check.pages import Block, Fault, Page

_PROGRAMS: Final = frozenset(
    [
        "kubectl",
        "helm",
        "just",
        "git",
        "pip",
        "python",
        "python3",
        "uv",
        "etcdutl",
        "etcdctl",
        "systemctl",
        "cat",
        "curl",
        "jq",
        "podman",
        "buildah",
        "docker",
        ".venv/bin/kubectl-mend",
        ".venv/bin/pytest",
        "kubectl-mend",
        "export",
        "cd",
        "journalctl",
        "sudo",
        "modprobe",
    ]
)
_SHELLS: Final = frozenset({"sh", "bash", "shell", "console"})
_MARK: Final = re.compile(r"^(all )?(executed by|not executed): *(.*)$")
_SHORTEST_REASON: Final = 8
_SECONDS: Final = 120
_TEXT: Final = (".py", ".yaml", ".txt", ".sh", "")


def is_shell(block: Block) -> bool:
    """True if a user would type this: by its language, or by a program that begins a line."""
    if block.language:
        return block.language in _SHELLS
    first = [line.split(" ")[0] for line in block.text.splitlines()]
    return any(word == "$" or word in _PROGRAMS for word in first)


def commands(block: Block) -> list[str]:
    """The commands of a snippet: in a console what follows `$`, else every line."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if any(line.startswith("$ ") for line in lines):
        return [line.removeprefix("$ ").strip() for line in lines if line.startswith("$ ")]
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def wrong_snippets(page: Page, root: Path) -> Iterator[Fault]:
    default = next((one for one in page.comments if one.startswith("all ") and _MARK.match(one)), "")
    for block in filter(is_shell, page.blocks):
        mark = _MARK.match(block.comment) or _MARK.match(default)
        wrong = _marked(block, mark, page, root) if mark else _executed(block, root)
        if wrong:
            yield Fault(page.path, block.line, wrong)
    for block in page.blocks:
        if _MARK.match(block.comment) and not is_shell(block):
            yield Fault(page.path, block.line, f"marked, but no snippet for a shell: {block.comment}")


def _marked(block: Block, mark: re.Match[str], page: Page, root: Path) -> str:
    if mark[2] == "not executed":
        absent = [one for one in re.findall(r"tests/[\w/.]*\w", mark[3]) if not (root / one).exists()]
        if absent:
            return f"the reason names what does not exist: {absent[0]}"
        return "" if len(mark[3]) >= _SHORTEST_REASON else "not executed, without a reason"
    place = root / mark[3].strip()
    if not place.exists():
        return f"executed by what does not exist: {mark[3]}"
    text = _text(place)
    if page.path.stem in text and page.path.stem != "README":
        return ""  # The test reads this page.
    missing = [word for command in commands(block) for word in _commands_in(command) if not _has(text, word)]
    return f"{mark[3]} does not contain: {', '.join(missing)}" if missing else ""


def _executed(block: Block, root: Path) -> str:
    unsafe = [command for command in commands(block) if not _safe(command)]
    if unsafe:
        return f"neither executed nor marked: {unsafe[0]}"
    for command in commands(block):
        ended = _run(command, root)
        if ended.returncode:
            return f"ends with {ended.returncode}: {command}\n{ended.stdout}{ended.stderr}".strip()
        if wrong := _unlike(_shown(block, command), ended.stdout):
            return f"{command} does not print: {wrong}"
    return ""


def _run(command: str, root: Path) -> subprocess.CompletedProcess[str]:
    # Lines are folded to COLUMNS, and stay whole without it.
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        _own(command), cwd=root, env=env, capture_output=True, text=True, check=False, timeout=_SECONDS
    )


def _shown(block: Block, command: str) -> list[str]:
    """The output that a console block shows below a command."""
    lines = iter(block.text.replace("\\\n", " ").splitlines())
    if not any(line.removeprefix("$ ").strip() == command for line in lines if line.startswith("$ ")):
        return []
    return list(takewhile(lambda line: not line.startswith("$ "), lines))


def _unlike(shown: list[str], printed: str) -> str:
    """The first line that was not printed, in this order. The page may leave lines out."""
    lines = iter(printed.splitlines())
    for wanted in shown:
        if wanted.strip() not in ("", "...") and not any(line.rstrip() == wanted.rstrip() for line in lines):
            return wanted
    return ""


def _safe(command: str) -> bool:
    """True if a command needs no cluster and changes nothing."""
    if re.search(r"[|;&<>$`]", command):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False  # A quotation that continues in the next line.
    if words in (["just"], ["just", "--list"]):
        return True
    mend = _mend(words)
    if mend is None:
        return False
    return mend[-1:] in (["--help"], ["-h"]) or mend[:1] in (["version"], ["--version"]) or _from_a_file(mend)


def _from_a_file(mend: list[str]) -> bool:
    """A simulation of a snapshot that the repository carries."""
    return mend[:1] == ["simulate"] and "--snapshot" in mend and "deploy/examples/" in " ".join(mend)


def _mend(words: list[str]) -> list[str] | None:
    if words[:2] == ["kubectl", "mend"]:
        return words[2:]
    return words[1:] if words[:1] in (["kubectl-mend"], [".venv/bin/kubectl-mend"]) else None


def _own(command: str) -> list[str]:
    words = shlex.split(command)
    mend = _mend(words)
    return words if mend is None else [str(Path(sys.executable).with_name("kubectl-mend")), *mend]


def _commands_in(command: str) -> list[str]:
    """The strings that a test of this command must contain: its subcommand, its options, and chart values."""
    words = command.replace("|", " ").split()
    mend = _mend(words)
    rest = words[1:] if mend is None else mend
    subcommand = [word for word in rest[:1] if re.fullmatch(r"[a-z][a-z-]*", word)]
    values = re.findall(r"--set ([\w.]+)=", command)
    return [*subcommand, *(word.partition("=")[0] for word in rest if re.match(r"--[a-z]", word)), *values]


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def _text(place: Path) -> str:
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.suffix in _TEXT]
    return "\n".join(one.read_text(errors="replace") for one in files if one.is_file())
