"""Plays a local file to a Cast receiver by the catt command and reports what it says, as one JSON object.

usage: catt_session.py CATT HOST FILE SUBTITLES
The receiver must listen on CastV2's standard port of HOST, and for HTTP on 8008 there: catt wants both.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

catt, host, path, subtitles = sys.argv[1:5]
home = tempfile.mkdtemp(prefix="router-catt-")
environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
report = {"steps": [], "failed": None}


def command(*arguments):
    return subprocess.run(
        [catt, "-d", host, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )


def information():
    answer = command("info", "-j")
    try:
        return json.loads(answer.stdout)
    except ValueError:
        return {"error": answer.stdout + answer.stderr}


def step(name, done, limit=30):
    """Asks catt until a condition holds and notes its last answer."""
    end = time.monotonic() + limit
    while True:
        now = information()
        if done(now) or time.monotonic() > end or (casting.poll() or 0) != 0:
            break
    report["steps"].append(
        {
            "step": name,
            "reached": bool(done(now)),
            "state": now.get("player_state"),
            "position": now.get("current_time"),
            "duration": now.get("duration"),
            "title": now.get("title"),
            "volume": now.get("volume_level"),
            "error": now.get("error"),
        }
    )
    if not report["steps"][-1]["reached"]:
        raise RuntimeError(f"step {name} was not reached")


def do(*arguments):
    answer = command(*arguments)
    if answer.returncode != 0:
        raise RuntimeError(f"catt {' '.join(arguments)}: {answer.stdout}{answer.stderr}")


casting = subprocess.Popen(
    [catt, "-d", host, "cast", "-s", subtitles, path],
    env=environment,
    stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT,
    text=True,
)
try:
    step("playing", lambda now: now.get("player_state") == "PLAYING", limit=90)
    do("pause")
    step("paused", lambda now: now.get("player_state") == "PAUSED")
    do("play")
    step("resumed", lambda now: now.get("player_state") == "PLAYING")
    do("seek", "20")
    step("sought", lambda now: (now.get("current_time") or 0) >= 20)
    do("volume", "40")
    step("volume", lambda now: abs((now.get("volume_level") or 0) - 0.4) < 0.001)
    do("stop")
    report["said"] = casting.communicate(timeout=30)[0]
    report["exit"] = casting.returncode
except Exception as problem:
    report["failed"] = repr(problem)
finally:
    if casting.poll() is None:
        casting.kill()
    if "said" not in report:
        report["said"] = casting.communicate()[0]
    shutil.rmtree(home, ignore_errors=True)
    print(json.dumps(report), flush=True)
