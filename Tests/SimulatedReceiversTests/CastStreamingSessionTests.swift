import CastV2
import Foundation
import NIOCore
import RouteBackend
import RouterTestKit
import Testing

@testable import SimulatedReceivers

/// Cast Streaming to the simulated receiver over real sockets on loopback.
@Suite("R5 Cast Streaming receiver: sessions", .serialized)
struct CastStreamingSessionTests {
    private static let webrtc = CastNamespace.prefix + "webrtc"
    private static let cipher = CastFrameCipher(
        key: Array(0...15),
        mask: [0xF0, 0xE1, 0xD2, 0xC3, 0xB4, 0xA5, 0x96, 0x87, 0x78, 0x69, 0x5A, 0x4B, 0x3C, 0x2D, 0x1E, 0x0F])

    private static let offer = CastStreamingOfferTests.offer([
        CastStreamingOfferTests.audio(["targetDelay": 400]),
        CastStreamingOfferTests.video("vp8", index: 1, ssrc: 53_351),
    ])

    /// A receiver whose streaming app runs, with a sender in it.
    private func withApp(
        _ app: String = "0F5096E8", change: (inout SimulatedCastConfiguration) -> Void = { _ in },
        _ body: (SimulatedCastReceiver, CastTestSender, _ transport: String) async throws -> Void
    ) async throws {
        try await CastReceiverTests.withReceiver(change) { receiver, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(["type": "LAUNCH", "requestId": 1, "appId": .string(app)], in: CastNamespace.receiver)
            let status = await sender.hear("RECEIVER_STATUS", request: 1)
            let transport = try #require(status?.json["status"]?["applications"]?.array?.first?["transportId"]?.string)
            await sender.connect(to: transport)
            try await body(receiver, sender, transport)
            await sender.close()
        }
    }

    private func streams() throws -> [CastStreamTestSender.Stream] {
        let cipher = try #require(Self.cipher)
        return [
            CastStreamTestSender.Stream(ssrc: 31_534, payloadType: 127, clockRate: 48_000, cipher: cipher),
            CastStreamTestSender.Stream(ssrc: 53_351, payloadType: 96, clockRate: 90_000, cipher: cipher),
        ]
    }

    @Test(
        "R5 tone and colour come whole through 10 % loss, reordering and duplicates; a stop ends it",
        .timeLimit(.minutes(1)))
    func soundAndPicture() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "cast-streaming-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let sound = try await CastTestMedia.opus(tone: 880, seconds: 2)
        let pictures = try await CastTestMedia.vp8(colour: "0x1EA05A", pictures: 50)
        try #require(sound.count >= 200 && pictures.count == 50)
        try await withApp(
            change: {
                $0.recordingFolder = folder
                $0.faults.streaming.lose = 0.1
                $0.faults.streaming.reorder = 0.05
                $0.faults.streaming.duplicate = 0.05
            },
            { receiver, sender, transport in
                await sender.say(Self.offer, in: Self.webrtc, to: transport)
                let answer = await sender.hear("ANSWER")?.json["answer"]
                let streamer = try await CastStreamTestSender(
                    port: try #require(answer?["udpPort"]?.int), streams: try streams())
                let clock = SystemHostClock()
                let start = clock.now()
                for index in 0..<200 {
                    let captured = start + Int64(index) * 10_000_000
                    try await clock.sleep(until: captured)
                    if index % 50 == 0 { await streamer.report(at: captured) }
                    await streamer.send(sound[index], of: 0, key: true, at: captured)
                    if index % 4 == 0 {
                        await streamer.send(pictures[index / 4], of: 1, key: index / 4 % 5 == 0, at: captured)
                    }
                }
                // What is lost at the very end, nothing follows: a sender says its last packet again until it is heard.
                let isWhole = await eventually {
                    await streamer.report(at: clock.now())
                    await streamer.repeatLast()
                    let record = await receiver.streamingRecord()
                    return record.heardFrames >= 200 * 480 && record.pictures == 50
                }
                let record = await receiver.streamingRecord()
                #expect(isWhole, "\(record)")
                #expect(record.audio.frames == 200 && record.video.frames == 50)
                #expect(record.audio.missedFrames == 0 && record.lostFrames == 0 && record.glitches == 0, "\(record)")
                #expect(record.lostDatagrams > 10)
                let repeated = await streamer.repeated
                #expect(repeated > 5)
                #expect(record.width == 320 && record.height == 180)
                let colour = try #require(record.colour)
                #expect(
                    abs(colour.red - 30) < 6 && abs(colour.green - 160) < 6 && abs(colour.blue - 90) < 6, "\(colour)")
                // The recording's first sample is heard 400 ms after its capture; what loopback adds is next to nothing.
                let mark = try #require(record.marks.first)
                #expect(mark.frame == 0 && abs(mark.hostNanoseconds - start - 400_000_000) < 50_000_000)
                let samples = try Data(contentsOf: try #require(record.recording)).dropFirst(44)
                #expect(samples.count == 4 * record.heardFrames)
                #expect(Self.share(of: 880, in: samples) > 0.95)

                await sender.say(["type": "STOP", "requestId": 9], in: CastNamespace.receiver)
                #expect(await eventually { await receiver.streamingRecord().endings == ["the app ended"] })
                await streamer.close()
            })
        let view = try Data(contentsOf: folder.appending(path: "Küche-picture.ppm"))
        #expect(view.starts(with: Data("P6\n107 60\n255\n".utf8)))
    }

    /// The share of the power, from a quarter of a second on, that is in one tone.
    private static func share(of tone: Int, in data: Data) -> Double {
        let bytes = Array(data)
        let coefficient = 2 * cos(2 * Double.pi * Double(tone) / 48_000)
        var (power, energy, windows) = (0.0, 0.0, 0)
        for window in stride(from: 48_000, to: bytes.count - 19_200, by: 19_200) {
            var (previous, before) = (0.0, 0.0)
            for place in stride(from: window, to: window + 19_200, by: 4) {
                let value = Double(Int16(bitPattern: UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8))
                (previous, before) = (value + coefficient * previous - before, previous)
                energy += value * value
            }
            power += (previous * previous + before * before - coefficient * previous * before) * 2 / 4_800
            windows += 1
        }
        return windows > 4 && energy > 1e9 ? power / energy : 0
    }

    @Test("R5 an H.264 frame is a picture of its colour at once; there is no decoder for what is not taken")
    func h264() async throws {
        let frame = try await CastTestMedia.h264(colour: "0xC83C28")
        let picture = try #require(CastVideoDecoder(codec: "h264")?.decode(frame))
        #expect(picture.width == 320 && picture.height == 180 && picture.viewWidth == 107 && picture.viewHeight == 60)
        #expect(abs(picture.mean.red - 200) < 6 && abs(picture.mean.green - 60) < 6 && abs(picture.mean.blue - 40) < 6)
        #expect(picture.middle == picture.mean)
        #expect(CastVideoDecoder(codec: "vp9") == nil)
    }

    @Test("R5 the audio app answers with one stream, and GET_CAPABILITIES truly")
    func audioOnly() async throws {
        try await withApp("85CDB22F") { receiver, sender, transport in
            await sender.say(["type": "GET_CAPABILITIES", "seqNum": 3], in: Self.webrtc, to: transport)
            let capabilities = await sender.hear("CAPABILITIES_RESPONSE")?.json
            #expect(capabilities?["seqNum"] == 3 && capabilities?["result"] == "ok")
            #expect(capabilities?["capabilities"]?["mediaCaps"] == ["audio", "opus"])
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            let answer = await sender.hear("ANSWER")?.json
            #expect(answer?["answer"]?["sendIndexes"] == [0] && answer?["answer"]?["ssrcs"] == [31_535])
            #expect(await receiver.streamingRecord().isRunning)
        }
        // A device without a screen does not run the app with pictures.
        try await CastReceiverTests.withReceiver({ $0.capabilities = 2_052 }) { _, port, _ in
            let sender = try await CastTestSender(port: port)
            await sender.say(
                ["type": "GET_APP_AVAILABILITY", "requestId": 3, "appId": ["0F5096E8", "85CDB22F"]],
                in: CastNamespace.receiver)
            let available = await sender.hear { $0.requestID == 3 }?.json["availability"]
            #expect(available == ["0F5096E8": "APP_UNAVAILABLE", "85CDB22F": "APP_AVAILABLE"])
            await sender.close()
        }
    }

    @Test(
        "R5 an OFFER that fails is answered with an error and leaves the session as it was; the next good one replaces it"
    )
    func secondOffer() async throws {
        try await withApp { receiver, sender, transport in
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            #expect(await sender.hear("ANSWER")?.json["result"] == "ok")
            await sender.say(
                ["type": "OFFER", "seqNum": 8, "offer": ["supportedStreams": []]], in: Self.webrtc, to: transport)
            let refused = await sender.hear { $0.json["seqNum"] == 8 }?.json
            #expect(refused?["result"] == "error" && refused?["error"]?["code"]?.int == 2)
            var record = await receiver.streamingRecord()
            #expect(record.isRunning && record.sessions == 1 && record.endings.isEmpty)
            var again = Self.offer.object ?? [:]
            again["seqNum"] = 9
            await sender.say(.object(again), in: Self.webrtc, to: transport)
            #expect(await sender.hear { $0.json["seqNum"] == 9 }?.json["result"] == "ok")
            record = await receiver.streamingRecord()
            #expect(record.isRunning && record.sessions == 2 && record.endings == ["another OFFER"])
        }
    }

    @Test("R5 faults: refused, unanswered, refused the second time")
    func refusals() async throws {
        try await withApp(change: { $0.faults.streaming.errorCode = 42 }) { receiver, sender, transport in
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            #expect(await sender.hear("ANSWER")?.json["error"]?["code"] == 42)
            #expect(await receiver.streamingRecord().sessions == 0)
        }
        try await withApp(change: { $0.faults.streaming.refusesSecondOffer = true }) { receiver, sender, transport in
            for number in [1, 2] {
                var offer = Self.offer.object ?? [:]
                offer["seqNum"] = .integer(number)
                await sender.say(.object(offer), in: Self.webrtc, to: transport)
                let answer = await sender.hear { $0.json["seqNum"]?.int == number }
                #expect(answer?.json["result"] == (number == 1 ? "ok" : "error"))
            }
            #expect(await receiver.streamingRecord().isRunning)
        }
        try await withApp(change: { $0.faults.streaming.neverAnswers = true }) { receiver, sender, transport in
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            await sender.say(["type": "GET_CAPABILITIES", "seqNum": 3], in: Self.webrtc, to: transport)
            // Requests are handled in order: this one's answer shows that the OFFER had its turn.
            #expect(await sender.hear("CAPABILITIES_RESPONSE") != nil)
            #expect(await sender.received.allSatisfy { $0.type != "ANSWER" })
            #expect(await receiver.record().words.contains("offerIgnored"))
        }
    }

    @Test(
        "R5 datagrams that are nothing, or of nobody, are counted and harm nothing; a silent receiver reports nothing")
    func badDatagrams() async throws {
        let malformed: [(String, [UInt8])] = [
            ("one byte", [0x80]), ("RTP without Cast header", [0x80, 127] + [UInt8](repeating: 0, count: 10)),
            ("version 1", [0x40, 127] + [UInt8](repeating: 0, count: 30)),
            ("packet 5 of 3", [0x80, 127, 0, 1, 0, 0, 0, 0, 0, 0, 0x7B, 0x2E, 0x80, 0, 0, 5, 0, 3]),
            ("RTCP shorter than it says", [0x80, 200, 0, 6, 0, 0]),
            ("RTCP with padding", [0xA0, 200, 0, 1, 0, 0, 0, 0]),
            ("too long", [0x80, 127] + [UInt8](repeating: 0, count: 9_100)),
        ]
        try await withApp(change: { $0.faults.streaming.isSilent = true }) { receiver, sender, transport in
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            let port = try #require(await sender.hear("ANSWER")?.json["answer"]?["udpPort"]?.int)
            var foreign = try streams()
            foreign[0].ssrc = 5
            let stranger = try await CastStreamTestSender(port: port, streams: foreign)
            for (_, bytes) in malformed { await stranger.write(bytes) }
            await stranger.send([1], of: 0, key: true, at: 0)
            let streamer = try await CastStreamTestSender(port: port, streams: try streams())
            await streamer.report(at: SystemHostClock().now())
            // Not Opus and not VP8: decoders refuse it, and the receiver goes on.
            await streamer.send([UInt8](repeating: 0xFF, count: 20), of: 0, key: true, at: SystemHostClock().now())
            await streamer.send([UInt8](repeating: 0xFF, count: 20), of: 1, key: true, at: SystemHostClock().now())
            let isCounted = await eventually {
                let record = await receiver.streamingRecord()
                return record.audio.frames == 1 && record.video.frames == 1
                    && record.malformedDatagrams == malformed.count
            }
            let record = await receiver.streamingRecord()
            #expect(isCounted, "\(record)")
            #expect(record.foreignDatagrams == 1 && record.feedbacks == 0 && record.isRunning)
            #expect(record.audio.undecodableFrames == 1 && record.video.undecodableFrames == 1)
            #expect(await streamer.feedbacks.isEmpty)
            await stranger.close()
            await streamer.close()
        }
    }

    @Test("R5 a sender that falls silent is given up after 15 s; a sender that leaves, at once")
    func endings() async throws {
        let clock = ManualClock()
        let streaming = SimulatedCastStreaming(
            SimulatedCastConfiguration(name: "TV", port: 0, httpPort: nil), clock: clock
        ) { _, _ in }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await streaming.run() }
            #expect(await streaming.offer(Self.offer, video: true)?["result"] == "ok")
            let isEnded = await eventually {
                if clock.sleepers > 0 { clock.advance(nanoseconds: 1_000_000_000) }
                return await !streaming.record.isRunning
            }
            #expect(isEnded)
            #expect(clock.now() >= 16_000_000_000)
            group.cancelAll()
        }
        #expect(await streaming.record.endings == ["nothing came for 15 s"])

        try await withApp { receiver, sender, transport in
            await sender.say(Self.offer, in: Self.webrtc, to: transport)
            _ = await sender.hear("ANSWER")
            await sender.close()
            #expect(await eventually { await receiver.streamingRecord().endings == ["the sender left"] })
        }
    }

    @Test("R5 the seeded way loses, delays and doubles the same each time, and holds no more than its limit")
    func way() throws {
        func run() throws -> ([Int], Int) {
            var faults = CastStreamingFaults()
            faults.lose = 0.2
            faults.reorder = 0.1
            faults.duplicate = 0.1
            var way = CastStreamingWay(faults)
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
            var copies: [Int] = []
            for index in 0..<1_000 {
                let datagram = CastStreamingDatagrams.Datagram(
                    session: 1, bytes: [UInt8(truncatingIfNeeded: index)], sender: address,
                    hostNanoseconds: Int64(index) * 1_000_000)
                copies.append(way.send(datagram))
            }
            let late = way.arrivals(at: 2_000_000_000)
            #expect(late.map(\.hostNanoseconds) == late.map(\.hostNanoseconds).sorted())
            #expect(way.arrivals(at: .max).isEmpty)
            return (copies, way.lost + late.count * 10_000)
        }
        let first = try run()
        #expect(try first == run())
        #expect((150...250).contains(first.1 % 10_000))
        #expect(Set(first.0) == [0, 1, 2])

        var faults = CastStreamingFaults()
        faults.delay = .seconds(10)
        var way = CastStreamingWay(faults)
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: 9)
        for _ in 0..<5_000 {
            _ = way.send(
                CastStreamingDatagrams.Datagram(session: 1, bytes: [], sender: address, hostNanoseconds: 0))
        }
        #expect(way.lost == 5_000 - CastStreamingWay.limit)
        #expect(way.arrivals(at: 10_000_000_000).count == CastStreamingWay.limit)
    }
}
