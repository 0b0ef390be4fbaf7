"""linuxptp's ptp4l as a slave of a PTP grandmaster that runs in this network namespace, for SECONDS.

    ptp4l_slave.py FOLDER SECONDS

Makes a namespace for ptp4l, joined to this one by a pair of interfaces: the master is to serve 10.79.0.2 from
10.79.0.1. Prints JSON lines: first {"event":"listening"}, then "selected" with the master's clock, "offset" for each
printed master offset in nanoseconds, "log" for any other line, and at the end "ended". Run it in a namespace of its own, as lab.sh is.

ptp4l must never steer a clock here: namespaces do not isolate the machine's. Hence free_running, always.
"""

import json
import os
import re
import signal
import subprocess
import sys

folder, seconds = sys.argv[1], sys.argv[2]

CONFIGURATION = """
[global]
free_running 1
slaveOnly 1
transportSpecific 1
network_transport UDPv4
delay_mechanism E2E
time_stamping software
inhibit_multicast_service 1
logSyncInterval -3
logAnnounceInterval 0
logMinDelayReqInterval -2
summary_interval -4
freq_est_interval 0
uds_address {folder}/ptp4l.socket
[unicast_master_table]
table_id 1
logQueryInterval 0
UDPv4 10.79.0.1
[ptp1]
unicast_master_table 1
"""


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def run(*command):
    subprocess.run(command, check=True)


def main():
    # The test process starts its children with all signals blocked. They would hand that on, and ptp4l could not be ended.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ptp4l.conf")
    with open(path, "w") as file:
        file.write(CONFIGURATION.format(folder=folder))
    run("ip", "link", "add", "ptp0", "type", "veth", "peer", "name", "ptp1")
    holder = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    slave = None
    try:
        holder.stdout.readline()
        inside = ["nsenter", "--target", str(holder.pid), "--net"]
        run("ip", "address", "add", "10.79.0.1/24", "dev", "ptp0")
        run("ip", "link", "set", "ptp0", "up")
        run("ip", "link", "set", "ptp1", "netns", str(holder.pid))
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "address", "add", "10.79.0.2/24", "dev", "ptp1")
        run(*inside, "ip", "link", "set", "ptp1", "up")
        # PeerProgram waits for a first line with a port.
        say("listening", port=319)
        slave = subprocess.Popen(
            [*inside, "timeout", "--kill-after=5", seconds, "ptp4l", "-f", path, "-i", "ptp1", "-m", "-q"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in slave.stdout:
            text = line.strip()
            offset = re.search(r"master offset\s+(-?\d+) s(\d)", text)
            selected = re.search(r"selected best master clock (\S+)", text)
            if offset:
                say("offset", nanoseconds=int(offset[1]), state=int(offset[2]))
            elif selected:
                say("selected", clock=selected[1].replace(".", ""))
            else:
                say("log", text=text)
    finally:
        if slave:
            slave.terminate()
            slave.wait()
        holder.stdin.close()
        holder.wait()
        subprocess.run(["ip", "link", "delete", "ptp0"], stderr=subprocess.DEVNULL)
        say("ended")


main()
