"""Plays a file to a Cast receiver by VLC and drives it by its remote-control interface; reports as one JSON object.

usage: vlc_session.py VLC HOST PORT FILE JOURNAL
JOURNAL is the receiver's journal (JSON lines): VLC's interface does not say what the receiver does, so each step waits
for the receiver's word. VLC refuses to run as root, so root runs it as nobody.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

vlc, host, port, path, journal = sys.argv[1:6]
home = tempfile.mkdtemp(prefix="router-vlc-")
os.chmod(home, 0o777)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


control_port, http_port = free_port(), free_port()

report = {"steps": [], "failed": None}
prefix = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
player = subprocess.Popen(
    prefix
    + ["env", f"HOME={home}", vlc, "-I", "oldrc", "--rc-fake-tty", f"--rc-host=127.0.0.1:{control_port}"]
    + ["--no-one-instance", f"--sout=#chromecast{{ip={host},port={port},http-port={http_port}}}"]
    + ["--demux-filter=demux_chromecast", "--no-sout-chromecast-video", path],
    stdin=subprocess.DEVNULL,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
)


def events():
    with open(journal) as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def connect():
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", control_port), timeout=5)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def ask(command):
    """One command of the rc interface; what it says until it is quiet."""
    control.sendall(command.encode() + b"\n")
    control.settimeout(0.3)
    said = b""
    try:
        while chunk := control.recv(4096):
            said += chunk
    except TimeoutError:
        pass
    return said.decode(errors="replace")


def vlc_state():
    found = re.search(r"state (\w+)", ask("status"))
    return found and found[1]


def vlc_time():
    found = re.search(r"(\d+)\s*$", ask("get_time").replace("> ", "").strip())
    return int(found[1]) if found else None


def step(name, done, limit=30):
    """Waits until the receiver's journal says so, then notes what VLC says."""
    end = time.monotonic() + limit
    while not done(events()) and time.monotonic() < end:
        time.sleep(0.05)
    report["steps"].append(
        {"step": name, "reached": bool(done(events())), "state": vlc_state(), "position": vlc_time()}
    )
    if not report["steps"][-1]["reached"]:
        raise RuntimeError(f"step {name} was not reached")


def count(word):
    return lambda seen: sum(event["event"] == word for event in seen)


def more(word):
    before = count(word)(events())
    return lambda seen: count(word)(seen) > before


try:
    control = connect()
    step("playing", count("playing"), limit=15)
    step("advances", lambda seen: vlc_time() is not None and vlc_time() >= 1)
    goal = more("pause")
    ask("pause")
    step("paused", goal)
    goal = more("play")
    ask("pause")
    step("resumed", goal)
    goal = more("playing")
    ask("seek 20")
    step("sought", goal)
    report["volume_said"] = ask("volume 128")
    goal = more("stop")
    ask("stop")
    step("stopped", lambda seen: goal(seen) or count("senderLeft")(seen) > 0)
    # The rc interface's own shutdown leaves VLC waiting for its standard input.
    player.terminate()
    player.wait(timeout=20)
except Exception as problem:
    report["failed"] = repr(problem)
finally:
    if player.poll() is None:
        player.kill()
    report["said"] = player.communicate()[0]
    shutil.rmtree(home, ignore_errors=True)
    print(json.dumps(report), flush=True)
