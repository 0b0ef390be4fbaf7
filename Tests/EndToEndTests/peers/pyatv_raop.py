"""Plays a file to a RAOP speaker by pyatv, without discovery.

usage: pyatv_raop.py HOST PORT FILE [KEY=VALUE of the TXT record]...
The password comes by the environment variable RAOP_PASSWORD, the path of a picture by RAOP_PICTURE. Prints one JSON line with what pyatv says of it.
"""

import asyncio
import json
import os
import sys

from pyatv import connect
from pyatv.conf import AppleTV, ManualService
from pyatv.const import Protocol
from pyatv.interface import MediaMetadata


async def play(host, port, path, properties):
    loop = asyncio.get_running_loop()
    device = AppleTV(host, "Speaker under test")
    device.add_service(
        ManualService("0011AABBCCDD", Protocol.RAOP, port, properties, password=os.environ.get("RAOP_PASSWORD"))
    )
    speaker = await connect(device, loop)
    try:
        await speaker.audio.set_volume(40)
        picture = os.environ.get("RAOP_PICTURE")
        metadata = None
        if picture:
            with open(picture, "rb") as file:
                metadata = MediaMetadata(artwork=file.read())
        # What is not given here pyatv reads from the file's tags.
        await speaker.stream.stream_file(path, metadata=metadata, override_missing_metadata=True)
        print(json.dumps({"done": True, "volume": speaker.audio.volume}), flush=True)
    finally:
        await asyncio.gather(*speaker.close())


host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    asyncio.run(play(host, port, path, dict(pair.split("=", 1) for pair in sys.argv[4:])))
except Exception as error:
    print(json.dumps({"done": False, "error": f"{type(error).__name__}: {error}"}), flush=True)
    sys.exit(1)
