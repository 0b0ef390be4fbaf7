import AirPlay
import Foundation
import HomeKitPairing
import PeerSupport
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// Over real sockets on the loopback interface, by a sender made of codecs. Nobody pairs: that pyatv does elsewhere.
@Suite("AirPlay 2 receiver on a socket")
struct AirPlay2ReceiverTests {
    func receiving(
        _ change: (inout SimulatedAirPlay2Configuration) -> Void = { _ in },
        _ body: (SimulatedAirPlay2Receiver, _ port: Int) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "airplay2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = SimulatedAirPlay2Configuration(
            name: "Küche", port: 0, timing: [.ntp], pairing: PairingServerPolicy(code: nil, admitsStrangers: true),
            recordingFolder: folder)
        configuration.ntpLatencyFrames = 0
        change(&configuration)
        let receiver = SimulatedAirPlay2Receiver(configuration)
        let port = try await receiver.start()
        do {
            try await body(receiver, port)
        } catch {
            await receiver.stop()
            throw error
        }
        await receiver.stop()
    }

    /// The last recording, of 16 or 24 bits.
    func recording(_ receiver: SimulatedAirPlay2Receiver) async throws -> (rate: Int, samples: [Int32]) {
        let path = try #require(await receiver.record().recordings.last)
        let data = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        func number(_ place: Int, _ count: Int) -> Int {
            data[place..<(place + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        let width = number(34, 2) / 8
        let samples = stride(from: 44, to: data.count, by: width).map { start in
            let top = Int32(Int8(bitPattern: data[start + width - 1]))
            return data[start..<(start + width - 1)].reversed().reduce(top) { $0 << 8 | Int32($1) }
        }
        return (number(24, 4), samples)
    }

    /// The sender's clock now.
    var senderNow: Int64 { SystemHostClock().now() + RAOPTestSender.clockOffset }

    static func noise(packet index: Int, bits: Int) -> [Int32] {
        var state = UInt32(truncatingIfNeeded: index &* 7_919 &+ 1)
        return (0..<704).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int32(bitPattern: state) >> Int32(32 - bits)
        }
    }

    let packets = 60

    func whole(bits: Int) -> [Int32] { (0..<packets).flatMap { Self.noise(packet: $0, bits: bits) } }

    static func bytes(_ samples: [Int32], width: Int) -> [UInt8] {
        samples.flatMap { sample in
            (0..<width).map { UInt8(truncatingIfNeeded: sample >> Int32(8 * (width - 1 - $0))) }
        }
    }

    func sendAll(
        _ sender: RAOPTestSender, losing lost: Set<Int> = [], payload: (Int) -> [UInt8]
    ) async throws {
        try await sender.sync(rtpTime: 5_000, delay: .milliseconds(800))
        for index in 0..<packets {
            let header = RTPAudioHeader(
                marker: index == 0, sequence: UInt16(index), timestamp: UInt32(5_000 + index * 352), ssrc: 7)
            try await sender.packet(
                AirPlay2TestMessage.sealed(header.encoded(), payload(index), number: UInt64(index)),
                sequence: UInt16(index), loses: lost.contains(index))
        }
    }

    @Test(
        "A1 realtime sound of every rate and depth is heard bit for bit",
        arguments: [
            (Int64(0x800), Int64(44_100), 16), (0x2_0000, 48_000, 24), (0x2000, 44_100, 24), (0x8000, 48_000, 16),
        ])
    func pcm(format: Int64, rate: Int64, bits: Int) async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                _ = try await sender.beginAirPlay2(96, format, rate: rate)
                #expect(await eventually { await receiver.record().timingExchanges > 0 })
                try await sendAll(sender) { Self.bytes(Self.noise(packet: $0, bits: bits), width: bits / 8) }
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
                let ended = try await sender.tell("TEARDOWN", .dictionary([:]))
                #expect(ended.0 == 200)
            }
            let heard = try await recording(receiver)
            #expect(heard.rate == Int(rate))
            let isSame = heard.samples == whole(bits: bits)
            #expect(isSame, "\(heard.samples.count / 2) frames")
            let record = await receiver.record()
            #expect(record.requests == ["SETUP", "SETUP", "RECORD", "TEARDOWN"])
            #expect(record.lostPackets == 0 && record.lostFrames == 0 && record.undecodablePackets == 0)
            #expect(record.clockMarks.first?.rtpTime == 5_000)
            #expect(record.teardowns == 1)
        }
    }

    @Test("A1 Apple Lossless with a third of its packets lost is asked for again, and whole")
    func losses() async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                _ = try await sender.beginAirPlay2(96, 0x4_0000)
                #expect(await eventually { await receiver.record().timingExchanges > 0 })
                let lost = Set((1..<packets).filter { $0 % 3 == 0 && $0 < packets - 1 })
                try await sendAll(sender, losing: lost) {
                    RAOPTestPayload.uncompressedLossless(Self.noise(packet: $0, bits: 16).map { Int16($0) })
                }
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
                #expect(await receiver.record().recoveredPackets == lost.count)
            }
            let isSame = try await recording(receiver).samples == whole(bits: 16)
            #expect(isSame)
        }
    }

    @Test("A1 packets sealed by another key are counted and never heard")
    func foreignKey() async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                _ = try await sender.beginAirPlay2(96, 0x800)
                try await sender.sync(rtpTime: 0, delay: .milliseconds(100))
                let header = RTPAudioHeader(marker: true, sequence: 0, timestamp: 0, ssrc: 0).encoded()
                let payload = [UInt8](repeating: 1, count: 1_408)
                var packet = AirPlay2TestMessage.sealed(header, payload, number: 0, key: [UInt8](2...33))
                try await sender.packet(packet, sequence: 0)
                packet = AirPlay2TestMessage.sealed(header, payload, number: 0)
                packet[20] ^= 1
                try await sender.packet(packet, sequence: 0)
                try await sender.packet(Array(packet.prefix(30)), sequence: 0)
                #expect(await eventually { await receiver.record().undecodablePackets == 3 })
                #expect(await receiver.record().renderedFrames == 0)
            }
        }
    }

    @Test("A1 a buffered stream is heard from its anchor on, stands through a pause, and goes on bit for bit")
    func buffered() async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                let ports = try await sender.beginAirPlay2(103, 0x4_0000)
                let socket = try await AirPlay2TestSocket(port: ports.data)
                for index in 0..<packets {
                    let samples = Self.noise(packet: index, bits: 16).map { Int16($0) }
                    try await socket.send(
                        AirPlay2TestMessage.buffered(
                            UInt32(index), rtpTime: UInt32(900 + index * 352), ssrc: 0xFACE,
                            payload: RAOPTestPayload.uncompressedLossless(samples)))
                }
                #expect(await eventually { await receiver.record().audioPackets == packets })
                #expect(await receiver.record().renderedFrames == 0, "there is no anchor")
                // It does not know the clock at first.
                var status = 400
                #expect(
                    await eventually {
                        let anchor = AirPlay2TestMessage.anchor(rtpTime: 900, time: senderNow + 200_000_000)
                        status = (try? await sender.tell("SETRATEANCHORTIME", anchor).0) ?? 0
                        return status == 200
                    })
                #expect(await eventually { await receiver.record().renderedFrames > 3_000 })
                #expect(try await sender.tell("SETRATEANCHORTIME", AirPlay2TestMessage.pause).0 == 200)
                let paused = await receiver.record().renderedFrames
                #expect(paused < packets * 352)
                let resumed = AirPlay2TestMessage.anchor(
                    rtpTime: UInt32(900 + paused), time: senderNow + 300_000_000)
                #expect(try await sender.tell("SETRATEANCHORTIME", resumed).0 == 200)
                #expect(await eventually { await receiver.record().renderedFrames == packets * 352 })
                let marks = await receiver.record().clockMarks
                #expect(marks.contains { $0.frame == paused && $0.rtpTime == UInt32(900 + paused) })
                #expect(try await sender.tell("FLUSHBUFFERED", .dictionary(["flushUntilSeq": .integer(99)])).0 == 200)
                await socket.close()
            }
            let isSame = try await recording(receiver).samples == whole(bits: 16)
            #expect(isSame)
            let record = await receiver.record()
            #expect(record.anchors.map(\.rate) == [1, 0, 1])
            #expect(record.bufferedFlushes.map(\.untilSequence) == [99])
        }
    }

    @Test("A1 buffered AAC-LC decodes with its tone intact; a word that names no codec stays silent and is counted")
    func advancedAudio() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "airplay2-\(UUID().uuidString).aac")
        defer { try? FileManager.default.removeItem(at: file) }
        let made = try await Command.run(
            "ffmpeg",
            [
                "-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=frequency=1000:sample_rate=44100:duration=2",
                "-ac", "2", "-c:a", "aac", "-b:a", "192k", "-f", "adts", file.path,
            ])
        try #require(made.status == 0, "\(made.errors)")
        let frames = try adtsFrames(Array(try Data(contentsOf: file)))
        try #require(frames.count > 80)
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                let ports = try await sender.beginAirPlay2(103, 0x40_0000)
                let socket = try await AirPlay2TestSocket(port: ports.data)
                for (index, frame) in frames.enumerated() {
                    try await socket.send(
                        AirPlay2TestMessage.buffered(
                            UInt32(index), rtpTime: UInt32(index * 1_024), ssrc: 0x1600_0000, payload: frame))
                }
                try await socket.send(
                    AirPlay2TestMessage.buffered(9_999, rtpTime: 0, ssrc: 0, payload: frames[0]))
                #expect(
                    await eventually {
                        let anchor = AirPlay2TestMessage.anchor(rtpTime: 0, time: senderNow + 100_000_000)
                        return (try? await sender.tell("SETRATEANCHORTIME", anchor).0) == 200
                    })
                #expect(await eventually { await receiver.record().renderedFrames == frames.count * 1_024 })
                await socket.close()
            }
            #expect(await receiver.record().unknownCodecPackets == 1)
            let left = try await recording(receiver).samples.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            let second = left[22_050..<66_150]
            let crossings = zip(second, second.dropFirst()).count { $0 < 0 && $1 >= 0 }
            #expect(abs(crossings - 1_000) <= 1)
            #expect(
                (2_500...3_300).contains(second.max() ?? 0),
                "ffmpeg's sine is an eighth of full scale, 3 dB less on two channels")
        }
    }

    private func adtsFrames(_ bytes: [UInt8]) throws -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var place = 0
        while place + 7 <= bytes.count {
            let length = Int(bytes[place + 3] & 3) << 11 | Int(bytes[place + 4]) << 3 | Int(bytes[place + 5]) >> 5
            try #require(bytes[place] == 0xFF && length > 7 && place + length <= bytes.count)
            frames.append(Array(bytes[(place + 7)..<(place + length)]))
            place += length
        }
        return frames
    }

    @Test("A10 a button goes out as a request of its own; the answer is looked at")
    func button() async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                let ports = try await sender.beginAirPlay2(96, 0x800)
                #expect(await receiver.press(.next) == false, "nobody has connected")
                let socket = try await AirPlay2TestSocket(port: ports.events)
                #expect(await eventually { await receiver.press(.playPause) })
                let request = try await socket.request()
                #expect(request.method == "POST" && request.uri == "/command")
                let list = try PropertyList(parsing: request.body)
                #expect(list["type"]?.string == "sendMediaRemoteCommand" && list["value"]?.string == "plps")
                let number = try #require(request.headers["CSeq"])
                try await socket.send(RTSPResponse(headers: ["CSeq": number]).encoded())
                #expect(
                    await eventually {
                        await receiver.record().eventAnswers == [.init(status: 200, repeatsSequence: true)]
                    })
                await socket.close()
            }
        }
    }

    @Test("A1 a second sender is told that it is busy, until the first one's connection is gone")
    func busy() async throws {
        try await receiving { receiver, port in
            let first = try await RAOPTestSender(port: port)
            _ = try await first.beginAirPlay2(96, 0x800)
            try await sending(to: port) { second in
                let session = AirPlay2TestMessage.session(timingPort: await second.ports.timing)
                let refused = try await second.tell("SETUP", session)
                #expect(refused.0 == 453)
                await first.close()
                #expect(await eventually { (try? await second.tell("SETUP", session).0) == 200 })
            }
            #expect(await receiver.record().busyAnswers >= 1)
        }
    }

    @Test(
        "A1 bytes that are no requests end the connection, and nothing else",
        arguments: [
            ("a-header-of-1-MiB", "OPTIONS * RTSP/1.0\r\nX: " + String(repeating: "a", count: 1 << 20) + "\r\n\r\n"),
            ("a-thousand-headers", "OPTIONS * RTSP/1.0\r\n" + String(repeating: "X: a\r\n", count: 1000) + "\r\n"),
            ("chunked", "POST /command RTSP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            ("a-body-of-4-GiB", "POST /command RTSP/1.0\r\nContent-Length: 4294967296\r\n\r\n"),
            ("a-length-below-zero", "POST /command RTSP/1.0\r\nContent-Length: -1\r\n\r\n"),
            ("no-RTSP", "\u{16}\u{3}\u{1}\u{2}\n\n"),
        ])
    func noRequests(name: String, text: String) async throws {
        try await receiving { _, port in
            let socket = try await AirPlay2TestSocket(port: port)
            try? await socket.send(Array(text.utf8))
            await #expect(throws: RAOPTestSender.Closed.self) { _ = try await socket.request() }
            try await sending(to: port) { sender in
                let answer = try await sender.ask("OPTIONS")
                #expect(answer.status == 200)
            }
        }
    }

    @Test(
        "R6 a frame replayed, one left out, one changed: the connection ends, and nothing more is heard on it",
        arguments: ["replayed", "left out", "changed"])
    func brokenFrames(name: String) async throws {
        try await receiving { receiver, port in
            let socket = try await AirPlay2TestSocket(port: port)
            let client = PairingClient { request in
                try await socket.send(request.rtsp().encoded())
                return PairingAnswer(try await socket.response(), to: request)
            }
            var bytes = EncryptedByteStream(.controller, keys: .control(try await client.transient().secret))
            let request = RTSPRequest(method: "OPTIONS", uri: "*", headers: ["CSeq": "1"]).encoded()
            let first = bytes.seal(request)
            try await socket.send(first)
            #expect(await eventually { await receiver.record().requests.last == "OPTIONS" })
            var second = bytes.seal(request)
            switch name {
            case "replayed": second = first
            case "left out": second = bytes.seal(request)
            default: second[second.count - 1] ^= 1
            }
            try await socket.send(second)
            await socket.waitUntilClosed()
            #expect(await receiver.record().requests.filter { $0 == "OPTIONS" }.count == 1)
            try await sending(to: port) { sender in
                let answer = try await sender.ask("OPTIONS")
                #expect(answer.status == 200)
            }
        }
    }

    @Test("A1 lengths of nonsense end the buffered connection, and nothing else")
    func malformedBuffered() async throws {
        try await receiving { receiver, port in
            try await sending(to: port) { sender in
                let ports = try await sender.beginAirPlay2(103, 0x4_0000)
                for bytes: [UInt8] in [
                    [0, 0, 1, 2], [0, 37] + [UInt8](repeating: 0x80, count: 40),
                    [0, 40] + [UInt8](repeating: 0, count: 60),
                ] {
                    let socket = try await AirPlay2TestSocket(port: ports.data)
                    try await socket.send(bytes)
                    await #expect(throws: RAOPTestSender.Closed.self) { _ = try await socket.request() }
                }
                #expect(try await sender.ask("POST", uri: "/feedback").status == 200)
                #expect(await receiver.record().audioPackets == 0)
            }
        }
    }
}
