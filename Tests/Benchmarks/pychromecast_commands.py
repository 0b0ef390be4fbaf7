"""Prints the instant just before each volume command of a connected pychromecast: HOST PORT COUNT."""

import json
import sys
import time
import uuid

import pychromecast

host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
cast = pychromecast.get_chromecast_from_host((host, port, uuid.uuid4(), None, None), tries=1, timeout=10)
cast.wait(timeout=10)
for index in range(count):
    time.sleep(0.05)
    began = time.monotonic()
    cast.set_volume(index % 100 / 100)
    print(json.dumps({"began": began}), flush=True)
