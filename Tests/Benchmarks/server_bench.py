"""The router's media server beside nginx: many clients, memory, far ranges. One client program for both."""

import os
import random
import socket
import statistics
import threading
import time
from urllib.parse import urlsplit

from cast_bench import ADDRESS, PORT, MinimalReceiver
from measuring import Broken, said, wait_until

CLIENTS = 32
NGINX_PORT = 8088
MEGABYTES = 256


class Answer:
    """One HTTP/1.1 request on a connection of its own; the body is let go of in the kernel, uncopied."""

    def __init__(self, url, headers=""):
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port or 80), 20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        path = parts.path + ("?" + parts.query if parts.query else "")
        self.socket.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\n%sConnection: close\r\n\r\n"
                             % (path, parts.netloc, headers)).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(4096)
            if not part:
                raise Broken("the connection was closed before an answer")
            head += part
        head, rest = head.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        fields = {k.strip().lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
        self.length = int(fields["content-length"])
        self.read = len(rest)

    def drain(self, until=None):
        """Bytes of body that came, to its end or until an instant."""
        sink = bytearray(1 << 20)
        while self.read < self.length and (until is None or time.monotonic() < until):
            count = self.socket.recv_into(sink, len(sink), socket.MSG_TRUNC)
            if not count:
                break
            self.read += count
        return self.read

    def close(self):
        self.socket.close()


def throughput(url, seconds):
    """Megabytes a second that all clients get together."""
    began = time.monotonic()
    until = began + seconds
    counts, errors = [0] * CLIENTS, []

    def client(number):
        try:
            while time.monotonic() < until:
                answer = Answer(url)
                if answer.status != 200:
                    raise Broken("status %d" % answer.status)
                counts[number] += answer.drain(until)
                answer.close()
        except (OSError, Broken, ValueError, KeyError) as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Broken("%d of %d clients failed: %r" % (len(errors), CLIENTS, errors[0]))
    if seconds > 5 and min(counts) == 0:
        raise Broken("%d of %d clients got nothing in %d s" % (counts.count(0), CLIENTS, seconds))
    return sum(counts) / 1e6 / (time.monotonic() - began)


def far_ranges(url, size, count=200):
    """Seconds from connecting to the last byte of 64 KiB from far into the file."""
    chance = random.Random(7)
    times = []
    for _ in range(count):
        first = chance.randrange(size // 2, size - 65536)
        began = time.monotonic()
        answer = Answer(url, "Range: bytes=%d-%d\r\n" % (first, first + 65535))
        if answer.status != 206 or answer.drain() != 65536:
            raise Broken("a range was answered with %d and %d bytes" % (answer.status, answer.read))
        times.append(time.monotonic() - began)
        answer.close()
    return times


def measured(process, url, size):
    far_ranges(url, size, 20)
    throughput(url, 1)
    before = process.resident_megabytes()
    rate = throughput(url, 10)
    growth = process.resident_megabytes() - before
    far = far_ranges(url, size)
    return {"rate": rate, "growth": growth, "far": far, "peak": process.peak_megabytes}


def measure_nginx(tools, media):
    conf = tools.path("nginx.conf")
    with open(conf, "w") as file:
        file.write(
            "daemon off; user root; worker_processes auto; pid %s; error_log stderr;\n"
            "events { worker_connections 1024; }\n"
            "http { access_log off; sendfile on; tcp_nopush on; types { audio/wav wav; }\n"
            "  client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s;\n"
            "  scgi_temp_path %s; server { listen %s:%d; root %s; } }\n"
            % (tools.path("nginx.pid"), *[tools.path("nginx-temp")] * 5, ADDRESS, NGINX_PORT,
               os.path.dirname(media)))
    with tools.start(["nginx", "-c", conf, "-e", "stderr"]) as server:
        url = "http://%s:%d/%s" % (ADDRESS, NGINX_PORT, os.path.basename(media))

        def answers():
            try:
                Answer(url, "Range: bytes=0-0\r\n").close()
                return True
            except OSError:
                return not server.alive()

        if not wait_until(answers, 10) or not server.alive():
            raise Broken("nginx does not start; " + said(server))
        return measured(server, url, os.path.getsize(media))


def measure_router(tools, media):
    command = [tools.router, "play", media, "--device", "cast://%s:%d" % (ADDRESS, PORT), "-o", "json"]
    # Pieces of 16 MiB: the receiver has fetched the file before the clients begin.
    with MinimalReceiver(tools, "--duration", "3600", "--piece", str(1 << 24)) as receiver, \
            tools.start(command) as server:
        wait_until(lambda: receiver.first("fetched") or not server.alive(), 60)
        load = receiver.first("message", type="LOAD")
        if not load or not receiver.first("fetched"):
            raise Broken("the receiver was handed nothing that it could fetch; " + said(server))
        media_fields = load[1]["message"]["media"]
        url = media_fields.get("contentUrl") or media_fields["contentId"]
        return measured(server, url, os.path.getsize(media))


def measure_server(tools, table):
    media = tools.noise(MEGABYTES)
    results = {}
    for who, measure in (("router", tools.router and measure_router), ("nginx", measure_nginx)):
        if not measure:
            continue
        try:
            results[who] = measure(tools, media)
        except (Broken, OSError, ValueError, KeyError) as error:
            table.fail("media server, %d clients" % CLIENTS, who, error)
    peer = results.get("nginx")
    for who, result in results.items():
        ours = who == "router"
        table.add("media server, %d clients together" % CLIENTS, who, "%.0f MB/s" % result["rate"],
                  "over 200 MB/s" if ours else "", result["rate"] > 200 if ours else None)
    for who, result in results.items():
        ours = who == "router"
        table.add("growth of memory meanwhile", who, "%+.1f MB" % result["growth"], "flat (under 8 MB)" if ours else "",
                  result["growth"] < 8 if ours else None)
    for who, result in results.items():
        far = sorted(result["far"])
        median, high = statistics.median(far) * 1000, far[int(len(far) * 0.95)] * 1000
        aim, met = "", None
        if who == "router" and peer:
            aim, met = "within twice nginx's", median <= 2 * statistics.median(peer["far"]) * 1000
        table.add("64 KiB from far into the file", who, "%.2f ms (95 %%: %.2f)" % (median, high), aim, met)
    for who, result in results.items():
        table.add("peak memory of that", who, "%.0f MB" % result["peak"])
