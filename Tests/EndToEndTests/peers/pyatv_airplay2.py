"""Plays a file to an AirPlay 2 receiver by pyatv, without discovery.

usage: pyatv_airplay2.py HOST PORT FILE [KEY=VALUE of the TXT record]...
With AIRPLAY_PIN it pairs with that code first, and plays with the credentials that this gives. AIRPLAY_PICTURE is the path of a
picture. Prints one JSON line with what pyatv says of it.
"""

import asyncio
import json
import os
import sys

from pyatv import connect, pair
from pyatv.conf import AppleTV, ManualService
from pyatv.const import Protocol
from pyatv.interface import MediaMetadata


async def credentials(device, pin, loop):
    pairing = await pair(device, Protocol.AirPlay, loop)
    try:
        await pairing.begin()
        pairing.pin(pin)
        await pairing.finish()
        return pairing.service.credentials if pairing.has_paired else None
    finally:
        await pairing.close()


async def play(host, port, path, properties):
    loop = asyncio.get_running_loop()
    device = AppleTV(host, "Receiver under test")
    device.add_service(ManualService("0011AABBCCDD", Protocol.AirPlay, port, properties))
    device.add_service(ManualService("0011AABBCCDD", Protocol.RAOP, port, properties))
    pin = os.environ.get("AIRPLAY_PIN")
    paired = None
    if pin:
        paired = await credentials(device, int(pin), loop)
        for protocol in (Protocol.AirPlay, Protocol.RAOP):
            device.get_service(protocol).credentials = paired
    receiver = await connect(device, loop)
    try:
        await receiver.audio.set_volume(40)
        picture = os.environ.get("AIRPLAY_PICTURE")
        metadata = None
        if picture:
            with open(picture, "rb") as file:
                metadata = MediaMetadata(artwork=file.read())
        await receiver.stream.stream_file(path, metadata=metadata, override_missing_metadata=True)
        print(json.dumps({"done": True, "paired": paired is not None}), flush=True)
    finally:
        await asyncio.gather(*receiver.close())


host, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
try:
    asyncio.run(play(host, port, path, dict(pair.split("=", 1) for pair in sys.argv[4:])))
except Exception as error:
    print(json.dumps({"done": False, "error": f"{type(error).__name__}: {error}"}), flush=True)
    sys.exit(1)
