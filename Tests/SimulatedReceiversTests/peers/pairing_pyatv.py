#!/usr/bin/env python3
"""pyatv pairs with a receiver and asks it something over the channel that comes of it.

    pairing_pyatv.py PORT code|legacy CODE      (CODE "-": read from the first line of standard input)
    pairing_pyatv.py PORT transient
    pairing_pyatv.py PORT raop CODE             (and plays a second of silence afterwards, and without having paired)

Prints one JSON object. Needs pyatv and srptools 1.0.1.
"""

import asyncio
import io
import json
import sys
import wave

import pyatv
from pyatv import conf
from pyatv.auth.hap_pairing import TRANSIENT_CREDENTIALS, parse_credentials
from pyatv.const import Protocol
from pyatv.protocols.airplay.auth import verify_connection
from pyatv.support.http import http_connect

# Bits 38 and 48 make it AirPlay 2 for pyatv.
PROPERTIES = {
    "code": {"deviceid": "02:00:00:00:00:01", "features": "0x4A7FFFF7,0xBC155FDE"},
    "legacy": {"deviceid": "02:00:00:00:00:01", "features": "0x4A7FFFF7,0x0"},
    "raop": {"et": "0", "cn": "0,1", "md": "0", "sr": "44100", "ss": "16", "ch": "2", "sf": "0x204", "am": "AppleTV3,2"},
}


def device(port, kind, credentials=None):
    protocol = Protocol.RAOP if kind == "raop" else Protocol.AirPlay
    config = conf.AppleTV("127.0.0.1", "Simulated")
    config.add_service(conf.ManualService(
        "020000000001", protocol, port, PROPERTIES[kind], credentials=credentials and str(credentials)))
    return config, protocol


async def play(port, credentials):
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((2, 2, 44100, 0, "NONE", ""))
        sound.writeframes(bytes(4 * 44100))
    file.seek(0)
    speaker = await pyatv.connect(device(port, "raop", credentials)[0], asyncio.get_running_loop())
    try:
        await speaker.stream.stream_file(file)
        return "played"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        await asyncio.gather(*speaker.close())


async def pair(port, kind, code):
    config, protocol = device(port, kind)
    pairing = await pyatv.pair(config, protocol, asyncio.get_running_loop())
    try:
        await pairing.begin()
        if code == "-":
            code = (await asyncio.to_thread(sys.stdin.readline)).strip()
        pairing.pin(code)
        await pairing.finish()
        assert pairing.has_paired
        return parse_credentials(pairing.service.credentials)
    finally:
        await pairing.close()


async def main():
    port, kind = int(sys.argv[1]), sys.argv[2]
    result = {}
    try:
        credentials = TRANSIENT_CREDENTIALS if kind == "transient" else await pair(port, kind, sys.argv[3])
        result["paired"] = credentials.type.name
        if kind == "raop":
            result["without"] = await play(port, None)
            result["with"] = await play(port, credentials)
            return
        connection = await http_connect("127.0.0.1", port)
        await verify_connection(credentials, connection)
        answer = await connection.get("/info")
        result["info"] = [answer.code, answer.body if isinstance(answer.body, str) else answer.body.decode()]
        connection.close()
    except Exception as error:
        result["failure"] = f"{type(error).__name__}: {error}"
    finally:
        print(json.dumps(result))


asyncio.run(main())
