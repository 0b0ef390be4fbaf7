#!/usr/bin/env bash
# The benchmarks: builds the router for release, then measures it beside its peers in one run and prints one table.
#
#   Tests/Benchmarks/run.sh [--only load,session,sound,start,cpu,rooms,pairing,queue,daemon,server] [--repeat N] [--seconds N]
#                           [--router PATH] [--benchmarks PATH]
#
# Runs in the lab (Tests/lab.sh): nothing that is measured shares a network with the machine around it. Needs root or
# sudo. What the numbers mean is in benchmarks.py; they depend on what else the machine does meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."

router=
benchmarks=
for argument; do
    case "$argument" in
    --router | --router=*) router=given ;;
    --benchmarks | --benchmarks=*) benchmarks=given ;;
    esac
done

mkdir -p .build/test-logs
variables=(env)
[ "${ROUTER_PEERS:-$PWD/.build/peers}" != "$PWD/.build/peers" ] || variables+=(-u ROUTER_PEERS)
"${variables[@]}" Tests/setup.sh long
export ROUTER_PEERS=${ROUTER_PEERS:-$PWD/.build/peers}

given=()
if [ -z "$router" ]; then
    swift build -c release --product router >.build/test-logs/release-build.log 2>&1 ||
        { grep -E 'error:' .build/test-logs/release-build.log | sort -u | head -n 20; exit 1; }
    given=(--router "$(swift build -c release --show-bin-path)/router")
fi
if [ -z "$benchmarks" ]; then
    # A package of its own, in a folder of its own: in the product's, each build would undo the other's.
    package=(-c release --package-path Tests/Benchmarks --scratch-path .build/benchmarks)
    swift build "${package[@]}" >.build/test-logs/benchmarks-build.log 2>&1 ||
        { grep -E 'error:' .build/test-logs/benchmarks-build.log | sort -u | head -n 20; exit 1; }
    given+=(--benchmarks "$(swift build "${package[@]}" --show-bin-path)/CastBenchmarks")
fi

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo --preserve-env=PATH,ROUTER_PEERS)
exec ${as_root[@]+"${as_root[@]}"} Tests/lab.sh -- python3 Tests/Benchmarks/benchmarks.py ${given[@]+"${given[@]}"} "$@"
