#!/usr/bin/env python3
"""pyatv pairs with a receiver and asks it something over the channel that comes of it.

    pairing_pyatv.py PORT code|legacy CODE      (CODE "-": read from the first line of standard input)
    pairing_pyatv.py PORT transient

Prints one JSON object. Needs pyatv and srptools 1.0.1.
"""

import asyncio
import json
import sys

import pyatv
from pyatv import conf
from pyatv.auth.hap_pairing import TRANSIENT_CREDENTIALS, parse_credentials
from pyatv.const import Protocol
from pyatv.protocols.airplay.auth import verify_connection
from pyatv.support.http import http_connect

# Bits 38 and 48 make it AirPlay 2 for pyatv.
FEATURES = {"code": "0x4A7FFFF7,0xBC155FDE", "legacy": "0x4A7FFFF7,0x0"}


async def pair(port, kind, code):
    properties = {"deviceid": "02:00:00:00:00:01", "features": FEATURES[kind]}
    config = conf.AppleTV("127.0.0.1", "Simulated")
    config.add_service(conf.ManualService("simulated", Protocol.AirPlay, port, properties))
    pairing = await pyatv.pair(config, Protocol.AirPlay, asyncio.get_running_loop())
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
        connection = await http_connect("127.0.0.1", port)
        await verify_connection(credentials, connection)
        answer = await connection.get("/info")
        result["info"] = [answer.code, answer.body if isinstance(answer.body, str) else answer.body.decode()]
        connection.close()
    except Exception as error:
        result["failure"] = f"{type(error).__name__}: {error}"
    print(json.dumps(result))


asyncio.run(main())
