"""Start and cost of playing to shairport-sync, Debian's AirPlay 1 receiver."""

import array
import os
import socket
import statistics
import struct
import subprocess
import threading
import time

from measuring import Broken, milliseconds, said, wait_until

ADDRESS, PORT = "127.0.0.1", 5000
UDP_BASE, UDP_RANGE = 6100, 20
TXT = "name=Bench&et=0,1&cn=0,1&md=0,1,2&tp=UDP&ch=2&ss=16&sr=44100"


class Shairport:
    """shairport-sync that writes to standard output; notes when the first sample that is not zero came."""

    def __init__(self, tools):
        path = tools.path("shairport.conf")
        with open(path, "w") as file:
            file.write('general = { name = "Bench"; port = %d; udp_port_base = %d; udp_port_range = %d;\n'
                       '  output_backend = "stdout"; ignore_volume_control = "yes"; };\n'
                       % (PORT, UDP_BASE, UDP_RANGE))
        self.first_sound = None
        self.heard = 0
        self.log = tools.log()
        self.child = subprocess.Popen(
            ["shairport-sync", "-c", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log)
        threading.Thread(target=self._listen, daemon=True).start()
        if not wait_until(self._answers, 10):
            self.end()
            raise Broken("shairport-sync does not listen; " + said(self))

    def _answers(self):
        try:
            socket.create_connection((ADDRESS, PORT), 1).close()
            return True
        except OSError:
            return False

    def _listen(self):
        while True:
            data = self.child.stdout.read1(65536)
            if not data:
                return
            self.heard += len(data)
            # Its silence is dithered: a tone is louder than that.
            samples = array.array("h", data[:len(data) & ~1])
            if self.first_sound is None and max(max(samples, default=0), -min(samples, default=0)) > 200:
                self.first_sound = time.monotonic()

    def end(self):
        self.child.kill()
        self.child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class PacketWatch:
    """Sees the audio packets on the loopback interface: RTP of payload type 96 to the receiver's ports."""

    def __init__(self):
        self.first = None
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.socket.bind(("lo", 0))
        self.socket.settimeout(0.2)
        self.running = True
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self):
        while self.running:
            try:
                frame = self.socket.recv(2048)
            except (TimeoutError, OSError):
                continue
            instant = time.monotonic()
            header = 14 + (frame[14] & 0x0F) * 4
            if len(frame) < header + 20 or frame[23] != socket.IPPROTO_UDP:
                continue
            if self.matches(frame, header):
                self.first = self.first or instant

    def matches(self, frame, header):
        (port,) = struct.unpack_from(">H", frame, header + 2)
        return UDP_BASE <= port < UDP_BASE + UDP_RANGE and frame[header + 9] & 0x7F == 0x60

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.running = False
        self.thread.join()
        self.socket.close()


def senders(tools, media):
    commands = {}
    if tools.router:
        commands["router"] = [
            tools.router, "play", media, "--device", "raop://%s:%d?%s" % (ADDRESS, PORT, TXT), "-o", "json"]
    commands["pyatv"] = [
        tools.peer("python"), os.path.join(tools.here, "pyatv_play.py"), ADDRESS, str(PORT), media]
    return commands


def measure_sound(tools, table, repeat):
    media = tools.tone(10)
    packet, sound = "process start to first audio packet", "process start to first sound at shairport-sync"
    figures = {}
    for who, command in senders(tools, media).items():
        packets, sounds = [], []
        try:
            for _ in range(repeat):
                with Shairport(tools) as receiver, PacketWatch() as watch, tools.start(command) as sender:
                    wait_until(lambda: receiver.first_sound or not sender.alive(), 30)
                    wait_until(lambda: watch.first, 1)
                    if not receiver.first_sound or not watch.first:
                        raise Broken("nothing was heard; %s" % said(sender))
                    packets.append(watch.first - sender.began)
                    sounds.append(receiver.first_sound - sender.began)
        except (Broken, OSError) as error:
            table.fail(packet, who, error)
            continue
        figures[who] = (packets, sounds)
    for who, (packets, _) in figures.items():
        ours = who == "router"
        table.add(packet, who, milliseconds(packets), "under 150 ms" if ours else "",
                  statistics.median(packets) < 0.150 if ours else None)
    for who, (_, sounds) in figures.items():
        table.add(sound, who, milliseconds(sounds))


def measure_cpu(tools, table, seconds):
    what = "CPU of one RAOP room over %d s" % seconds
    for who, command in senders(tools, tools.tone(seconds + 15)).items():
        try:
            with Shairport(tools) as receiver, tools.start(command) as sender:
                wait_until(lambda: receiver.first_sound or not sender.alive(), 30)
                # The start is apart: connecting, probing and filling the buffers is done by now.
                time.sleep(2)
                before, began = sender.cpu_seconds(), time.monotonic()
                heard = receiver.heard
                wait_until(lambda: not sender.alive(), seconds)
                if not sender.alive():
                    raise Broken("it ended too early; %s" % said(sender))
                elapsed = time.monotonic() - began
                cpu = sender.cpu_seconds() - before
                if receiver.heard - heard < seconds * 44_100 * 4 * 0.9:
                    raise Broken("the receiver did not get the whole of it")
                sender.end()
                ours = who == "router"
                percent = 100 * cpu / elapsed
                table.add(what, who, "%.2f %% of a core" % percent, "1 %" if ours else "",
                          percent <= 1.0 if ours else None)
                table.add("peak memory of that", who, "%.0f MB" % sender.peak_megabytes)
        except (Broken, OSError) as error:
            table.fail(what, who, error)
