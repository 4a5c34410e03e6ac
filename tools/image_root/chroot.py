"""Commands inside the root, isolated from the machine except its kernel and network."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = {"PATH": "/usr/bin", "LANG": "C.UTF-8"}
"""The whole environment of a command in the root."""


def command_in(root: Path, command: Sequence[str], *, user: int = 65532) -> list[str]:
    """The command line that runs `command` in the root, for callers that start it themselves."""
    return ["/usr/sbin/chroot", f"--userspec={user}:{user}", str(root), *command]


def run_in(
    root: Path,
    command: Sequence[str],
    *,
    user: int = 65532,
    env: Mapping[str, str] | None = None,
    within: float = 120.0,
) -> str:
    """The command's output. Raises subprocess.CalledProcessError, whose `stderr` has the reason."""
    return subprocess.run(
        command_in(root, command, user=user),
        env={**ENVIRONMENT, **(env or {})},
        check=True,
        capture_output=True,
        text=True,
        timeout=within,
    ).stdout
