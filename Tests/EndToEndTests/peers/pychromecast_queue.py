"""Plays a queue with subtitles to a simulated Cast group by pychromecast and reports what the library saw, as JSON.

usage: pychromecast_queue.py HOST PORT FILE CONTENT_TYPE SUBTITLES
Both files are served from this process, in one piece and to any web page.
"""

import http.server
import json
import sys
import threading
import time
import uuid

import pychromecast
from pychromecast.controllers.multizone import MultizoneController
from pychromecast.models import CastInfo, HostServiceInfo

host, port, path, content_type, text = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
files = {"/media": (content_type, open(path, "rb").read()), "/text": ("text/vtt", open(text, "rb").read())}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind, body = files[self.path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/media"
subtitles = f"http://127.0.0.1:{server.server_port}/text"

report = {"steps": []}
cast = pychromecast.get_chromecast_from_cast_info(
    CastInfo(
        {HostServiceInfo(host, port)}, uuid.UUID(int=1), "Google Cast Group", "group", host, port, "group", "Router"
    ),
    None,
)
zone = MultizoneController(cast.uuid)
cast.register_handler(zone)
cast.wait(timeout=20)
media = cast.media_controller


def step(name, done, limit=20):
    """Waits until a condition holds and notes whether it did."""
    end = time.monotonic() + limit
    while not done() and time.monotonic() < end:
        time.sleep(0.02)
    report["steps"].append({"step": name, "reached": bool(done()), "state": media.status.player_state})


def title(expected):
    return lambda: media.status.player_is_playing and media.status.title == expected


try:
    zone.update_members()
    step("members", lambda: sorted(zone.members) == ["a", "b"])
    media.play_media(url, content_type, title="First", subtitles=subtitles)
    media.block_until_active(timeout=20)
    step("first", title("First"))
    step("subtitles", lambda: media.status.current_subtitle_tracks == [1])
    media.play_media(url, content_type, title="Second", enqueue=True)
    step("queued", lambda: media.status.supports_queue_next)
    media.queue_next(timeout=20)
    step("second", title("Second"))
    media.queue_prev(timeout=20)
    step("first again", title("First"))
    media.disable_subtitle(timeout=20)
    step("no subtitles", lambda: not media.status.current_subtitle_tracks)
    media.set_playback_rate(1.5, timeout=20)
    step("faster", lambda: media.status.playback_rate == 1.5)
    media.skip(timeout=20)
    step("second by itself", title("Second"))
finally:
    report["failed"] = None if sys.exc_info()[0] is None else repr(sys.exc_info()[1])
    print(json.dumps(report), flush=True)
    cast.disconnect(timeout=5)
    server.shutdown()
