"""A connected Cast session: command to bytes on the wire, cost of a message, and what an idle connection takes.

The wire is a plain TCP relay between sender and receiver, outside of both, that notes when bytes come by; all processes
of a machine share the clock that it uses.
"""

import json
import os
import socket
import statistics
import subprocess
import threading
import time

from cast_bench import ADDRESS, PORT, MinimalReceiver
from measuring import Broken

COMMANDS = 60
IDLE = 50


class Relay:
    """Hands bytes on both ways and keeps the instants at which the sender's came."""

    def __init__(self):
        self.instants = []
        self.server = socket.create_server((ADDRESS, 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                sender, _ = self.server.accept()
            except OSError:
                return
            receiver = socket.create_connection((ADDRESS, PORT))
            for one in (sender, receiver):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._hand_on, args=(sender, receiver, self.instants), daemon=True).start()
            threading.Thread(target=self._hand_on, args=(receiver, sender, None), daemon=True).start()

    def _hand_on(self, source, target, instants):
        try:
            while True:
                data = source.recv(65536)
                if instants is not None:
                    instants.append(time.monotonic())
                if not data:
                    break
                target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def close(self):
        # Closing alone would not wake who waits in accept.
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def measure_session(tools, table, benchmarks):
    measure_commands(tools, table, benchmarks)
    if benchmarks:
        measure_messages(table, benchmarks)
        measure_idle(table, benchmarks)


def measure_commands(tools, table, benchmarks):
    what = "command to bytes on the wire, connected"
    senders = {
        "router": benchmarks and [benchmarks, "commands"],
        "pychromecast": [tools.peer("python"), os.path.join(tools.here, "pychromecast_commands.py")],
    }
    for who, command in senders.items():
        if not command:
            continue
        try:
            times = commands(tools, command)
        except (Broken, OSError, ValueError) as error:
            table.fail(what, who, error)
            continue
        median = statistics.median(times) * 1000
        figure = "%.2f ms (%.2f), slowest %.2f" % (median, min(times) * 1000, max(times) * 1000)
        table.add(what, who, figure, *(("under 2 ms", median < 2) if who == "router" else ()))


def commands(tools, command):
    """Seconds from each command to the first bytes that came by after it."""
    relay = Relay()
    try:
        with MinimalReceiver(tools):
            with open(tools.path("commands.txt"), "wb+") as output:
                done = subprocess.run(
                    command + [ADDRESS, str(relay.port), str(COMMANDS)], stdin=subprocess.DEVNULL, stdout=output,
                    stderr=subprocess.PIPE, timeout=60)
                output.seek(0)
                began = [json.loads(line)["began"] for line in output.read().splitlines()]
    except subprocess.TimeoutExpired:
        raise Broken("it did not end")
    finally:
        relay.close()
    if len(began) < COMMANDS:
        raise Broken("only %d commands; %s" % (len(began), done.stderr.decode(errors="replace").strip()[-160:]))
    times = []
    for instant in began:
        after = [wire for wire in relay.instants if wire >= instant]
        if after:
            times.append(min(after) - instant)
    # The very first command pays for what is made only once.
    return times[1:]


def measure_messages(table, benchmarks):
    what = "one MEDIA_STATUS of %d bytes: encode, decode, dispatch"
    try:
        figures = json.loads(subprocess.run([benchmarks, "codec"], check=True, stdout=subprocess.PIPE).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return table.fail("one message: encode, decode, dispatch", "router", error)
    table.add(
        what % figures["bytes"], "router",
        "%.1f µs, %.1f µs, %.1f µs" % (figures["encode"], figures["decode"], figures["dispatch"]))


def measure_idle(table, benchmarks):
    what = "%d connected idle receivers" % IDLE
    server = subprocess.Popen([benchmarks, "serve", str(IDLE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        ports = [str(port) for port in json.loads(server.stdout.readline())["ports"]]
        output = subprocess.run(
            [benchmarks, "idle"] + ports, check=True, stdout=subprocess.PIPE, timeout=120).stdout.splitlines()
        first, all_of_them = json.loads(output[0]), json.loads(output[-1])
        if all_of_them["connected"] != IDLE:
            raise Broken("only %d connected" % all_of_them["connected"])
    except (OSError, ValueError, IndexError, Broken, subprocess.SubprocessError) as error:
        return table.fail(what, "router", error)
    finally:
        server.stdin.close()
        server.wait()
    each = (all_of_them["kilobytes"] - first["kilobytes"]) / 1024 / (IDLE - 1)
    table.add(what + ": memory of each", "router", "%.2f MiB" % each, "under 1 MiB", each < 1)
    more = all_of_them["threads"] - first["threads"]
    table.add(
        what + ": threads", "router", "%d, %d more than with one" % (all_of_them["threads"], more),
        "none for each", more < IDLE // 4)
