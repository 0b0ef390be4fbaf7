import Foundation
import RouteModel

/// The program that gives live input as a feed takes it: 32-bit stereo on its standard output.
enum LiveProgram {
    /// How long a capture is held back by the sound server, in milliseconds.
    private static let latency = 40

    /// Throws `mediaNotFound` and the like for what is not there.
    static func arguments(_ input: LiveInput, sampleRate: Int) throws -> [String] {
        switch input.kind {
        case .standardInput, .pipe:
            // Not -fflags nobuffer: it throws away what was looked at.
            var arguments = ["-v", "level+info", "-hide_banner", "-nostats", "-nostdin", "-threads", "1"]
            if let raw = input.raw {
                // There is nothing to find out: else a second of sound would be looked at first.
                arguments += ["-probesize", "32", "-analyzeduration", "0"]
                arguments += ["-f", raw.sample.rawValue, "-ar", String(raw.rate), "-ac", String(raw.channels)]
            } else {
                // Short looks: what is live does not wait to be known better.
                arguments += ["-probesize", "131072", "-analyzeduration", "1000000"]
            }
            // A list that comes in this way reaches no file and no network.
            if input.kind == .pipe {
                try checkPipe(input.name)
                arguments += ["-protocol_whitelist", "file", "-i", "file:\(input.name)"]
            } else {
                arguments += ["-protocol_whitelist", "pipe", "-i", "pipe:0"]
            }
            return arguments + [
                "-map", "0:a:0", "-f", "s32le", "-ar", String(sampleRate), "-ac", "2", "-flush_packets", "1", "pipe:1",
            ]
        case .pulse:
            return [
                "--device=\(input.name).monitor", "--raw", "--format=s32le", "--rate=\(sampleRate)", "--channels=2",
                "--latency-msec=\(latency)", "--client-name=router", "--stream-name=\(input.name) to AirPlay",
            ]
        }
    }

    private static func checkPipe(_ path: String) throws {
        let label = MediaSource.file(path: path).label
        guard let facts = try FileFacts(path: path) else {
            throw RouterError(
                .mediaNotFound, "the pipe “\(label)” is not there", hint: "Make it with: mkfifo \(path)", scope: .item)
        }
        guard facts.kind == .pipe else {
            throw RouterError(
                .mediaUnsupported, "“\(label)” is not a named pipe", hint: "Make one with: mkfifo", scope: .item)
        }
        guard access(path, R_OK) == 0 else { throw FileFacts.forbidden(path) }
    }

    /// What is to be told of a pipe whose writer has closed it: nil where it gave sound.
    static func pipeEnded(_ input: LiveInput, _ log: DecoderLog, gave: Bool, succeeded: Bool) -> RouterError? {
        guard !gave || !succeeded else { return nil }
        if gave {
            return RouterError(
                .itemFailed, "what came from “\(input.label)” broke off", hint: "Look at what writes into it",
                scope: .item, causes: Array(log.errors.prefix(1)))
        }
        if log.errors.isEmpty {
            return RouterError(
                .mediaNotFound, "nothing came from “\(input.label)”", hint: "Look at what writes into it", scope: .item)
        }
        return RouterError(
            .mediaUnsupported, "what came from “\(input.label)” is not audio that ffmpeg can read",
            hint: "Samples without a header need to be named so: pcm://-?rate=44100, see “router help play”",
            scope: .item, causes: Array(log.errors.prefix(1)))
    }

    /// Why a capture has ended: it has no end of its own.
    static func captureEnded(_ input: LiveInput, _ text: String) -> RouterError {
        func has(_ words: String...) -> Bool { words.contains { text.localizedCaseInsensitiveContains($0) } }
        if has("No such entity", "No such device") {
            return RouterError(
                .mediaNotFound, "there is no sink called “\(input.name)”",
                hint: "See them with “pactl list short sinks”, or make it: pactl load-module module-null-sink "
                    + "sink_name=\(input.name)", scope: .item)
        }
        if has("Connection failure", "Connection refused", "Connection terminated") {
            return RouterError(
                .itemFailed, "the sound server of this machine does not answer",
                hint: "Check that PulseAudio, or PipeWire's service for it, runs for this user: pactl info",
                scope: .item, retry: .later)
        }
        let cause = text.split(whereSeparator: \.isNewline).last.map(String.init)
        return RouterError(
            .itemFailed, "what was captured from “\(input.name)” has ended: the sink is gone, or its server",
            hint: "Play it again when it is back", scope: .item, retry: .later, causes: cause.map { [$0] } ?? [])
    }
}
