"""Loads a URL on a Cast receiver by pychromecast, as its own examples do for a known host: HOST PORT."""

import sys
import uuid

import pychromecast

host, port = sys.argv[1], int(sys.argv[2])
cast = pychromecast.get_chromecast_from_host((host, port, uuid.uuid4(), None, None), tries=1, timeout=10)
cast.wait(timeout=10)
cast.media_controller.play_media("http://%s:1/tone.flac" % host, "audio/flac", title="Tone")
cast.media_controller.block_until_active(timeout=10)
