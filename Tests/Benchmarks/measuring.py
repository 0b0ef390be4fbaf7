"""What all measurements share: processes with their cost, files to play, the table."""

import os
import signal
import statistics
import subprocess
import threading
import time

TICK = os.sysconf("SC_CLK_TCK")


class Broken(Exception):
    """A measurement that gave no figure, with why."""


class Process:
    """A child process, timed from just before it began, with the cost of its whole tree."""

    def __init__(self, command, log, environment=None, stdout=None):
        self.command = command
        self.peaks = {}
        self.began = time.monotonic()
        self.child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stdout or log, stderr=log,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        self.watching = True
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def _watch(self):
        while self.watching:
            for pid in self.tree():
                peak = status_kilobytes(pid, "VmHWM")
                if peak:
                    self.peaks[pid] = peak
            time.sleep(0.05)

    @property
    def pid(self):
        return self.child.pid

    def alive(self):
        return self.child.poll() is None

    def tree(self):
        """The process and its descendants that live now."""
        pids, index = [self.pid], 0
        while index < len(pids):
            try:
                for task in os.listdir("/proc/%d/task" % pids[index]):
                    with open("/proc/%d/task/%s/children" % (pids[index], task)) as file:
                        pids += [int(p) for p in file.read().split()]
            except OSError:
                pass
            index += 1
        return pids

    def cpu_seconds(self):
        """User and system time of the tree so far, that of children that have ended with it."""
        ticks = 0
        for place, pid in enumerate(self.tree()):
            try:
                with open("/proc/%d/stat" % pid) as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            # utime, stime, then those of children that were waited for.
            ticks += sum(int(f) for f in fields[11:15])
        return ticks / TICK

    def resident_megabytes(self):
        return sum(status_kilobytes(pid, "VmRSS") for pid in self.tree()) / 1024

    @property
    def peak_megabytes(self):
        return sum(self.peaks.values()) / 1024

    def end(self, patience=5):
        """Asks it to end, then makes it."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not self.alive():
                break
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                break
            try:
                self.child.wait(patience)
            except subprocess.TimeoutExpired:
                continue
        # A helper that outlived its parent is in the same group.
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        self.child.wait()
        self.watching = False
        self.watcher.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def status_kilobytes(pid, field):
    try:
        with open("/proc/%d/status" % pid) as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


class Tools:
    """Where things are, and files to play."""

    def __init__(self, folder, router, peers):
        self.folder = folder
        self.router = os.path.abspath(router) if router else None
        self.peers = os.path.abspath(peers)
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.environment = {
            "XDG_STATE_HOME": folder + "/state", "XDG_CONFIG_HOME": folder + "/config",
            "XDG_CACHE_HOME": folder + "/cache", "HOME": folder + "/home",
        }
        for path in self.environment.values():
            os.makedirs(path, exist_ok=True)
        self.logs = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self):
        """A new file for what a process says; `said` gives the end of it."""
        self.logs += 1
        return open(self.path("log-%d.txt" % self.logs), "w+b")

    def start(self, command, stdout=None):
        log = self.log()
        process = Process(command, log, self.environment, stdout)
        process.log = log
        return process

    def peer(self, program):
        return os.path.join(self.peers, "bin", program)

    def tone(self, seconds):
        """A FLAC file of two tones, sound from the first sample on, with tags."""
        path = self.path("tone-%d.flac" % seconds)
        if not os.path.exists(path):
            source = "aevalsrc=0.4*sin(440*2*PI*t+1)|0.4*sin(660*2*PI*t+1):s=44100:d=%d" % seconds
            run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-sample_fmt", "s16", "-metadata",
                 "title=Tone", "-metadata", "artist=Bench", path])
        return path

    def noise(self, megabytes):
        """A WAV file of about this size that does not compress."""
        path = self.path("noise-%d.wav" % megabytes)
        if not os.path.exists(path):
            seconds = megabytes * 1_000_000 // (44_100 * 4)
            source = "anoisesrc=r=44100:d=%d:a=0.2" % seconds
            run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-ac", "2", "-c:a", "pcm_s16le", path])
        return path


def said(process):
    process.log.flush()
    process.log.seek(0)
    text = process.log.read().decode(errors="replace").strip().splitlines()
    return (" / ".join(text[-2:]) or "nothing was said")[-160:]


def run(command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def wait_until(condition, seconds):
    """Whether it came true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.002)
    return condition()


def milliseconds(values):
    """Median and least of times in seconds, as text."""
    return "%.0f ms (%.0f)" % (statistics.median(values) * 1000, min(values) * 1000)


class Table:
    """Rows of: what, who, figure, aim; in the order they came."""

    def __init__(self):
        self.rows = []
        self.broken = False

    def add(self, what, who, figure, aim="", met=None):
        mark = {None: "", True: "met", False: "NOT MET"}[met]
        self.rows.append((what, who, figure, aim, mark))

    def fail(self, what, who, why):
        """A figure that could not be had. Without one of the router's, the run as a whole has failed."""
        self.rows.append((what, who, "no figure: " + str(why), "", ""))
        if who == "router":
            self.broken = True

    def text(self):
        rows = [("what", "who", "figure", "aim", "")] + self.rows
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(lines)
