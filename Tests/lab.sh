#!/bin/bash
# A throw-away network for tests of discovery: namespaces of its own, a message bus of its own and an Avahi daemon
# that sees nothing but the loopback interface. No packet and no bus call reaches the machine around it, and all of it
# ends with the command.
#
#   Tests/lab.sh [--no-avahi] [--ethernet] [--addresses N] [--] COMMAND...
#
#   --no-avahi      start the bus, but leave the Avahi daemon to the command
#   --ethernet      an interface lab0 with 10.78.0.1, .2, …, for programs whose mDNS leaves the loopback interface out, as
#                   Chromium's does; Avahi sees it and not lo. It leads nowhere.
#   --addresses N   how many addresses 10.77.0.1, .2, … the loopback interface gets (20), one for each simulated device
#
# Inside, ROUTER_LAB=1 is set, and the daemon is turned on and off by
#   Tests/lab.sh avahi start|stop|kill|status
# Needs root, and the programs of: avahi-daemon dbus iproute2 util-linux
set -euo pipefail

fail() { echo "lab: $*" >&2; exit 69; }

avahi() {
    [ "${ROUTER_LAB:-}" = 1 ] || fail "“avahi $1” works inside the lab only"
    local pidfile=/run/avahi-daemon/pid
    case "$1" in
        start)
            # Returns when the daemon is up; its log is /run/lab/avahi.log. Right after a kill the bus may still hold the
            # name of the daemon that was, so a start that fails is tried again.
            for _ in $(seq 50); do
                (avahi-daemon -f /run/lab/avahi.conf --no-chroot --no-rlimits --no-proc-title \
                    >>/run/lab/avahi.log 2>&1 &)
                for _ in $(seq 10); do
                    sleep 0.05
                    if avahi-daemon -c 2>/dev/null; then return; fi
                done
            done
            fail "the Avahi daemon does not start: $(tail -n 3 /run/lab/avahi.log)" ;;
        stop) avahi-daemon -k ;;
        kill) kill -KILL "$(cat $pidfile)" && rm -f $pidfile ;;
        status) avahi-daemon -c ;;
        *) fail "unknown: avahi $1" ;;
    esac
}

inside() {
    local avahi=$1 ethernet=$2 addresses=$3 interface=lo
    shift 3
    ip link set lo up
    for n in $(seq "$addresses"); do ip address add "10.77.0.$n/32" dev lo; done
    if [ "$ethernet" = yes ]; then
        interface=lab0
        ip link add lab0 type veth peer name lab1
        ip link set lab1 up
        ip link set lab0 multicast on up
        for n in $(seq "$addresses"); do ip address add "10.78.0.$n/24" dev lab0; done
    fi
    mount -t tmpfs tmpfs /run
    mkdir -p /run/lab /run/avahi-daemon /run/lock
    chown avahi:avahi /run/avahi-daemon
    cat >/run/lab/bus.conf <<-'CONF'
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=/run/lab/bus.sock</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <allow own="*"/>
	    <allow send_destination="*"/>
	    <allow send_type="method_call"/>
	    <allow send_type="signal"/>
	    <allow send_requested_reply="true"/>
	    <allow receive_type="method_call"/>
	    <allow receive_type="method_return"/>
	    <allow receive_type="error"/>
	    <allow receive_type="signal"/>
	  </policy>
	</busconfig>
	CONF
    cat >/run/lab/avahi.conf <<-CONF
	[server]
	host-name=lab
	use-ipv4=yes
	use-ipv6=no
	allow-interfaces=$interface
	enable-dbus=yes
	ratelimit-interval-usec=0
	[wide-area]
	enable-wide-area=no
	[publish]
	publish-workstation=no
	publish-hinfo=no
	CONF
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/lab/bus.sock ROUTER_LAB=1
    unset ROUTER_LAB_STAGE
    dbus-daemon --config-file=/run/lab/bus.conf --nofork --nopidfile >/run/lab/bus.log 2>&1 &
    for _ in $(seq 100); do [ -S /run/lab/bus.sock ] && break; sleep 0.05; done
    [ -S /run/lab/bus.sock ] || fail "the message bus does not start: $(tail -n 3 /run/lab/bus.log)"
    if [ "$avahi" = yes ]; then avahi start; fi
    "$@"
}

if [ "${1:-}" = avahi ]; then avahi "${2:?start, stop, kill or status}"; exit; fi

avahi=yes
ethernet=no
addresses=20
while [ $# -gt 0 ]; do
    case "$1" in
        --no-avahi) avahi=no; shift ;;
        --ethernet) ethernet=yes; shift ;;
        --addresses) addresses=${2:?a number}; shift 2 ;;
        --) shift; break ;;
        -*) fail "unknown option $1; see the head of $0" ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || fail "what shall be run? usage: $0 [--no-avahi] [--ethernet] [--addresses N] [--] COMMAND..."

if [ "${ROUTER_LAB_STAGE:-}" = inside ]; then
    inside "$avahi" "$ethernet" "$addresses" "$@"
    exit
fi

[ "$(id -u)" = 0 ] || fail "needs root, for a network namespace with an Avahi daemon in it"
for program in avahi-daemon dbus-daemon ip unshare; do
    command -v $program >/dev/null || fail "$program is missing: apt-get install avahi-daemon dbus iproute2 util-linux"
done
ROUTER_LAB_STAGE=inside exec unshare --net --mount --pid --fork --kill-child --mount-proc \
    "$BASH" "$(realpath "$0")" $([ $avahi = no ] && echo --no-avahi) $([ $ethernet = yes ] && echo --ethernet) \
    --addresses "$addresses" -- "$@"
