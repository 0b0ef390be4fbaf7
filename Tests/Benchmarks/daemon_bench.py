"""The daemon: a command through its socket, an event to a thousand readers, and what it takes while nothing happens."""

import http.client
import json
import os
import subprocess
import time

from measuring import TICK, Broken
from queue_bench import SocketConnection

COMMANDS = 500
READERS = 1000
ROUNDS = 30
IDLE_SECONDS = 30
DEVICES = 50
SESSIONS = 10
FIRST_PORT = 18_100


def measure_daemon(table, benchmarks):
    measures = [
        (
            "command by the daemon's socket, to its answer", ["command", COMMANDS],
            lambda f: ("%.2f ms, 95 %% under %.2f" % (f["median"], f["p95"]), "under 1 ms", f["median"] < 1)),
        (
            "the same, by a connection for each", ["client", COMMANDS],
            lambda f: ("%.2f ms, 95 %% under %.2f" % (f["median"], f["p95"]), "", None)),
        (
            "command to the last of %d readers of events" % READERS, ["fanout", READERS, ROUNDS],
            lambda f: ("%.1f ms, slowest %.1f" % (f["median"], f["max"]), "under 50 ms", f["median"] < 50)),
    ]
    for what, arguments, row in measures:
        try:
            output = subprocess.run(
                [benchmarks] + [str(argument) for argument in arguments], check=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, timeout=300).stdout
            table.add(what, "router", *row(json.loads(output)))
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            table.fail(what, "router", error)


def post(path, what, body):
    connection = SocketConnection(path)
    try:
        connection.request(
            "POST", "/api/v1/" + what, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        told = answer.read()
        if answer.status >= 300:
            raise Broken("%s was answered with %d: %s" % (what, answer.status, told[:300]))
    finally:
        connection.close()


def processor_seconds(pid):
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def add_share(table, what, daemon):
    """What it takes of memory and of a processor while nobody asks it for anything."""
    time.sleep(10)
    before = processor_seconds(daemon.pid)
    time.sleep(IDLE_SECONDS)
    share = (processor_seconds(daemon.pid) - before) / IDLE_SECONDS
    with open("/proc/%d/status" % daemon.pid) as file:
        sizes = dict(line.split(":") for line in file)
    # What is mapped of programs and libraries counts in the first as well.
    kilobytes, own = (int(sizes[name].split()[0]) for name in ("VmRSS", "RssAnon"))
    table.add(
        what, "router",
        "%.0f MB, %.0f of it its own, %.2f %% of a processor" % (kilobytes / 1024, own / 1024, share * 100),
        "under 60 MB and 0.1 %", kilobytes < 60 * 1024 and share < 0.001)


def measure_idle(table, router, folder, tune):
    """The real one, with everything that it has, beside simulated Cast devices: with none that plays, and with some."""
    idle = "idle daemon, %d devices" % DEVICES
    what = "daemon left alone, %d devices, %d sessions that play" % (DEVICES, SESSIONS)
    if not router:
        return
    router = os.path.abspath(router)
    home = os.path.join(folder, "idle")
    run = os.path.join(home, "run")
    for name in ("run", "config/router"):
        os.makedirs(os.path.join(home, name), exist_ok=True)
    names = ["Room %d" % number for number in range(DEVICES)]
    places = ["127.0.0.1:%d" % (FIRST_PORT + number) for number in range(DEVICES)]
    with open(os.path.join(home, "config/router/config.yaml"), "w") as file:
        file.write("version: 1\ndevices:\n")
        for name, place in zip(names, places):
            file.write('  - "cast://%s?name=%s"\n' % (place, name.replace(" ", "%20")))
    environment = {
        **os.environ, "HOME": home, "XDG_STATE_HOME": os.path.join(home, "state"), "XDG_RUNTIME_DIR": run,
        "XDG_CONFIG_HOME": os.path.join(home, "config")}
    simulate = [router, "simulate", "--fault", "silence"]
    for name, place in zip(names, places):
        simulate += ["--cast", "%s@%s" % (name, place)]
    quiet = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    house = subprocess.Popen(simulate, **quiet)
    daemon = subprocess.Popen([router, "daemon", "run", "--listen", "none"], **quiet)
    try:
        path = os.path.join(run, "router", "router.sock")
        deadline = time.monotonic() + 60
        while not os.path.exists(path) and daemon.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        add_share(table, idle, daemon)
        deadline = time.monotonic() + 60
        for room in names[:SESSIONS]:
            while True:
                try:
                    post(path, "sessions", {"what": [tune], "rooms": [room]})
                    break
                except (OSError, http.client.HTTPException, Broken):
                    if time.monotonic() > deadline or daemon.poll() is not None:
                        raise
                    time.sleep(0.2)
        add_share(table, what, daemon)
    except (OSError, ValueError, KeyError, http.client.HTTPException, Broken) as error:
        table.fail(what, "router", error)
    finally:
        for one in (daemon, house):
            one.kill()
            one.wait()
