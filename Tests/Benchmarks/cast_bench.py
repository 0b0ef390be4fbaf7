"""Process start to LOAD on the wire, at a Cast receiver that shares no code with any of the senders."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from measuring import Broken, milliseconds, said, wait_until

# catt knows receivers by address only, on the port that they all have.
ADDRESS, PORT = "10.77.0.5", 8009


class DeviceInfo(BaseHTTPRequestHandler):
    """What a device says of itself on port 8008: catt will not play without it."""

    def do_GET(self):
        body = json.dumps({"name": "Bench", "device_info": {
            "name": "Bench", "model_name": "Bench", "manufacturer": "Bench",
            "ssdp_udn": "0a1b2c3d-0000-4000-8000-000000000001",
            "capabilities": {"display_supported": True, "multizone_supported": False}}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class MinimalReceiver:
    """The receiver of the end-to-end tests, with the instant at which each of its lines came."""

    def __init__(self, tools, *arguments):
        script = os.path.join(tools.here, "..", "EndToEndTests", "peers", "minimal_cast_receiver.py")
        if not os.path.exists(script):
            raise Broken("there is no minimal_cast_receiver.py")
        self.events = []
        self.child = subprocess.Popen(
            [sys.executable, script, "--address", ADDRESS, "--port", str(PORT), *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        if not wait_until(lambda: self.first("listening"), 10):
            self.end()
            raise Broken("the minimal receiver does not listen on %s:%d" % (ADDRESS, PORT))

    def _read(self):
        for line in self.child.stdout:
            instant = time.monotonic()
            try:
                self.events.append((instant, json.loads(line)))
            except ValueError:
                pass

    def first(self, kind, after=0.0, **fields):
        for instant, event in list(self.events):
            if event.get("event") == kind and instant >= after and fields.items() <= event.items():
                return instant, event
        return None

    def end(self):
        self.child.kill()
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def measure_load(tools, table, repeat):
    media = tools.tone(10)
    what = "process start to LOAD at a Cast receiver"
    senders = {
        "router": tools.router and [
            tools.router, "play", media, "--device", "cast://%s:%d" % (ADDRESS, PORT), "-o", "json"],
        "pychromecast": [tools.peer("python"), os.path.join(tools.here, "pychromecast_load.py"), ADDRESS, str(PORT)],
        "catt": [tools.peer("catt"), "-d", ADDRESS, "cast", media],
    }
    device = ThreadingHTTPServer((ADDRESS, 8008), DeviceInfo)
    threading.Thread(target=device.serve_forever, daemon=True).start()
    figures = {}
    for who, command in senders.items():
        if not command:
            continue
        times, peaks, failed = [], [], 0
        try:
            while len(times) < repeat:
                try:
                    one_load(tools, command, times, peaks)
                except Broken:
                    # pychromecast writes to one TLS connection from two threads, and breaks it now and then.
                    failed += 1
                    if who == "router" or failed > 3 * repeat:
                        raise
        except (Broken, OSError) as error:
            table.fail(what, who, error)
            continue
        figures[who] = (times, max(peaks), failed)
    device.shutdown()
    device.server_close()
    theirs = figures.get("pychromecast")
    for who, (times, _, failed) in figures.items():
        aim, met = "", None
        if who == "router" and theirs:
            aim = "at most a third of pychromecast's"
            met = statistics.median(times) <= statistics.median(theirs[0]) / 3
        table.add(what, who, milliseconds(times) + (", %d more failed" % failed if failed else ""), aim, met)
    for who, (_, peak, _) in figures.items():
        table.add("peak memory of that", who, "%.0f MB" % peak)


def one_load(tools, command, times, peaks):
    """Adds one run's figures. The receiver is a new one each time: nobody joins what another left behind."""
    with MinimalReceiver(tools, "--duration", "60") as receiver, tools.start(command) as sender:
        found = lambda: receiver.first("message", sender.began, type="LOAD")
        wait_until(lambda: found() or not sender.alive(), 30)
        if not found():
            raise Broken("no LOAD came; %s" % said(sender))
        # What is asked for after it, artwork or a status, belongs to the memory that it takes.
        time.sleep(0.3)
        sender.end()
        times.append(found()[0] - sender.began)
        peaks.append(sender.peak_megabytes)
