"""The end of a program, as somebody asks for it."""

import asyncio
import signal

from nodemend.telemetry.log_lines import Log


async def until_told_to_stop(log: Log) -> None:
    """Ends with the first SIGTERM or SIGINT."""
    told = asyncio.get_running_loop().create_future()

    def stop(name: str) -> None:
        if not told.done():
            told.set_result(name)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop, number.name)
    log.info("told to stop", signal=await told)
