"""What a queue of 100,000 items costs, with an engine and a store around it (one line of JSON of QueueBenchmarks), and
what it costs a daemon that comes up with it: from the start of the process to its first answer by the socket."""

import http.client
import json
import os
import socket
import statistics
import subprocess
import time

ITEMS = 100_000
STARTS = 5


class SocketConnection(http.client.HTTPConnection):
    """HTTP by a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, what):
    connection = SocketConnection(path)
    try:
        connection.request("GET", "/api/v1/" + what)
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError("%s was answered with %d" % (what, answer.status))
        return json.loads(answer.read())
    finally:
        connection.close()


def start_daemon(router, folder):
    """Milliseconds to the first answer, and to the first that knows of the session with the queue, which is looked at."""
    run = os.path.join(folder, "run")
    os.makedirs(run, exist_ok=True)
    path = os.path.join(run, "router", "router.sock")
    environment = {
        **os.environ, "HOME": folder, "XDG_STATE_HOME": os.path.join(folder, "state"), "XDG_RUNTIME_DIR": run,
        "XDG_CONFIG_HOME": os.path.join(folder, "config")}
    began = time.monotonic()
    daemon = subprocess.Popen(
        [router, "daemon", "run", "--listen", "none"], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                status = ask(path, "status")
                break
            except (OSError, http.client.HTTPException):
                if daemon.poll() is not None or time.monotonic() - began > 60:
                    raise
                time.sleep(0.002)
        answered = (time.monotonic() - began) * 1000
        while status["sessions"] < 1:
            if time.monotonic() - began > 60:
                raise ValueError("it came up without its session (%s)" % status)
            time.sleep(0.002)
            status = ask(path, "status")
        known = (time.monotonic() - began) * 1000
        # Asked after the clock was stopped: it is much to write and to read.
        sessions = ask(path, "sessions")
        items = max((len(session["queue"]["items"]) for session in sessions), default=0)
        if items < ITEMS:
            raise ValueError("it came up with %d items (%s)" % (items, status))
        return answered, known
    finally:
        # As a crash would: the next start finds what this one found.
        daemon.kill()
        daemon.wait()


def measure_queue(table, benchmarks, router, folder):
    what = "queue of 100,000 items: "
    store = os.path.join(folder, "queue", "state", "router")
    try:
        figures = json.loads(subprocess.run([benchmarks, store], check=True, stdout=subprocess.PIPE).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return table.fail(what.rstrip(": "), "router", error)
    for name, each in figures.items():
        aim = 300 if name.startswith("start-up") else 5
        figure = "%.2f ms" % each["median"]
        if each["most"] != each["median"]:
            figure += ", slowest %.2f" % each["most"]
        table.add(what + name, "router", figure, "under %d ms" % aim, each["median"] < aim)
    names = [what + "start of the daemon to " + end for end in ("its first answer", "its knowing the queue")]
    if not router:
        return
    try:
        starts = [start_daemon(os.path.abspath(router), os.path.join(folder, "queue")) for _ in range(STARTS)]
        for name, times in zip(names, zip(*starts)):
            median = statistics.median(times)
            table.add(name, "router", "%.0f ms, slowest %.0f" % (median, max(times)), "under 300 ms", median < 300)
    except (OSError, ValueError, http.client.HTTPException) as error:
        table.fail(names[0], "router", error)
