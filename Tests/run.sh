#!/usr/bin/env bash
# The test command. Installs what is missing, checks, builds, and runs every test in its short form; ends with one line
# "N passed, N failed, N skipped". Logs are in .build/test-logs.
#
#   Tests/run.sh [--long] [--filter PATTERN]    --long: full figures (ROUTER_LONG=1) and the benchmarks
#   Tests/run.sh --fresh-root                   the demo and this command in a bare Debian root (see fresh-root.sh)
#
# With CI=true a test that no run could run is a failure. Tests that skip themselves outside the lab are run again in it
# (lab.sh: namespaces with an Avahi daemon of their own). ROUTER_PEERS names another venv with the Python senders.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD

long=no
filter=()
while [ $# -gt 0 ]; do
    case "$1" in
        --long) long=yes ;;
        --filter) filter=(--filter "${2:?a pattern}"); shift ;;
        --fresh-root) shift; exec "$root/Tests/fresh-root.sh" "$@" ;;
        *) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 64 ;;
    esac
    shift
done

logs=$root/.build/test-logs
mkdir -p "$logs"
rm -f "$logs"/*
passed=0 failed=0 skipped=0
export SWIFT_BACKTRACE=enable=no
export ROUTER_PEERS=${ROUTER_PEERS:-$root/.build/peers}
[ "$long" = no ] || export ROUTER_LONG=1

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ] || exit 1
    exit 0
}

# check NAME COMMAND...: one line when it passes, the end of its log when it does not.
check() {
    local name=$1 log start=$SECONDS
    log=$logs/${1// /-}.log
    shift
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
    else
        failed=$((failed + 1))
        echo "FAILED  $name ($((SECONDS - start)) s); more in $log:"
        { grep -E '^[^ ].*(error|warning):' "$log" || tail -n 20 "$log"; } | awk '!seen[$0]++' | head -n 20 | sed 's/^/        /'
        return 1
    fi
}

set_up() {
    # ROUTER_PEERS is set by now: only one that was given from outside stops setup.sh from making its own.
    local variables=(env)
    [ "$ROUTER_PEERS" != "$root/.build/peers" ] || variables+=(-u ROUTER_PEERS)
    "${variables[@]}" Tests/setup.sh "$([ "$long" = yes ] && echo long || echo tests)"
}

format() {
    local folders=()
    for folder in Sources Tests Samples; do [ ! -d $folder ] || folders+=("$folder"); done
    swift format lint -s -r -p "${folders[@]}" Package.swift
}

build() { swift build --build-tests; }

# Warnings of our own sources are errors. Only files that are compiled warn, so a finding is kept for as long as its file
# is as it was when the last build began.
own_warnings() {
    local kept=$root/.build/own-warnings line file
    touch -a "$kept"
    grep -E "^($root/)?(Sources|Tests|Samples)/[^:]*:[0-9]+:[0-9]+: warning: " "$logs/build.log" >"$kept.new"
    while IFS= read -r line; do
        file=${line%%:*}
        if [ -e "$file" ] && [ "$file" -ot "$kept" ]; then echo "$line" >>"$kept.new"; fi
    done <"$kept"
    sort -u "$kept.new" | tee "$kept"
    rm -f "$kept.new"
    touch -r "$logs/build-began" "$kept"
    [ ! -s "$kept" ]
}

# run_tests NAME PREFIX... :: ARGUMENTS...: runs the test bundle, events to NAME.events.
run_tests() {
    local name=$1 prefix=() status=0
    shift
    while [ "$1" != :: ]; do prefix+=("$1"); shift; done
    shift
    ${prefix[@]+"${prefix[@]}"} timeout --kill-after=10 "$limit" "$bundle" --testing-library swift-testing \
        --event-stream-version 0 --event-stream-output-path "$logs/$name.events" "$@" >"$logs/$name.log" 2>&1 ||
        status=$?
    [ $status -lt 128 ] || grep -m 3 -E 'Fatal error|crashed' "$logs/$name.log" | sed 's/^/        /'
    [ $status != 124 ] || echo "        the $name run was ended after $limit s"
    [ -s "$logs/$name.events" ] || { tail -n 20 "$logs/$name.log"; return 1; }
    return $status
}

check "set-up" set_up || finish
check "format" format
touch "$logs/build-began"
if check "build" build; then
    check "warnings" own_warnings
    check "generated code" Protocols/generate.sh --check
else
    finish
fi

bundle=$(swift build --show-bin-path)/routerPackageTests.xctest
limit=$([ "$long" = yes ] && echo 7200 || echo 2000)
# Programs, other people's and our own, where nothing is measured: they mostly wait, so a few at a time.
programs='EndToEndTests.(Announce|BadInput|Cast|Doctor|NewUser|Scene|Simulate)|ConformanceTests|SchemathesisTests|MPRISBridgeTests.(Desktop|EngineDesktop)|ForeignPlayersTests'
# Sound in real time: one at a time, or what is measured is how busy the machine is.
alone='EndToEndTests|ShairportSync|AirPlay2SessionTests|AirPlay2FaultTests|RAOPFaultTests|CastBackendTests.StreamingTests|CastStreamingSessionTests|CastCyclesTests'
width=--experimental-maximum-parallelization-width
status=0
events=()
timed() {
    local start=$SECONDS name=$1
    run_tests "$@" || status=$?
    echo "ran     $name ($((SECONDS - start)) s)"
    events+=("$logs/$name.events")
}
if [ ${#filter[@]} -gt 0 ]; then
    timed tests :: $width 2 "${filter[@]}"
else
    timed tests :: $width 4 --skip "$alone" --skip "$programs"
    timed programs :: $width 3 --filter "$programs"
    timed real-time :: $width 1 --filter "$alone" --skip "$programs"
fi

# Once more, in the lab, what was skipped outside.
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo --preserve-env=PATH,CI,ROUTER_PEERS,ROUTER_LONG,SWIFT_BACKTRACE)
in_lab() {
    local name=$1 patterns=()
    shift
    for pattern in "$@"; do patterns+=(--filter "$pattern"); done
    timed "$name" ${as_root[@]+"${as_root[@]}"} Tests/lab.sh -- env ROUTER_LAB=1 :: $width 1 "${patterns[@]}"
}
mapfile -t again < <(python3 Tests/summary.py skipped "${events[@]}")
[ ${#again[@]} = 0 ] || in_lab lab "${again[@]}"

# Once more, alone, for a few that failed: they have failed all the same, and who looks into it is told how it went.
first=("${events[@]}") events=() most=8 first_status=$status
mapfile -t again < <(python3 Tests/summary.py failed "${first[@]}")
if [ ${#again[@]} -gt 0 ] && [ ${#again[@]} -le $most ]; then
    patterns=()
    for pattern in "${again[@]}"; do patterns+=(--filter "$pattern"); done
    timed second-try :: $width 1 "${patterns[@]}"
    mapfile -t again < <(python3 Tests/summary.py skipped "${events[@]}")
    [ ${#again[@]} = 0 ] || in_lab second-try-lab "${again[@]}"
    status=$first_status
fi

python3 Tests/summary.py count "${first[@]}" --again ${events[@]+"${events[@]}"} >"$logs/summary.txt"
sed '$d' "$logs/summary.txt"
read -r run_passed run_failed run_skipped < <(tail -n 1 "$logs/summary.txt")
passed=$((passed + run_passed)) failed=$((failed + run_failed)) skipped=$((skipped + run_skipped))
if [ "$status" != 0 ] && [ "$run_failed" = 0 ]; then
    # The process ended badly though every test was content: a crash on the way out, say.
    echo "FAILED  the test process ended with status $status"
    tail -n 20 "$logs/tests.log"
    failed=$((failed + 1))
fi
if [ "$((run_passed + run_failed + run_skipped))" = 0 ]; then
    echo "FAILED  no test was found"
    failed=$((failed + 1))
fi
if [ "${CI:-}" = true ] && [ "$run_skipped" != 0 ]; then
    echo "FAILED  with CI=true, skipped tests are failures"
    failed=$((failed + run_skipped)) skipped=$((skipped - run_skipped))
fi

if [ "$long" = yes ]; then
    check "benchmarks" Tests/Benchmarks/run.sh && cat "$logs/benchmarks.log"
fi
finish
