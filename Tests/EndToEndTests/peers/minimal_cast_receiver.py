#!/usr/bin/env python3
"""A minimal Google Cast receiver for tests, independent of the router's own code.

It shares nothing with the sender under test: its own protobuf handling, its own TLS, its own idea of the protocol. It
takes CastV2 over TLS, launches the Default Media Receiver, and on LOAD really fetches the URL by several Range requests.
Everything that happens is one JSON line on standard output:

  {"event": "listening", "port": 40001}
  {"event": "connected", "peer": "127.0.0.1:51234"}
  {"event": "message", "namespace": "…", "type": "LOAD", "destination": "…"}
  {"event": "fetched", "bytes": 123, "sha256": "…", "ranges": ["bytes=0-65535", …], "statuses": [206, …]}
  {"event": "status", "playerState": "PLAYING", "currentTime": 0.0}
  {"event": "disconnected"}

Needs Python 3.9 and the `openssl` command; ffprobe gives durations where LOAD has none.
"""

import argparse
import hashlib
import json
import os
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PREFIX = "urn:x-cast:com.google.cast."
CONNECTION = PREFIX + "tp.connection"
HEARTBEAT = PREFIX + "tp.heartbeat"
RECEIVER = PREFIX + "receiver"
MEDIA = PREFIX + "media"
APP = "CC1AD845"

printing = threading.Lock()


def report(event, **details):
    with printing:
        print(json.dumps({"event": event, **details}), flush=True)


# Protobuf, as far as this one message needs it.


def varint(value):
    out = bytearray()
    while True:
        low = value & 0x7F
        value >>= 7
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def text_field(number, text):
    raw = text.encode()
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def pack(source, destination, namespace, payload):
    body = b"\x08\x00" + text_field(2, source) + text_field(3, destination) + text_field(4, namespace)
    body += b"\x28\x00" + text_field(6, json.dumps(payload))
    return struct.pack(">I", len(body)) + body


def unpack(body):
    fields = {}
    at = 0
    while at < len(body):
        key, at = read_varint(body, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            fields[number], at = read_varint(body, at)
        elif wire == 2:
            length, at = read_varint(body, at)
            if at + length > len(body):
                raise ValueError("field runs past the message")
            fields[number] = body[at : at + length]
            at += length
        elif wire == 5:
            at += 4
        elif wire == 1:
            at += 8
        else:
            raise ValueError("wire type %d" % wire)
    return fields


class Fetcher:
    """Fetches a URL as a player does: a look at its head, then the rest in pieces."""

    def __init__(self, piece):
        self.piece = piece

    def get(self, url, first, last):
        wanted = "bytes=%d-%s" % (first, "" if last is None else last)
        request = urllib.request.Request(url, headers={"Range": wanted, "Origin": "https://www.gstatic.com"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return wanted, answer.status, dict(answer.headers.items()), answer.read()

    def fetch(self, url):
        data, ranges, statuses = bytearray(), [], []
        wanted, status, headers, part = self.get(url, 0, self.piece - 1)
        ranges.append(wanted)
        statuses.append(status)
        data += part
        total = len(part)
        content_range = next((v for k, v in headers.items() if k.lower() == "content-range"), "")
        match = re.match(r"bytes (\d+)-(\d+)/(\d+)", content_range)
        if status == 206 and match:
            total = int(match.group(3))
            while len(data) < total:
                last = min(len(data) + self.piece, total) - 1
                wanted, status, _, part = self.get(url, len(data), last)
                ranges.append(wanted)
                statuses.append(status)
                if status != 206 or not part:
                    raise OSError("range %s answered with %d and %d bytes" % (wanted, status, len(part)))
                data += part
        return bytes(data), ranges, statuses


def probe_duration(data):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        command = ["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", file.name]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=20)
            return float(answer.stdout.strip())
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None


class Player:
    """The app: one media session at a time, a clock that advances while it plays."""

    def __init__(self, receiver):
        self.receiver = receiver
        self.lock = threading.RLock()
        self.session = 0
        self.state = "IDLE"
        self.idle_reason = None
        self.media = None
        self.duration = None
        self.position = 0.0
        self.since = time.monotonic()
        self.rate = 1.0
        self.volume = {"level": 1.0, "muted": False}
        self.told_media = 0
        self.generation = 0

    def now(self):
        position = self.position
        if self.state == "PLAYING":
            position += time.monotonic() - self.since
        return min(position, self.duration) if self.duration else position

    def move(self, state, position=None, reason=None):
        self.position = self.now() if position is None else position
        self.since = time.monotonic()
        self.state, self.idle_reason = state, reason

    def status(self, extended=None):
        if not self.session:
            return []
        entry = {
            "mediaSessionId": self.session, "playbackRate": self.rate, "playerState": self.state,
            "currentTime": round(self.now(), 3), "supportedMediaCommands": 12303, "volume": self.volume,
        }
        if self.state == "IDLE" and self.idle_reason:
            entry["idleReason"] = self.idle_reason
        # The media goes along once; later statuses leave it out, as devices do.
        if self.told_media != self.session and self.media is not None:
            entry["media"] = dict(self.media)
            if self.duration and self.state != "IDLE":
                entry["media"]["duration"] = self.duration
                self.told_media = self.session
        if extended:
            entry["extendedStatus"] = extended
        return [entry]

    def push(self, to="*", request=0, extended=None):
        statuses = self.status(extended)
        self.receiver.send(self.receiver.transport, to, MEDIA, {
            "type": "MEDIA_STATUS", "requestId": request, "status": statuses})
        report("status", playerState=self.state, idleReason=self.idle_reason, currentTime=round(self.now(), 3),
               mediaSessionId=self.session, requestId=request)

    def load(self, sender, message):
        with self.lock:
            if self.session and self.state != "IDLE":
                self.move("IDLE", reason="INTERRUPTED")
                self.push()
            self.generation += 1
            generation = self.generation
            self.session += 1
            self.media = message.get("media") or {}
            self.duration = None
            self.move("IDLE", position=float(message.get("currentTime") or 0))
            self.push(extended={"playerState": "LOADING", "media": self.media, "mediaSessionId": self.session})
        threading.Thread(target=self.play, args=(sender, message, generation), daemon=True).start()

    def play(self, sender, message, generation):
        options = self.receiver.options
        url = self.media.get("contentUrl") or self.media.get("contentId") or ""
        request = message.get("requestId", 0)
        if options.load_failed is not None:
            return self.failed(sender, request, options.load_failed)
        try:
            data, ranges, statuses = Fetcher(options.piece).fetch(url)
        except (OSError, ValueError, urllib.error.URLError) as error:
            report("fetch-failed", error=str(error))
            return self.failed(sender, request, 301)
        report("fetched", bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), ranges=ranges, statuses=statuses)
        duration = options.duration or self.media.get("duration") or probe_duration(data) or 5.0
        with self.lock:
            if generation != self.generation:
                self.receiver.send(self.receiver.transport, sender, MEDIA, {
                    "type": "LOAD_CANCELLED", "requestId": request})
                return
            self.duration = float(duration)
            self.move("BUFFERING")
            self.push(to=sender, request=request)
            self.push()
            self.move("PLAYING" if message.get("autoplay", True) not in (False, "false") else "PAUSED")
            self.push()
        self.run(generation)

    def run(self, generation):
        while True:
            time.sleep(0.05)
            with self.lock:
                if generation != self.generation or self.state == "IDLE":
                    return
                if self.state == "PLAYING" and self.now() >= self.duration:
                    self.move("IDLE", position=self.duration, reason="FINISHED")
                    self.push()
                    return

    def failed(self, sender, request, code):
        with self.lock:
            self.move("IDLE", reason="ERROR")
            self.receiver.send(self.receiver.transport, sender, MEDIA, {
                "type": "LOAD_FAILED", "requestId": request, "detailedErrorCode": code})
            self.push()

    def handle(self, sender, message):
        kind, request = message.get("type"), message.get("requestId", 0)
        if kind == "LOAD":
            return self.load(sender, message)
        with self.lock:
            if kind == "GET_STATUS":
                return self.push(to=sender, request=request)
            if message.get("mediaSessionId") != self.session or self.state == "IDLE":
                return self.receiver.send(self.receiver.transport, sender, MEDIA, {
                    "type": "INVALID_REQUEST", "requestId": request, "reason": "INVALID_MEDIA_SESSION_ID"})
            if kind == "PLAY":
                self.move("PLAYING")
            elif kind == "PAUSE":
                self.move("PAUSED")
            elif kind == "SEEK":
                resume = message.get("resumeState")
                state = {"PLAYBACK_START": "PLAYING", "PLAYBACK_PAUSE": "PAUSED"}.get(resume, self.state)
                self.move(state, position=float(message.get("currentTime") or 0))
            elif kind == "STOP":
                self.move("IDLE", reason="CANCELLED")
            elif kind == "SET_VOLUME":
                self.volume.update(message.get("volume") or {})
            else:
                return self.receiver.send(self.receiver.transport, sender, MEDIA, {
                    "type": "INVALID_REQUEST", "requestId": request, "reason": "INVALID_COMMAND"})
            self.push(to=sender, request=request)
            self.push()


class Receiver:
    """One connection of one sender."""

    def __init__(self, stream, options):
        self.stream = stream
        self.options = options
        self.using = threading.Lock()
        self.connected = set()
        self.transport = "web-%d" % (os.getpid() % 1000)
        self.session = "session-%d" % (os.getpid() % 1000)
        self.running = options.running
        self.volume = {"controlType": "attenuation", "level": 0.5, "muted": False, "stepInterval": 0.05}
        self.player = Player(self)

    def send(self, source, destination, namespace, payload):
        data = pack(source, destination, namespace, payload)
        with self.using:
            while data:
                try:
                    data = data[self.stream.send(data) :]
                except ssl.SSLWantWriteError:
                    select.select([], [self.stream], [], 5)
                except OSError:
                    return

    def receive(self):
        """Bytes as they come; none at the end. A TLS object must not be read and written at once by two threads."""
        while True:
            with self.using:
                try:
                    return self.stream.recv(65536)
                except ssl.SSLWantReadError:
                    pass
                except OSError:
                    return b""
            select.select([self.stream], [], [])

    def receiver_status(self):
        status = {"userEq": {}, "volume": self.volume}
        if self.running:
            status["applications"] = [{
                "appId": APP, "displayName": "Default Media Receiver", "isIdleScreen": False, "statusText": "",
                "namespaces": [{"name": MEDIA}], "sessionId": self.session, "transportId": self.transport}]
        return status

    def tell(self, destination, request):
        self.send("receiver-0", destination, RECEIVER, {
            "type": "RECEIVER_STATUS", "requestId": request, "status": self.receiver_status()})

    def handle(self, source, destination, namespace, message):
        kind, request = message.get("type"), message.get("requestId", 0)
        report("message", namespace=namespace, type=kind, destination=destination, source=source,
               message=message if namespace != HEARTBEAT else None)
        if namespace == HEARTBEAT:
            if kind == "PING":
                self.send(destination, source, HEARTBEAT, {"type": "PONG"})
            return
        if namespace == CONNECTION:
            if kind == "CONNECT":
                self.connected.add((source, destination))
                if destination not in ("receiver-0", self.transport):
                    self.send(destination, source, CONNECTION, {"type": "CLOSE"})
            elif kind == "CLOSE":
                self.connected.discard((source, destination))
            return
        if (source, destination) not in self.connected:
            return report("dropped", type=kind, destination=destination)
        if namespace == RECEIVER:
            self.handle_receiver(source, kind, request, message)
        elif namespace == MEDIA and self.running:
            self.player.handle(source, message)

    def handle_receiver(self, source, kind, request, message):
        if kind == "GET_STATUS":
            self.tell(source, request)
        elif kind == "GET_APP_AVAILABILITY":
            answers = {i: "APP_AVAILABLE" if i == APP else "APP_UNAVAILABLE" for i in message.get("appId", [])}
            self.send("receiver-0", source, RECEIVER, {
                "requestId": request, "responseType": "GET_APP_AVAILABILITY", "availability": answers})
        elif kind == "LAUNCH":
            if message.get("appId") != APP:
                return self.send("receiver-0", source, RECEIVER, {
                    "type": "LAUNCH_ERROR", "requestId": request, "reason": "NOT_FOUND"})
            if self.options.launch_status:
                self.send("receiver-0", source, RECEIVER, {
                    "type": "LAUNCH_STATUS", "launchRequestId": request, "status": "USER_ALLOWED"})
            self.running = True
            self.tell(source, request)
            self.tell("*", 0)
        elif kind == "STOP":
            if message.get("sessionId") not in (None, self.session):
                return self.send("receiver-0", source, RECEIVER, {
                    "type": "INVALID_REQUEST", "requestId": request, "reason": "INVALID_SESSION_ID"})
            self.running = False
            self.player = Player(self)
            self.tell(source, request)
            self.tell("*", 0)
        elif kind == "SET_VOLUME":
            self.volume.update(message.get("volume") or {})
            self.tell(source, request)
            self.tell("*", 0)
        else:
            self.send("receiver-0", source, RECEIVER, {
                "type": "INVALID_REQUEST", "requestId": request, "reason": "INVALID_COMMAND"})

    def serve(self):
        data = b""
        while True:
            part = self.receive()
            if not part:
                break
            data += part
            while len(data) >= 4:
                (length,) = struct.unpack(">I", data[:4])
                if not 0 < length <= 65536:
                    report("broken", length=length)
                    return
                if len(data) < 4 + length:
                    break
                body, data = data[4 : 4 + length], data[4 + length :]
                if self.options.never_answer:
                    continue
                fields = unpack(body)
                try:
                    message = json.loads(fields.get(6, b"{}"))
                except ValueError:
                    report("broken", payload=fields.get(6, b"").decode(errors="replace"))
                    continue
                self.handle(fields[2].decode(), fields[3].decode(), fields[4].decode(), message)


def make_certificate(folder):
    certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=minimal-cast-receiver", "-keyout", key, "-out", certificate],
        check=True, capture_output=True)
    return certificate, key


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--address", default="127.0.0.1")
    options.add_argument("--port", type=int, default=0, help="0: any free one, which the first line tells")
    options.add_argument("--launch-status", action="store_true", help="answer LAUNCH by LAUNCH_STATUS first")
    options.add_argument("--running", action="store_true", help="the app runs already, to be joined")
    options.add_argument("--duration", type=float, help="seconds that every item lasts, whatever the file says")
    options.add_argument("--piece", type=int, default=16384, help="bytes of one Range request")
    options.add_argument("--load-failed", type=int, metavar="CODE", help="answer LOAD by LOAD_FAILED")
    options.add_argument("--until-eof", action="store_true", help="end when standard input does")
    options.add_argument("--never-answer", action="store_true", help="take messages, say nothing")
    options = options.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*make_certificate(folder))
        family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((options.address, options.port))
        listener.listen(8)
        report("listening", port=listener.getsockname()[1])
        # A test that dies takes its end of standard input with it, and this process follows.
        watched = [listener, sys.stdin] if options.until_eof else [listener]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if sys.stdin in ready and not os.read(sys.stdin.fileno(), 1):
                return
            if listener not in ready:
                continue
            raw, peer = listener.accept()
            threading.Thread(target=session, args=(context, raw, peer, options), daemon=True).start()


def session(context, raw, peer, options):
    report("connected", peer="%s:%d" % peer[:2])
    try:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(raw, server_side=True) as stream:
            stream.setblocking(False)
            Receiver(stream, options).serve()
    except (OSError, ValueError, KeyError, IndexError) as error:
        report("error", error=repr(error))
    report("disconnected")


if __name__ == "__main__":
    main()
