"""Streams a file to an AirPlay 1 receiver by pyatv, without a scan: HOST PORT FILE.

pyatv 0.18 announces PCM with a format line that only ALAC has, and Debian's shairport-sync takes it for ALAC and crashes.
The line is left out here: without that there would be nothing to measure, and it costs pyatv nothing.
"""

import asyncio
import sys

import pyatv
from pyatv import conf
from pyatv.const import Protocol
from pyatv.support import rtsp

rtsp.ANNOUNCE_PAYLOAD = "".join(
    line for line in rtsp.ANNOUNCE_PAYLOAD.splitlines(keepends=True) if not line.startswith("a=fmtp"))


async def main():
    host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    device = conf.AppleTV(host, "Bench")
    device.add_service(conf.ManualService("bench", Protocol.RAOP, port, {
        "et": "0,1", "cn": "0,1", "md": "0,1,2", "tp": "UDP", "ch": "2", "ss": "16", "sr": "44100"}))
    connection = await pyatv.connect(device, asyncio.get_running_loop())
    try:
        await connection.stream.stream_file(path)
    finally:
        await asyncio.gather(*connection.close())


asyncio.run(main())
