#!/usr/bin/env bash
# Shows the main job on a fresh Debian machine with Swift, and needs no receiver: sets everything up, builds, then plays
# an album to a simulated house of four rooms in a network of its own, found by mDNS, over the real protocols, and proves
# by the receivers' recordings what each heard. On a terminal the player is shown live, elsewhere as plain lines.
set -euo pipefail
cd "$(dirname "$0")/.."

Tests/setup.sh build
echo "Building the router; the first time takes some minutes…"
log=.build/demo-build.log
mkdir -p .build
swift build --product router >"$log" 2>&1 || { tail -n 30 "$log" >&2; exit 1; }
router="$(swift build --show-bin-path)/router"

lab=(Tests/lab.sh)
[ "$(id -u)" = 0 ] || lab=(sudo --preserve-env=PATH "${lab[@]}")
exec "${lab[@]}" -- "$router" demo --mdns
