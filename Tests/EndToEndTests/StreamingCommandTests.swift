import Foundation
import PeerSupport
import RouterTestKit
import SimulatedReceivers
import Testing

/// The built `router play` by Cast Streaming, judged by what the simulated receivers decoded.
@Suite("R5 router play by Cast Streaming", .serialized, .timeLimit(.minutes(3)))
struct StreamingCommandTests {
    private func television(_ folder: URL) throws -> SimulatedCastReceiver {
        var configuration = SimulatedCastConfiguration(name: "Lounge", port: 0, httpPort: nil)
        configuration.recordingFolder = folder
        return try SimulatedCastReceiver(configuration)
    }

    @Test("a file is played to its end as a stream, and no URL is handed over")
    func playsFile() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 6)
        let television = try television(sound.folder)
        let port = try await television.start().port
        let result = try await RouterProcess.run([
            "play", file.path, "--device", "cast://127.0.0.1:\(port)?stream=1&name=Lounge",
        ])
        let record = await television.streamingRecord()
        let loads = await television.record().loads
        await television.stop()
        #expect(result.status == 0, "\(result.errors)")
        #expect(loads.isEmpty && record.sessions == 1 && record.audio.missedFrames == 0)
        let heard = try Recording.samples(wav: #require(record.recording))
        let seconds = Recording.seconds(of: TwoTones.tones, in: heard, rate: 48_000)
        for tone in TwoTones.tones { #expect((seconds[tone] ?? 0) > 2.5, "\(seconds)") }
        #expect(await eventually { await !television.streamingRecord().isRunning })
    }

    @Test("a device by its plain URI is streamed to when that is asked for, and fetches when it is not")
    func via() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 2)
        let television = try television(sound.folder)
        let device = "cast://127.0.0.1:\(try await television.start().port)?name=Lounge"
        let streamed = try await RouterProcess.run(["play", file.path, "--device", device, "--via", "cast-streaming"])
        #expect(streamed.status == 0, "\(streamed.errors)")
        #expect(await television.streamingRecord().sessions == 1)
        #expect(await television.record().loads.isEmpty)
        let fetched = try await RouterProcess.run(["play", file.path, "--device", device])
        #expect(fetched.status == 0, "\(fetched.errors)")
        #expect(await television.streamingRecord().sessions == 1)
        #expect(await television.record().loads.count == 1)
        await television.stop()
        let list = try await RouterProcess.run(["devices", "--device", device, "--long"])
        #expect(list.output.contains("Cast Streaming at 127.0.0.1"), "\(list.output)")
        #expect(list.output.contains("when asked for: --via cast-streaming"), "\(list.output)")
    }

    /// Two tones, of which the phases together tell times apart that are up to 50 ms apart.
    private static let tones = [100.0, 110.0]

    /// 44.1 kHz stereo, one tone at each side.
    private static func tones(in folder: URL, seconds: Int) async throws -> URL {
        let file = folder.appendingPathComponent("tones.flac")
        let waves = tones.map { "0.4*sin(2*PI*\($0)*t)" }.joined(separator: "|")
        let result = try await Command.run(
            "ffmpeg",
            [
                "-y", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "aevalsrc=\(waves):s=44100:d=\(seconds)",
                "-sample_fmt", "s16", file.path,
            ])
        try #require(result.status == 0, "\(result.errors)")
        return file
    }

    /// Which times of the file, each but for whole periods of its tone, are heard at an instant of the host's clock;
    /// nil where there is silence.
    private static func phases(_ samples: [Int16], from frame: Int, rate: Double) -> [Double]? {
        let span = Int(rate / 10)
        guard (frame + span) * 2 <= samples.count else { return nil }
        return tones.enumerated().reduce([Double]?.some([])) { phases, tone in
            var (sine, cosine) = (0.0, 0.0)
            for index in 0..<span {
                let angle = 2 * .pi * tone.element * Double(index) / rate
                let sample = Double(samples[(frame + index) * 2 + tone.offset])
                sine += sample * sin(angle)
                cosine += sample * cos(angle)
            }
            guard (sine * sine + cosine * cosine).squareRoot() > 4_000 * Double(span) / 2 else { return nil }
            return phases.map { $0 + [atan2(cosine, sine) / (2 * .pi * tone.element)] }
        }
    }

    /// By how much the first is ahead of the second, in seconds, up to 50 ms: what both tones agree on.
    private static func ahead(_ first: [Double], _ second: [Double], apart: Double) -> Double {
        let periods = tones.map { 1 / $0 }
        // Nothing but time lies between the two instants.
        let left = zip(first, second).map { $0 - $1 - apart }
        let candidates = (-5...5).map { left[0].remainder(dividingBy: periods[0]) + Double($0) * periods[0] }
        return candidates.min {
            abs(($0 - left[1]).remainder(dividingBy: periods[1]))
                < abs(($1 - left[1]).remainder(dividingBy: periods[1]))
        } ?? .infinity
    }

    /// Tenths of a millisecond on an idle machine; the receivers' own clocks, set over the network, err by more on a
    /// busy one.
    @Test("AirPlay and Cast Streaming in one session are heard within 5 ms of each other")
    func together() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await Self.tones(in: sound.folder, seconds: 8)
        let speaker = SimulatedRAOPReceiver(
            SimulatedRAOPConfiguration(name: "Kitchen", port: 0, recordingFolder: sound.folder))
        let raopPort = try await speaker.start()
        let television = try television(sound.folder)
        let castPort = try await television.start().port
        let result = try await RouterProcess.run([
            "play", file.path, "--device", "raop://127.0.0.1:\(raopPort)?name=Kitchen", "--device",
            "cast://127.0.0.1:\(castPort)?stream=1&name=Lounge",
        ])
        let (airplay, streamed) = (await speaker.record(), await television.streamingRecord())
        await speaker.stop()
        await television.stop()
        #expect(result.status == 0, "\(result.errors)")
        let kitchen = try Recording.samples(wav: sound.folder.appendingPathComponent("Kitchen.wav"))
        let lounge = try Recording.samples(wav: #require(streamed.recording))
        let theirs = airplay.clockMarks.compactMap { mark in
            Self.phases(kitchen, from: mark.frame, rate: 44_100).map { (at: mark.hostNanoseconds, phases: $0) }
        }
        let ours = streamed.marks.compactMap { mark in
            Self.phases(lounge, from: mark.frame, rate: 48_000).map { (at: mark.hostNanoseconds, phases: $0) }
        }
        var skews: [Double] = []
        for one in ours {
            for other in theirs {
                skews.append(Self.ahead(one.phases, other.phases, apart: Double(one.at - other.at) / 1e9))
            }
        }
        let worst = skews.map(abs).max() ?? .infinity
        print(
            "cast-streaming", "with=raop", "marks=\(theirs.count)+\(ours.count)",
            "skew=\(Int((skews.min() ?? 0) * 1e6))…\(Int((skews.max() ?? 0) * 1e6))us")
        #expect(theirs.count >= 2 && ours.count >= 5 && worst < 0.005)
        #expect(streamed.audio.missedFrames == 0)
    }

    @Test(
        "a device that was found by mDNS is streamed to when that is asked for", .enabled(if: Lab.isInside, Lab.reason))
    func discovered() async throws {
        let sound = try TwoTones()
        defer { sound.remove() }
        let file = try await sound.file("song.flac", seconds: 3)
        let receiver = try RouterProcess([
            "simulate", "--cast", "Lounge", "--port", "0", "--advertise", "--record", sound.folder.path, "-o", "ndjson",
        ])
        #expect(await eventually { receiver.output.contains("\"listening\"") })
        let list = try await RouterProcess.run(["devices", "-o", "json"])
        #expect(list.output.contains("castStreaming"), "\(list.output)\(list.errors)")
        let result = try await RouterProcess.run(["play", file.path, "-r", "Lounge", "--via", "cast-streaming"])
        receiver.interrupt()
        let ended = await receiver.outcome(within: .seconds(20))
        #expect(result.status == 0, "\(result.errors)")
        #expect(ended.output.contains("streamStarted") && !ended.output.contains("\"load\""), "\(ended.output)")
        let heard = try Recording.samples(wav: sound.folder.appendingPathComponent("Lounge-streaming.wav"))
        let seconds = Recording.seconds(of: TwoTones.tones, in: heard, rate: 48_000)
        for tone in TwoTones.tones { #expect((seconds[tone] ?? 0) > 1, "\(seconds)") }
    }
}
