#!/usr/bin/env bash
# Installs what is missing on Debian 12, and nothing that is there:
#
#   Tests/setup.sh build    what building and running the router needs
#   Tests/setup.sh tests    that, and what its tests need: receivers, peers, network tools, a venv in .build/peers
#   Tests/setup.sh long     that, and what the benchmarks need
#
# Needs a Swift 6.1 toolchain in PATH, and root or sudo where something is missing. Packages come from the machine's apt
# sources, Python peers from its pip index.
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-build}

packages=(
    # what the toolchain itself needs
    ca-certificates git pkg-config binutils libc6-dev libgcc-12-dev libstdc++-12-dev zlib1g-dev libxml2 libcurl4
    libncurses6 libsqlite3-0 tzdata
    # libraries
    libavahi-client-dev libssl-dev libsodium-dev libplist-dev libavcodec-dev libsqlite3-dev libsystemd-dev
    # programs that the router calls or talks to
    ffmpeg avahi-daemon dbus procps
    # namespaces for the demo's house
    iproute2 util-linux
)
testing=(
    shairport-sync vlc-bin vlc-plugin-base avahi-utils nftables openssl curl protobuf-compiler python3 python3-venv
    # clocks, and the monitor of a sink
    linuxptp pulseaudio pulseaudio-utils
    # the desktop's side of MPRIS
    playerctl
    # a sender that verifies devices, and a screen for it
    chromium xvfb
)
measuring=(nginx-light)

case "$what" in
    build) ;;
    tests) packages+=("${testing[@]}") ;;
    long) packages+=("${testing[@]}" "${measuring[@]}") ;;
    *) echo "usage: $0 build|tests|long" >&2; exit 64 ;;
esac

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    # Receivers and daemons that come with a package must not start playing or listening on this machine.
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
        as_root chmod 755 $policy
        trap 'as_root rm -f '$policy EXIT
    fi
    local get=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q)
    if ! "${get[@]}" install -y --no-install-recommends "$@"; then
        "${get[@]}" update
        "${get[@]}" install -y --no-install-recommends "$@"
    fi
    # Nor after the next start of the machine.
    if [ -d /run/systemd/system ]; then
        for service in shairport-sync nginx; do
            case " $* " in *" $service"*) as_root systemctl disable --quiet $service || true ;; esac
        done
    fi
}

mkdir -p .build/test-logs
log=.build/test-logs/setup.log
: >$log

if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || { echo "setup: missing, and there is no apt-get: ${missing[*]}" >&2; exit 78; }
    [ "$(id -u)" = 0 ] || command -v sudo >/dev/null ||
        { echo "setup: missing, and there is neither root nor sudo: ${missing[*]}" >&2; exit 78; }
    echo "setup: installing ${missing[*]}"
    install_packages "${missing[@]}" >>$log 2>&1 ||
        { tail -n 30 $log >&2; echo "setup: apt-get failed; all of it is in $log" >&2; exit 1; }
fi

command -v swift >/dev/null ||
    { echo "setup: swift is not in PATH; get a 6.1 or later toolchain from swift.org/install" >&2; exit 78; }

# Third-party senders, in the versions that the tests were written against.
peers=(pychromecast==14.0.10 catt==0.13.3 pyatv==0.18.0 srptools==1.0.1 cryptography==50.0.2 schemathesis==4.32.5)
if [ "$what" != build ] && [ -z "${ROUTER_PEERS:-}" ]; then
    stamp=.build/peers/installed
    if [ "$(cat $stamp 2>/dev/null)" != "${peers[*]}" ]; then
        echo "setup: installing ${peers[*]} into .build/peers"
        python=/usr/bin/python3
        [ -x $python ] || python=python3
        rm -rf .build/peers
        {
            $python -m venv .build/peers
            .build/peers/bin/pip install --quiet --retries 10 --disable-pip-version-check "${peers[@]}"
        } >>$log 2>&1 || { tail -n 30 $log >&2; echo "setup: pip failed; all of it is in $log" >&2; exit 1; }
        echo "${peers[*]}" >$stamp
    fi
fi
