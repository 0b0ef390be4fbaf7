"""What pairing costs on our side, the other side's time left out: one line of JSON of AirPlayBenchmarks."""

import json
import subprocess


def measure_pairing(table, benchmarks):
    what = "pairing, our side: "
    try:
        figures = json.loads(subprocess.run([benchmarks, "pairing"], check=True, stdout=subprocess.PIPE).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return table.fail(what.rstrip(": "), "router", error)
    for name, aim in (("transient SRP", 15), ("pair-verify", 15), ("pair-setup with a PIN", None)):
        each = figures[name]
        figure = "%.2f ms (%.2f), slowest %.2f" % (each["median"], each["least"], each["most"])
        table.add(what + name, "router", figure, *(("under %d ms" % aim, each["median"] < aim) if aim else ()))
