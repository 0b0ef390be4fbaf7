"""Start, cost and lateness of playing to simulated receivers: RAOP and AirPlay 2, one room and many.

The receivers are another process and are not counted. What they heard is read from their recordings, and when from the
clock of what they played, so that nothing depends on when this program looks.
"""

import json
import os
import re
import shutil
import statistics
import struct
import threading
import time
import wave

from airplay_bench import PacketWatch
from measuring import Broken, milliseconds, said, status_kilobytes, wait_until

# A model, as its record would say: without one the router takes it for what needs the longest start.
RAOP_TXT = "am=RouterSimulatedReceiver&et=0,1&cn=0,1&md=0,1,2&tp=UDP&ch=2&ss=16&sr=44100"


def address(number):
    # Of one network, whose packets all come from 127.0.0.1: the sender's clock needs ports that they have taken.
    return "127.0.0.%d" % (number + 2)


class Rooms:
    """So many simulated receivers of one kind, fresh."""

    def __init__(self, tools, kind, count, timing="ptp", keeps=True):
        self.folder = tools.path("heard") if keeps else None
        if keeps:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
        command = [tools.router, "simulate", "-o", "ndjson"]
        for number in range(count):
            name = "R%d@%s" % (number, address(number))
            command += ["--" + kind, name if kind == "raop" else "%s?timing=%s" % (name, timing)]
        if keeps:
            command += ["--record", self.folder]
        self.kind = kind
        self.uris, self.sounding, self.ports = [], set(), []
        self.process = tools.start(command, stdout=-1)
        threading.Thread(target=self._listen, daemon=True).start()
        if not wait_until(lambda: len(self.uris) == count or not self.process.alive(), 20) or len(self.uris) < count:
            self.process.end()
            raise Broken("the simulated receivers do not listen; " + said(self.process))

    def _listen(self):
        for line in self.process.child.stdout:
            event = json.loads(line)
            if event.get("event") == "listening" and "uri" in event:
                uri = event["uri"]
                if self.kind == "raop":
                    uri += "&" + RAOP_TXT
                self.ports.append(event["port"])
                self.uris.append(uri)
            elif event.get("event") == "sound":
                self.sounding.add(event["receiver"])

    def first_tone(self, name="R0"):
        """The instant at which its first sample that is not silence was heard."""
        marks = []
        with open(os.path.join(self.folder, name + ".ndjson")) as file:
            for line in file:
                event = json.loads(line)
                if event.get("event") in ("sound", "clock"):
                    marks.append((event["frame"], event["heard_ns"]))
        with open(os.path.join(self.folder, name + ".wav"), "rb") as file:
            data = file.read()
        # Its header says how long it is only when it is closed.
        samples = memoryview(data)[44:44 + (len(data) - 44) // 4 * 4].cast("h")
        first = next((index // 2 for index, sample in enumerate(samples) if abs(sample) > 200), None)
        if first is None or not marks:
            return None
        frame, heard = max((mark for mark in marks if mark[0] <= first), default=marks[0])
        return (heard + (first - frame) * 1e9 / 44_100) / 1e9

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end()


class AudioWatch(PacketWatch):
    """The first audio packet to an address: RTP of payload type 96."""

    def __init__(self, host):
        self.host = bytes(int(part) for part in host.split("."))
        super().__init__()

    def matches(self, frame, header):
        return frame[30:34] == self.host and frame[header + 8] == 0x80 and frame[header + 9] & 0x7F == 0x60


def senders(tools, rooms, kind, media):
    commands = {"router": [tools.router, "play", media, "--device", rooms.uris[0], "-o", "json"]}
    python = tools.peer("python")
    if kind == "raop":
        commands["pyatv"] = [
            python, os.path.join(tools.here, "pyatv_play.py"), address(0), str(rooms.ports[0]), media]
    else:
        facts = rooms.uris[0].partition("?")[2].split("&")
        commands["pyatv"] = [
            python, os.path.join(tools.here, "..", "EndToEndTests", "peers", "pyatv_airplay2.py"), address(0),
            str(rooms.ports[0]), media] + [fact for fact in facts if not fact.startswith("name=")]
    return commands


WAYS = [
    ("RAOP", "raop", "ptp", ("router", "pyatv"), 0.6),
    ("AirPlay 2 by PTP", "airplay2", "ptp", ("router",), 0.9),
    ("AirPlay 2 by NTP", "airplay2", "ntp", ("router", "pyatv"), 0.9),
]


def measure_start(tools, table, repeat):
    """Process start to the first packet, and to the first sound at the receiver's own clock."""
    media = tools.tone(10)
    for label, kind, timing, who_can, aim in WAYS:
        for who in who_can:
            packet, sound = label + ": process start to first audio packet", label + ": process start to first sound"
            if who == "pyatv" and not os.path.exists(tools.peer("python")):
                continue
            packets, sounds = [], []
            try:
                for _ in range(repeat):
                    with Rooms(tools, kind, 1, timing) as rooms, AudioWatch(address(0)) as watch:
                        with tools.start(senders(tools, rooms, kind, media)[who]) as sender:
                            wait_until(lambda: rooms.sounding or not sender.alive(), 30)
                            # What waits to be written is on disk by then.
                            time.sleep(2.5)
                            tone = rooms.first_tone()
                            if tone is None or watch.first is None:
                                raise Broken("nothing was heard; %s" % said(sender))
                            packets.append(watch.first - sender.began)
                            sounds.append(tone - sender.began)
            except (Broken, OSError) as error:
                table.fail(sound, who, error)
                continue
            ours = who == "router"
            table.add(packet, who, milliseconds(packets))
            table.add(sound, who, milliseconds(sounds), "under %d ms" % (aim * 1000) if ours else "",
                      statistics.median(sounds) < aim if ours else None)


def measure_rooms(tools, table, seconds, counts=(1, 8, 32)):
    """CPU, memory and lateness of the sender with so many rooms; receivers apart."""
    media = tools.tone(seconds + 45)
    for label, kind in (("RAOP", "raop"), ("AirPlay 2 by PTP", "airplay2")):
        resident = {}
        for count in counts:
            what = "%s, %d room%s" % (label, count, "" if count == 1 else "s")
            log = tools.path("router-%s-%d.log" % (kind, count))
            try:
                with Rooms(tools, kind, count, keeps=False) as rooms:
                    command = [tools.router, "play", media, "-o", "json", "--log", "AirPlayBackend*=debug",
                               "--log-file", log]
                    for uri in rooms.uris:
                        command += ["--device", uri]
                    with tools.start(command) as sender:
                        wait_until(lambda: len(rooms.sounding) == count or not sender.alive(), 30)
                        if len(rooms.sounding) < count:
                            raise Broken("%d of %d rooms sound; %s" % (len(rooms.sounding), count, said(sender)))
                        # The start is apart, and the queues are full by then.
                        time.sleep(4)
                        before, began = sender.cpu_seconds(), time.monotonic()
                        time.sleep(seconds)
                        if not sender.alive():
                            raise Broken("it ended too early; %s" % said(sender))
                        percent = 100 * (sender.cpu_seconds() - before) / (time.monotonic() - began)
                        resident[count] = status_kilobytes(sender.pid, "VmRSS")
                        sender.end(patience=15)
                met = percent < 15 if count == 32 else None
                table.add(what + ": CPU", "router", "%.2f %% of a core" % percent,
                          "under 15 %" if count == 32 else "", met)
                table.add(what + ": packet lateness, median, 99th percentile, worst of all", "router", lateness(log))
            except (Broken, OSError) as error:
                table.fail(what, "router", error)
        if len(resident) > 1:
            least, most = min(resident), max(resident)
            each = (resident[most] - resident[least]) / (most - least) / 1024
            table.add("%s: memory of each room beyond the first" % label, "router",
                      "%.2f MiB, the first with the process %.0f" % (each, resident[least] / 1024), "under 3 MiB",
                      each < 3)


def lateness(path):
    """What the sessions said at their end, in microseconds: medians over rooms, and the worst."""
    found = {"lateness50": [], "lateness99": [], "lateness-max": [], "underruns": [], "skipped": []}
    with open(path) as file:
        for line in file:
            if "stream ended" not in line:
                continue
            for key, values in found.items():
                match = re.search(r"\b%s=(\d+)" % re.escape(key), line)
                if match:
                    values.append(int(match.group(1)))
    if not found["lateness99"]:
        raise Broken("the log says nothing of lateness")
    median = statistics.median(found["lateness50"]) if found["lateness50"] else float("nan")
    text = "%.0f µs, %.0f µs, %.0f µs" % (
        median, statistics.median(found["lateness99"]), max(found["lateness-max"]))
    if sum(found["underruns"]) or sum(found["skipped"]):
        text += "; %d underruns, %d skipped" % (sum(found["underruns"]), sum(found["skipped"]))
    return text
