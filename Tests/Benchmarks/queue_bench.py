"""What a queue of 100,000 items costs, with an engine and a store around it: one line of JSON of QueueBenchmarks."""

import json
import subprocess


def measure_queue(table, benchmarks):
    what = "queue of 100,000 items: "
    try:
        figures = json.loads(subprocess.run([benchmarks], check=True, stdout=subprocess.PIPE).stdout)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return table.fail(what.rstrip(": "), "router", error)
    for name, each in figures.items():
        aim = 300 if name.startswith("start-up") else 5
        figure = "%.2f ms" % each["median"]
        if each["most"] != each["median"]:
            figure += ", slowest %.2f" % each["most"]
        table.add(what + name, "router", figure, "under %d ms" % aim, each["median"] < aim)
