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
protoc --plugin=protoc-gen-swift="$plugin" --swift_opt=Visibility=Public --swift_out="$out" \
    -I Protocols/cast Protocols/cast/cast_channel.proto
if [ "${1:-}" = --check ]; then
    diff -u Sources/CastV2/Envelope/cast_channel.pb.swift "$out/cast_channel.pb.swift"
else
    mkdir -p Sources/CastV2/Envelope
    cp "$out/cast_channel.pb.swift" Sources/CastV2/Envelope/
fi
