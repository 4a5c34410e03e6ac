"""Runs credential plugins: one at a time, within a time limit, kept until they expire."""

import asyncio
import os
import signal
from contextlib import suppress
from datetime import timedelta

from nodemend.kube.exec_plugin import ExecPlugin, PluginCredential, PluginFailure, read_output
from nodemend.kube.ports import Runtime

_LONGEST_RUN_SECONDS = 30.0
_LONGEST_OUTPUT_BYTES = 1024 * 1024
# A plugin that just ran is not run again for every request that fails meanwhile.
_REST_SECONDS = 5.0
_EXPIRY_MARGIN = timedelta(seconds=10)


class PluginRunner:
    """The credential of one plugin."""

    def __init__(self, runtime: Runtime, *, run_within: float = _LONGEST_RUN_SECONDS) -> None:
        self._runtime = runtime
        self._run_within = run_within
        self._last: PluginCredential | PluginFailure | None = None
        self._ran_at = float("-inf")
        self._doubted = False
        self._running: asyncio.Task[PluginCredential | PluginFailure] | None = None

    def doubt(self) -> None:
        """The server rejected what the plugin gave: ask it again."""
        self._doubted = True

    async def credential(self, plugin: ExecPlugin, told: str) -> PluginCredential | PluginFailure:
        """What the plugin gave last, or gives now if that will not do any more.

        A caller that gives up does not end the run: the next one finds it further along.
        """
        if self._running is None:
            if self._last is not None and not self._is_spent(self._last):
                return self._last
            run = self._keep(plugin, told)
            self._running = asyncio.get_running_loop().create_task(run, name=f"plugin {plugin.command}")
        return await asyncio.shield(self._running)

    async def close(self) -> None:
        """End a run that is under way."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _keep(self, plugin: ExecPlugin, told: str) -> PluginCredential | PluginFailure:
        try:
            self._last = await self._run(plugin, told)
        finally:
            self._running = None
        self._ran_at = self._runtime.monotonic()
        self._doubted = False
        return self._last

    def _is_spent(self, last: PluginCredential | PluginFailure) -> bool:
        rested = self._runtime.monotonic() >= self._ran_at + _REST_SECONDS
        if isinstance(last, PluginFailure) or self._doubted:
            return rested
        return last.expires is not None and self._runtime.wall() >= last.expires - _EXPIRY_MARGIN and rested

    async def _run(self, plugin: ExecPlugin, told: str) -> PluginCredential | PluginFailure:
        environment = {**os.environ, **dict(plugin.environment), "KUBERNETES_EXEC_INFO": told}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            hint = f" ({plugin.install_hint.strip()})" if plugin.install_hint else ""
            return PluginFailure(f"credential plugin {plugin.command} cannot be run: {error.strerror}{hint}")
        try:
            async with asyncio.timeout(self._run_within):
                output, complaint = await asyncio.gather(_read(process.stdout), _read(process.stderr))
                code = await process.wait()
        except TimeoutError:
            return PluginFailure(f"credential plugin {plugin.command} took over {self._run_within:g} s")
        finally:
            _end(process)
            await process.wait()
        if code != 0:
            said = complaint.decode(errors="replace").strip()[-500:]
            return PluginFailure(f"credential plugin {plugin.command} failed with {code}: {said}")
        return read_output(plugin, output)


async def _read(pipe: asyncio.StreamReader | None) -> bytes:
    """To the end, keeping no more than the limit."""
    kept = bytearray()
    while pipe is not None and (piece := await pipe.read(65536)):
        kept += piece[: _LONGEST_OUTPUT_BYTES - len(kept)]
    return bytes(kept)


def _end(process: asyncio.subprocess.Process) -> None:
    """End it and whatever it started: the plugin leads a session of its own."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
