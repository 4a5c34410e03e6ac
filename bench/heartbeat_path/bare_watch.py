"""A bare TLS watch of Nodes with the checker's own decoding, and nothing behind it.

`python -m bench.heartbeat_path.bare_watch PORT CA TOKEN_FILE` watches until it is ended, and prints when the
stream is open.
"""

import asyncio
import ssl
import sys
from pathlib import Path

import aiohttp
import msgspec

from nodemend.kube.watch_stream import WatchEvent
from nodemend.records.node import NodeWire


async def watch(port: int, authority: Path, token: str) -> None:
    decoder = msgspec.json.Decoder(WatchEvent[NodeWire])
    tls = ssl.create_default_context(cafile=authority)
    url = f"https://127.0.0.1:{port}/api/v1/nodes?watch=true"
    headers = {"Authorization": f"Bearer {token}"}
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(timeout=timeout, read_bufsize=1 << 20, headers=headers) as session,
        session.get(url, ssl=tls) as response,
    ):
        response.raise_for_status()
        print("open", flush=True)
        begun = b""
        async for data in response.content.iter_any():
            block = begun + data
            end = block.rfind(b"\n") + 1
            begun = block[end:]
            if end:
                decoder.decode_lines(block[:end])


if __name__ == "__main__":
    asyncio.run(watch(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]).read_text()))
