"""Plays a file to a Cast receiver by pychromecast and reports what the library saw, as one JSON object.

usage: pychromecast_session.py HOST PORT FILE CONTENT_TYPE
The file is served from this process, with ranges, on a free port of 127.0.0.1.
"""

import http.server
import json
import os
import re
import sys
import threading
import time
import uuid

import pychromecast
from pychromecast.models import CastInfo

host, port, path, content_type = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
body = open(path, "rb").read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        first, last = 0, len(body) - 1
        if asked:
            first = int(asked[1])
            last = min(int(asked[2] or last), last)
        if first > last:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(body)}")
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.write(body[first : last + 1])

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/{os.path.basename(path)}"

report = {"steps": []}
cast = pychromecast.get_chromecast_from_cast_info(
    CastInfo(set(), uuid.UUID(int=1), "Chromecast", "under test", host, port, "cast", "Router"), None
)
cast.wait(timeout=20)
media = cast.media_controller


def status():
    now = media.status
    return {
        "state": now.player_state,
        "position": now.adjusted_current_time,
        "duration": now.duration,
        "title": now.title,
        "idle_reason": now.idle_reason,
        "volume": cast.status.volume_level,
        "muted": cast.status.volume_muted,
        "app": cast.app_display_name,
    }


def step(name, done, limit=20):
    """Waits until a condition holds and notes what the library reports then."""
    end = time.monotonic() + limit
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    report["steps"].append({"step": name, "reached": bool(done()), **status()})


def position():
    return media.status.adjusted_current_time or 0


try:
    media.play_media(
        url, content_type, title="A tune", metadata={"metadataType": 3, "title": "A tune", "artist": "Somebody"}
    )
    media.block_until_active(timeout=20)
    step("playing", lambda: media.status.player_is_playing)
    step("advances", lambda: position() > 1)
    media.pause(timeout=20)
    step("paused", lambda: media.status.player_is_paused)
    media.play(timeout=20)
    step("resumed", lambda: media.status.player_is_playing)
    media.seek(6, timeout=20)
    step("sought", lambda: media.status.player_is_playing and position() >= 6)
    cast.set_volume(0.4, timeout=20)
    step("volume", lambda: abs(cast.status.volume_level - 0.4) < 0.001)
    cast.set_volume_muted(True, timeout=20)
    step("muted", lambda: cast.status.volume_muted)
    cast.set_volume_muted(False, timeout=20)
    step("unmuted", lambda: not cast.status.volume_muted)
    media.stop(timeout=20)
    step("stopped", lambda: media.status.player_is_idle)
    cast.quit_app(timeout=20)
    step("quit", lambda: cast.app_id in (None, "E8C28D3C"))
finally:
    report["failed"] = None if sys.exc_info()[0] is None else repr(sys.exc_info()[1])
    print(json.dumps(report), flush=True)
    cast.disconnect(timeout=5)
    server.shutdown()
