"""Debian's Chromium mirrors a tab to `router simulate --cast`, all inside Tests/lab.sh --ethernet.

Starts the receiver, which announces itself by mDNS; serves a page of one colour that plays one tone; lets Chromium, under
Xvfb and driven through its DevTools pipe, find the receiver, verify it under a root certificate, mirror the page and
stop. Prints what it does, one JSON object a line; the last one is the report: {"steps": [...], "failed": ...,
"crashed": whether Chromium ended by itself}.

  chromium_mirroring.py ROUTER FOLDER [--seconds N] [--colour R,G,B] [--tone HZ] [--wrong-root] [--fault F]...

FOLDER gets the receiver's recordings and Chromium's log. With --wrong-root Chromium is given another root, and the
report is of the refusal.
"""

import argparse
import http.server
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

ADDRESS = "10.78.0.1"
NAME = "Fernseher"

PAGE = """<!doctype html><title>known colour, known tone</title>
<body style="margin:0;background:rgb({colour})"><script>
const context = new AudioContext({{sampleRate: 48000}});
const tone = context.createOscillator();
const level = context.createGain();
tone.frequency.value = {tone};
level.gain.value = 0.4;
tone.connect(level).connect(context.destination);
tone.start();
// A page that never changes is hardly sent: one pixel blinks.
const dot = document.body.appendChild(document.createElement("div"));
dot.style = "position:absolute;left:0;top:0;width:2px;height:2px";
setInterval(() => {{ dot.style.background = dot.style.background ? "" : "black"; }}, 40);
</script>"""


def say(**fields):
    print(json.dumps(fields), flush=True)


class Failed(Exception):
    pass


class Ended(Failed):
    """Chromium ended without having been told to."""


class DevTools:
    """Chromium's --remote-debugging-pipe: JSON messages that end in a zero byte."""

    def __init__(self, arguments, environment, log):
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()

        def arrange():
            # Through high numbers, in case one of ours is 3 or 4 itself.
            os.dup2(to_read, 103)
            os.dup2(back_write, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            arguments, env=environment, preexec_fn=arrange, pass_fds=(3, 4, to_read, back_write),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        os.close(to_read)
        os.close(back_write)
        self.rest = b""
        self.number = 0
        self.sinks = []
        self.issue = None

    def message(self, seconds):
        """The next message, or None."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            chunk = os.read(self.back, 1 << 16)
            if not chunk:
                raise self.ended()
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") == "Cast.sinksUpdated":
            self.sinks = message["params"]["sinks"]
        if message.get("method") == "Cast.issueUpdated":
            self.issue = message["params"]["issueMessage"]
        return message

    def send(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        try:
            os.write(self.to, json.dumps(message).encode() + b"\0")
        except BrokenPipeError:
            raise self.ended() from None
        return self.number

    def ended(self):
        """Its pipe is closed: how it ended, as far as that can be seen."""
        try:
            return Ended("Chromium ended with status %d" % self.process.wait(20))
        except subprocess.TimeoutExpired:
            return Ended("Chromium closed its pipe and still runs")

    def call(self, method, session=None, seconds=30, **parameters):
        number = self.send(method, session, **parameters)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self.message(deadline - time.monotonic())
            if message and message.get("id") == number:
                if "error" in message:
                    raise Failed("%s: %s" % (method, message["error"]["message"]))
                return message["result"]
        raise Failed("%s: no answer in %d s" % (method, seconds))

    def wait(self, seconds, condition):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= deadline:
                return False
            self.message(0.2)
        return True

    def sink(self):
        return next((sink for sink in self.sinks if sink["name"] == NAME), None)

    def end(self):
        if self.process.poll() is None:
            try:
                self.send("Browser.close")
                self.process.wait(10)
            except (OSError, Ended, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()


def serve(page):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d/" % server.server_address[1]


def events(journal, word):
    """The receiver's own record of what happened."""
    try:
        with open(journal) as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
    except OSError:
        return []
    return [line for line in lines if line["event"] == word]


def other_root(folder):
    """A root of the same form that has signed nothing here."""
    path = os.path.join(folder, "other.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=Another Root",
         "-addext", "keyUsage=critical,keyCertSign", "-keyout", os.path.join(folder, "other.key"), "-out", path],
        check=True, capture_output=True)
    return path


def mirror(options, tools, journal, reached):
    """Every step from finding to stopping."""
    targets = tools.call("Target.getTargets")["targetInfos"]
    page = next(target["targetId"] for target in targets if target["type"] == "page")
    session = tools.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    url = serve(PAGE.format(colour=options.colour, tone=options.tone))
    tools.call("Page.enable", session)
    tools.call("Page.navigate", session, url=url)
    reached("page", True)
    tools.call("Cast.enable", session)
    if options.wrong_root:
        # It is found and asked, and not listed.
        asked = tools.wait(40, lambda: len(events(journal, "challenged")) >= 2)
        reached("challenged", asked)
        reached("refused", not tools.wait(8, lambda: tools.sink() is not None))
        reached("no sender joined", not events(journal, "senderJoined"))
        return
    reached("found and verified", tools.wait(60, lambda: tools.sink() is not None))
    tools.call("Cast.startTabMirroring", session, sinkName=NAME)
    reached("launched", tools.wait(20, lambda: bool(events(journal, "launch"))))
    reached("streaming", tools.wait(20, lambda: bool(events(journal, "streamStarted"))))
    reached("pictures", tools.wait(20, lambda: bool(events(journal, "picture"))))
    tools.wait(options.seconds, lambda: False)
    reached("still mirroring", bool((tools.sink() or {}).get("session")) and not events(journal, "streamEnded"))
    tools.call("Cast.stopCasting", session, sinkName=NAME)
    reached("stopped", tools.wait(20, lambda: bool(events(journal, "streamEnded"))))
    reached("app ended", bool(events(journal, "appStopped")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("router")
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--colour", default="30,160,90")
    parser.add_argument("--tone", type=int, default=880)
    parser.add_argument("--wrong-root", action="store_true")
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--vmodule", default="*cast_socket*=1,*mirroring*=1,*openscreen*=1")
    options = parser.parse_args()
    if os.environ.get("ROUTER_LAB") != "1":
        raise SystemExit("only inside Tests/lab.sh --ethernet")

    steps = []

    def reached(step, whether):
        steps.append({"step": step, "reached": bool(whether)})
        say(step=step, reached=bool(whether))
        if not whether:
            raise Failed(step)

    os.makedirs(options.folder, exist_ok=True)
    root = os.path.join(options.folder, "root.pem")
    journal = os.path.join(options.folder, NAME + ".ndjson")
    home = tempfile.mkdtemp()
    started = []
    tools = None
    failed = None
    crashed = False
    try:
        environment = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home)
        with open(os.path.join(options.folder, "simulate.log"), "wb") as log:
            arguments = [options.router, "simulate", "--cast", "%s@%s" % (NAME, ADDRESS), "--advertise",
                         "--record", options.folder, "--root-out", root]
            for fault in options.fault:
                arguments += ["--fault", fault]
            started.append(subprocess.Popen(arguments, env=environment, stdout=log, stderr=log))
        deadline = time.monotonic() + 30
        while not (os.path.exists(root) and events(journal, "listening")):
            if time.monotonic() > deadline or started[0].poll() is not None:
                raise Failed("the receiver does not start: see simulate.log")
            time.sleep(0.1)
        # It chooses a display that is free, and tells us which.
        told, tell = os.pipe()
        started.append(subprocess.Popen(
            ["Xvfb", "-displayfd", str(tell), "-screen", "0", "1280x800x24", "-nolisten", "tcp"], pass_fds=(tell,),
            stderr=subprocess.DEVNULL))
        os.close(tell)
        display = b""
        while not display.endswith(b"\n"):
            ready = select.select([told], [], [], 30)[0]
            part = os.read(told, 16) if ready else b""
            if not part:
                raise Failed("Xvfb does not start")
            display += part
        environment["DISPLAY"] = ":" + display.decode().strip()
        trusted = other_root(options.folder) if options.wrong_root else root
        with open(os.path.join(options.folder, "chromium.log"), "wb") as log:
            tools = DevTools(
                ["chromium", "--no-sandbox", "--user-data-dir=" + home + "/profile", "--no-first-run", "--disable-gpu",
                 "--disable-dev-shm-usage", "--disable-background-networking", "--remote-debugging-pipe",
                 "--autoplay-policy=no-user-gesture-required", "--cast-developer-certificate-path=" + trusted,
                 "--window-size=1000,700", "--enable-logging=stderr", "--vmodule=" + options.vmodule, "about:blank"],
                environment, log)
        say(step="version", chromium=tools.call("Browser.getVersion", seconds=60)["product"])
        mirror(options, tools, journal, reached)
    except Failed as failure:
        crashed = isinstance(failure, Ended)
        failed = "%s%s" % (failure, "; Chromium says: " + tools.issue if tools and tools.issue else "")
    finally:
        if tools:
            tools.end()
        for process in reversed(started):
            process.send_signal(signal.SIGINT if process is started[0] else signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(home, ignore_errors=True)
    say(steps=steps, failed=failed, crashed=crashed)


main()
