"""Controls an Apple TV class device by pyatv over the remote control stream of AirPlay 2, without discovery.

usage: pyatv_mrp.py HOST PORT PIN [KEY=VALUE of the TXT record]...
Pairs by the code, connects, and does one thing after another. Prints one JSON line with what pyatv saw of each.
"""

import asyncio
import json
import sys

from pyatv import connect, pair
from pyatv.conf import AppleTV, ManualService
from pyatv.const import DeviceState, Protocol
from pyatv.interface import PushListener


class Told(PushListener):
    def __init__(self):
        self.newest = None
        self.news = asyncio.Event()

    def playstatus_update(self, updater, playstatus):
        self.newest = playstatus
        self.news.set()

    def playstatus_error(self, updater, exception):
        pass

    async def until(self, wanted):
        while self.newest is None or not wanted(self.newest):
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 10)
        return self.newest


async def control(host, port, pin, properties):
    loop = asyncio.get_running_loop()
    device = AppleTV(host, "Device under test")
    device.add_service(ManualService("0011AABBCCDD", Protocol.AirPlay, port, properties))
    pairing = await pair(device, Protocol.AirPlay, loop)
    await pairing.begin()
    pairing.pin(pin)
    await pairing.finish()
    device.get_service(Protocol.AirPlay).credentials = pairing.service.credentials
    await pairing.close()

    report = {}
    tv = await connect(device, loop)
    try:
        told = Told()
        tv.push_updater.listener = told
        tv.push_updater.start()
        first = await told.until(lambda now: now.title)
        report["title"], report["artist"], report["album"] = first.title, first.artist, first.album
        report["total"], report["position"] = first.total_time, first.position
        report["state"] = first.device_state.name
        report["app"] = tv.metadata.app.name
        report["volume"] = tv.audio.volume
        await tv.remote_control.pause()
        report["paused"] = (await told.until(lambda now: now.device_state == DeviceState.Paused)).device_state.name
        await tv.remote_control.set_position(60)
        report["sought"] = (await told.until(lambda now: now.position == 60)).position
        await tv.remote_control.next()
        await tv.audio.set_volume(25)
        report["turned"] = tv.audio.volume
        report["done"] = True
    finally:
        await asyncio.gather(*tv.close())
    return report


host, port, pin = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    properties = dict(pair.split("=", 1) for pair in sys.argv[4:])
    print(json.dumps(asyncio.run(control(host, port, pin, properties))), flush=True)
except Exception as error:
    print(json.dumps({"done": False, "error": f"{type(error).__name__}: {error}"}), flush=True)
    sys.exit(1)
