import Foundation
import RouteBackend

/// The streaming side of a simulated Cast receiver: answers OFFERs, receives, decodes, plays at the pace of the clock and
/// records (`Protocols/cast` section 12).
actor SimulatedCastStreaming {
    private static let tickNanoseconds: Int64 = 10_000_000
    /// A reader that falls this far behind loses the next datagrams.
    private static let maximumDatagrams = 16_384

    private let configuration: SimulatedCastConfiguration
    private let clock: any HostClock
    /// For the journal.
    private let tell: @Sendable (String, [String: JSONValue]) -> Void
    private let datagrams: AsyncStream<CastStreamingDatagrams.Datagram>
    private let datagramWriter: AsyncStream<CastStreamingDatagrams.Datagram>.Continuation
    private let starts: AsyncStream<Void>
    private let startWriter: AsyncStream<Void>.Continuation

    private var session: CastStreamingSession?
    private var offers = 0
    private var recorder: WAVRecorder?
    private var lastPicture: CastPicture?
    private var wasLosing = false
    /// Of the sessions that are over.
    private var past = SimulatedCastStreamingRecord()

    init(
        _ configuration: SimulatedCastConfiguration, clock: any HostClock,
        tell: @escaping @Sendable (String, [String: JSONValue]) -> Void
    ) {
        self.configuration = configuration
        self.clock = clock
        self.tell = tell
        (datagrams, datagramWriter) = AsyncStream.makeStream(
            of: CastStreamingDatagrams.Datagram.self, bufferingPolicy: .bufferingOldest(Self.maximumDatagrams))
        (starts, startWriter) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Receives and plays until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await datagram in self.datagrams { await self.receive(datagram) }
            }
            group.addTask {
                // Between sessions nothing ticks.
                for await _ in self.starts {
                    while await self.tick(), (try? await self.clock.sleep(nanoseconds: Self.tickNanoseconds)) != nil {}
                }
            }
        }
        await end("the receiver stopped")
        recorder?.close()
    }

    // MARK: What the sender asks

    /// The answer to an OFFER; nil where there is none. A refused one leaves the session that runs as it is.
    func offer(_ json: JSONValue, video: Bool) async -> JSONValue? {
        let faults = configuration.faults.streaming
        guard let sequenceNumber = json["seqNum"]?.int else {
            tell("offerRefused", ["why": "OFFER without seqNum"])
            return nil
        }
        if faults.neverAnswers {
            tell("offerIgnored", [:])
            return nil
        }
        do {
            offers += 1
            if let code = faults.errorCode { throw CastStreamingOffer.Refusal(code: code, description: "on purpose") }
            if faults.refusesSecondOffer, offers > 1 {
                throw CastStreamingOffer.Refusal(code: 3, description: "on purpose: another OFFER")
            }
            let offer = try CastStreamingOffer(json)
            let streams = try offer.choose(video: video)
            let port = try await start(streams)
            return offer.answer(port: port, streams: streams)
        } catch {
            let refusal =
                error as? CastStreamingOffer.Refusal
                ?? CastStreamingOffer.Refusal(code: 4, description: "no UDP port: \(error)")
            tell("offerRefused", ["code": .integer(refusal.code), "why": .string(refusal.description)])
            return CastStreamingOffer.answer(refusing: refusal, sequenceNumber: sequenceNumber)
        }
    }

    func stop(_ reason: String) async { await end(reason) }

    private func start(_ streams: [CastOfferedStream]) async throws -> Int {
        let number = offers
        let datagrams = try CastStreamingDatagrams.open(
            host: configuration.host, session: number, clock: clock, datagrams: datagramWriter)
        let port = datagrams.port
        let next: CastStreamingSession
        do {
            next = try CastStreamingSession(
                number: number, streams: streams, datagrams: datagrams, faults: configuration.faults.streaming,
                firstFrame: past.heardFrames, at: clock.now())
            if streams.contains(where: { $0.kind == .audio }) { try openRecording() }
        } catch {
            await datagrams.close()
            throw error
        }
        await end("another OFFER")
        if configuration.faults.streaming.portIsClosed { await datagrams.close() }
        session = next
        past.sessions += 1
        wasLosing = false
        let names = streams.map { stream -> JSONValue in
            [
                "kind": .string(stream.kind.rawValue), "codec": .string(stream.codec),
                "ssrc": .integer(Int(stream.ssrc)), "delay_ms": .integer(stream.targetDelay),
                "encrypted": .bool(stream.encryption != nil),
            ]
        }
        tell("streamStarted", ["port": .integer(port), "streams": .array(names)])
        startWriter.yield()
        return port
    }

    private func openRecording() throws {
        guard recorder == nil, let url = file("streaming.wav") else { return }
        recorder = try WAVRecorder(url: url, sampleRate: Int(CastAudioPlayout.sampleRate), channels: 2)
        past.recording = url
    }

    private func file(_ suffix: String) -> URL? {
        configuration.recordingFolder?.appending(path: "\(configuration.fileName)-\(suffix)")
    }

    private func end(_ reason: String) async {
        guard let session else { return }
        self.session = nil
        Self.count(session, in: &past)
        past.endings = past.endings.suffix(99) + [reason]
        writePicture()
        var details = Self.summary(past)
        details["reason"] = .string(reason)
        tell("streamEnded", details)
        await session.datagrams.close()
    }

    private func writePicture() {
        guard let lastPicture, let url = file("picture.ppm") else { return }
        do {
            try Data(lastPicture.ppm).write(to: url)
            past.picture = url
        } catch {
            tell("pictureNotWritten", ["why": .string("\(error)")])
        }
    }

    // MARK: Receiving

    private func receive(_ datagram: CastStreamingDatagrams.Datagram) {
        guard let session, session.number == datagram.session else { return }
        session.receive(datagram)
    }

    /// False when no session runs.
    private func tick() async -> Bool {
        guard let session else { return false }
        let output = session.tick(at: clock.now())
        recorder?.append(output.samples)
        past.heardFrames += output.samples.count / 2
        past.lostFrames += output.lostFrames
        past.unsentFrames += output.unsentFrames
        if output.lostFrames > 0 {
            if !wasLosing { past.glitches += 1 }
            tell("streamLost", ["frames": .integer(output.lostFrames), "at": .integer(past.heardFrames)])
        }
        if !output.samples.isEmpty { wasLosing = output.lostFrames > 0 }
        for mark in output.marks { keep(mark) }
        for picture in output.pictures { show(picture) }
        if output.isSilent { await end("nothing came for 15 s") }
        return self.session != nil
    }

    private func keep(_ mark: CastAudioPlayout.Mark) {
        let rtpTime = UInt32(truncatingIfNeeded: mark.timestamp)
        if past.marks.count >= SimulatedCastStreamingRecord.maximumMarks { past.marks.removeFirst(1_000) }
        past.marks.append(
            SimulatedCastStreamingRecord.Mark(
                frame: mark.frame, rtpTime: rtpTime, hostNanoseconds: mark.hostNanoseconds))
        tell(
            "streamMark",
            [
                "frame": .integer(mark.frame), "rtp": .integer(Int(rtpTime)),
                "heard_ns": .integer(Int(mark.hostNanoseconds)), "delay_ms": .integer(session?.playoutDelay ?? 0),
            ])
    }

    private func show(_ shown: CastStreamingSession.ShownPicture) {
        let picture = shown.picture
        lastPicture = picture
        past.pictures += 1
        past.width = picture.width
        past.height = picture.height
        past.colour = SimulatedCastStreamingRecord.Colour(
            red: picture.mean.red, green: picture.mean.green, blue: picture.mean.blue)
        tell(
            "picture",
            [
                "width": .integer(picture.width), "height": .integer(picture.height), "key": .bool(shown.isKey),
                "mean": Self.json(picture.mean), "middle": Self.json(picture.middle),
                "rtp": .integer(Int(UInt32(truncatingIfNeeded: shown.timestamp))),
                "seen_ns": .integer(Int(shown.hostNanoseconds)),
            ])
    }

    private static func json(_ colour: CastPicture.Colour) -> JSONValue {
        [.integer(colour.red), .integer(colour.green), .integer(colour.blue)]
    }

    // MARK: What others see

    /// Everything so far, of the session that runs too.
    var record: SimulatedCastStreamingRecord {
        var record = past
        record.isRunning = session != nil
        if let session { Self.count(session, in: &record) }
        return record
    }

    private static func count(_ session: CastStreamingSession, in record: inout SimulatedCastStreamingRecord) {
        if let audio = session.audioStatistics { record.audio.add(audio) }
        if let video = session.videoStatistics { record.video.add(video) }
        record.audio.undecodableFrames += session.undecodable.audio
        record.video.undecodableFrames += session.undecodable.video
        record.malformedDatagrams += session.malformed
        record.foreignDatagrams += session.foreign
        record.lostDatagrams += session.lost
        record.feedbacks += session.feedbacks
        record.playoutDelay = session.playoutDelay
    }

    private static func summary(_ record: SimulatedCastStreamingRecord) -> [String: JSONValue] {
        func json(_ stream: SimulatedCastStreamingRecord.Stream) -> JSONValue {
            [
                "packets": .integer(stream.packets), "superfluous": .integer(stream.superfluousPackets),
                "frames": .integer(stream.frames), "missed": .integer(stream.missedFrames),
                "undecodable": .integer(stream.undecodableFrames), "losses": .integer(stream.losses),
                "keyRequests": .integer(stream.keyRequests),
            ]
        }
        return [
            "audio": json(record.audio), "video": json(record.video), "heardFrames": .integer(record.heardFrames),
            "lostFrames": .integer(record.lostFrames), "unsentFrames": .integer(record.unsentFrames),
            "glitches": .integer(record.glitches),
            "pictures": .integer(record.pictures), "feedbacks": .integer(record.feedbacks),
            "lostDatagrams": .integer(record.lostDatagrams), "malformed": .integer(record.malformedDatagrams),
        ]
    }
}

extension SimulatedCastReceiver {
    /// Everything that was streamed to it so far.
    public func streamingRecord() async -> SimulatedCastStreamingRecord { await streaming.record }
}
