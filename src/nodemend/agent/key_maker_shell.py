"""Has a key made by a program that ends right after: see `entrypoints/make_key`."""

import asyncio
import os
import sys
from dataclasses import dataclass, field
from typing import Final

_PROGRAM: Final = "nodemend.entrypoints.make_key"
_WITHIN: Final = 60.0
_REQUEST: Final = b"-----BEGIN CERTIFICATE REQUEST-----"
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class MadeKey:
    """PEM, both. The key has been nowhere but in a pipe of this node."""

    key: str = field(repr=False)
    request: str


@dataclass(frozen=True, slots=True)
class NoKey:
    why: str


class ChildKeyMaker:
    """The KeyMaker port as production has it."""

    async def make(self, name: str) -> MadeKey | NoKey:
        environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
        try:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                _PROGRAM,
                name,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            return NoKey(f"{_PROGRAM} cannot be started: {error}")
        try:
            async with asyncio.timeout(_WITHIN):
                made, said = await child.communicate()
        except TimeoutError:
            return NoKey(f"{_PROGRAM} took more than {_WITHIN:g} s")
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return _read(made) if child.returncode == 0 else NoKey(_last_line(said))


def _read(made: bytes) -> MadeKey | NoKey:
    key, mark, request = made.partition(_REQUEST)
    if not mark or not key:
        return NoKey(f"{_PROGRAM} printed something else")
    return MadeKey(key.decode(), (mark + request).decode())


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"
