"""The daemon: a command through its socket, an event to a thousand readers, and what it takes while nothing happens."""

import json
import subprocess

COMMANDS = 500
READERS = 1000
ROUNDS = 30
IDLE_SECONDS = 20


def measure_daemon(table, benchmarks):
    measures = [
        (
            "command by the daemon's socket, to its answer", ["command", COMMANDS],
            lambda f: ("%.2f ms, 95 %% under %.2f" % (f["median"], f["p95"]), "under 1 ms", f["median"] < 1)),
        (
            "command to the last of %d readers of events" % READERS, ["fanout", READERS, ROUNDS],
            lambda f: ("%.1f ms, slowest %.1f" % (f["median"], f["max"]), "under 50 ms", f["median"] < 50)),
        (
            "idle daemon, 50 devices and 10 sessions: memory", ["idle", IDLE_SECONDS],
            lambda f: (
                "%.0f MB, %.2f %% of a processor" % (f["kilobytes"] / 1024, f["processor"] * 100),
                "under 60 MB and 0.1 %", f["kilobytes"] < 60 * 1024 and f["processor"] < 0.001)),
    ]
    for what, arguments, row in measures:
        try:
            output = subprocess.run(
                [benchmarks] + [str(argument) for argument in arguments], check=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, timeout=300).stdout
            table.add(what, "router", *row(json.loads(output)))
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            table.fail(what, "router", error)
