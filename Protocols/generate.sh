#!/usr/bin/env bash
# Writes the Swift code of the .proto files again; with --check, only says whether what is committed is up to date.
# Needs protoc (Debian: protobuf-compiler).
set -euo pipefail
cd "$(dirname "$0")/.."
swift build --product protoc-gen-swift
plugin="$(swift build --show-bin-path)/protoc-gen-swift"
[ -x "$plugin" ] || plugin="$(swift build --show-bin-path)/protoc-gen-swift-tool"
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT
# generate FOLDER FILE TARGET: Protocols/FOLDER/FILE.proto becomes Sources/TARGET/FILE.pb.swift.
status=0
generate() {
    protoc --plugin=protoc-gen-swift="$plugin" --swift_opt=Visibility=Public --swift_out="$out" \
        -I "Protocols/$1" "Protocols/$1/$2.proto"
    if [ "$check" = yes ]; then
        diff -u "Sources/$3/$2.pb.swift" "$out/$2.pb.swift" || status=1
    else
        mkdir -p "Sources/$3"
        cp "$out/$2.pb.swift" "Sources/$3/"
    fi
}
check=no
if [ "${1:-}" = --check ]; then check=yes; fi
generate cast cast_channel CastV2/Envelope
generate mrp mrp AirPlay/MRP
exit $status
