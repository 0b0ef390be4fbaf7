#!/usr/bin/env python3
"""Measures the router beside its peers, in one run on one machine, and prints one table.

  load    process start to LOAD on the wire of a Cast receiver: router, pychromecast, catt
  session a connected Cast session: command to bytes on the wire (router, pychromecast), microseconds for a message,
          memory and threads of 50 idle connections
  sound   process start to the first audio packet and to the first sound at shairport-sync: router, pyatv
  cpu     CPU of one RAOP room for a stretch of playing, start and end of the process left out: router, pyatv
  start   the same at simulated receivers, by the clock of what they play: RAOP, AirPlay 2 by PTP and by NTP; router, pyatv
  rooms   CPU, memory and packet lateness of the sender with 1, 8 and 32 rooms, RAOP and AirPlay 2; receivers apart
  pairing transient pair-setup, pair-verify and pair-setup with a PIN: the time on our side
  queue   a queue of 100,000 items: what an insertion, a move, a shuffle and a look at it cost, and a start-up with it
  daemon  a command through the daemon's socket, an event to 1,000 readers, the idle daemon
  server  32 clients fetching one big file: router's media server, nginx; growth of memory; latency of far ranges

Peak memory is the sum of VmHWM over a process and its children, read while they live. Times are medians; the least is in
brackets. Every figure is printed, met or not: the aims are in the last column.
"""

import argparse
import os
import shutil
import sys
import tempfile

from airplay_bench import measure_cpu, measure_sound
from cast_bench import measure_load
from castsession_bench import measure_session
from daemon_bench import measure_daemon, measure_idle
from measuring import Table, Tools
from pairing_bench import measure_pairing
from queue_bench import measure_queue
from rooms_bench import measure_rooms, measure_start
from server_bench import measure_server


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--router", help="the router's binary; without it only peers are measured")
    options.add_argument("--benchmarks", help="the binary of Tests/Benchmarks/Sources; without it only peers are measured")
    options.add_argument(
        "--airplay-benchmarks", help="AirPlayBenchmarks; else beside --benchmarks")
    options.add_argument("--only", default="load,session,sound,start,cpu,rooms,pairing,queue,daemon,server")
    options.add_argument("--repeat", type=int, default=5, help="runs of each start-up measurement")
    options.add_argument("--seconds", type=int, default=30, help="how long CPU is counted")
    options = options.parse_args()

    airplay = os.path.abspath(
        options.airplay_benchmarks
        or os.path.join(os.path.dirname(options.benchmarks or ""), "AirPlayBenchmarks"))
    daemon = os.path.join(os.path.dirname(airplay), "DaemonBenchmarks")
    folder = tempfile.mkdtemp(prefix="router-benchmarks.")
    table = Table()
    try:
        tools = Tools(folder, options.router, os.environ.get("ROUTER_PEERS", ".build/peers"))
        jobs = {
            "load": lambda: measure_load(tools, table, options.repeat),
            "session": lambda: measure_session(
                tools, table, options.benchmarks and os.path.abspath(options.benchmarks)),
            "sound": lambda: measure_sound(tools, table, options.repeat),
            "cpu": lambda: measure_cpu(tools, table, options.seconds),
            "start": lambda: measure_start(tools, table, options.repeat),
            "rooms": lambda: measure_rooms(tools, table, options.seconds),
            "pairing": lambda: measure_pairing(table, airplay),
            "queue": lambda: measure_queue(
                table, os.path.join(os.path.dirname(os.path.abspath(options.benchmarks or "")), "QueueBenchmarks"),
                options.router, folder),
            "daemon": lambda: (
                measure_daemon(table, daemon), measure_idle(table, options.router, folder, tools.tone(600))),
            "server": lambda: measure_server(tools, table),
        }
        for name in options.only.split(","):
            if name not in jobs:
                sys.exit("benchmarks: no measurement is called %s; there are %s" % (name, ", ".join(jobs)))
            print("measuring %s …" % name, file=sys.stderr, flush=True)
            jobs[name]()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(table.text())
    sys.exit(1 if table.broken else 0)


main()
