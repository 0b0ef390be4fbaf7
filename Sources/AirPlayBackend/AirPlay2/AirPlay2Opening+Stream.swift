import AirPlay
import HomeKitPairing
import Pacing
import RouteBackend
import RouteModel

/// The stream of a session that is set up.
extension AirPlay2Opening {
    func realtime(
        _ client: AirPlay2Client, _ way: AirPlay2Way, _ facts: AirPlay2Facts, _ session: AirPlay2SessionAnswer,
        _ sessionClock: AirPlaySessionClock, _ datagrams: AirPlayDatagrams, _ opened: Opened
    ) async throws -> AirPlayRouteSession.Parts {
        let format = try format(.appleLossless, offered: client.info.realtimeFormats)
        let key = await client.streamKey()
        let lead = plan.leadMilliseconds * format.sampleRate / 1000
        let answer = try await client.start(
            [
                .audio(
                    .realtime(
                        format, key: key, controlPort: datagrams.control.port, maximumLatency: max(88_200, lead),
                        connectionID: UInt64(UInt32.random(in: 1 ... .max))))
            ], peers: peers(facts, session, sessionClock))
        guard let ports = answer.stream(.realtime), let dataPort = ports.dataPort else {
            throw AirPlay2Error.incompleteAnswer(method: "SETUP", key: "dataPort")
        }
        let failures = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(1))
        let stream = try datagrams.start(audioPort: dataPort, controlPort: ports.controlPort) {
            failures.continuation.yield($0)
        }
        opened.stream = stream
        let streamPlan = AirPlayStreamPlan(
            format: AudioPacketFormat(
                codec: .alac, sampleRate: format.sampleRate, channels: 2, framesPerPacket: format.framesPerPacket,
                bitDepth: format.bitDepth),
            leadFrames: lead, startFrames: startFrames(facts, lead: lead, sampleRate: format.sampleRate),
            metadataKinds: facts.metadataKinds, feedback: true)
        var generator = SystemRandomNumberGenerator()
        var silence = RAOPSessionDescription.ALACFormat()
        silence.bitDepth = format.bitDepth
        let lane = DatagramLane(
            datagrams: datagrams, stream: stream,
            packetizer: AirPlay2Packetizer(
                cipher: AirPlay2AudioCipher(key: key),
                // What the clock is, it is told by.
                ssrc: way.clock == .ptp ? 0 : UInt32.random(in: 1 ... .max, using: &generator),
                firstSequence: UInt16.random(in: .min ... .max, using: &generator),
                firstTimestamp: UInt32.random(in: .min ... .max, using: &generator),
                framesPerPacket: format.framesPerPacket),
            plan: streamPlan,
            silence: RAOPSilence.payload(.appleLossless(silence), frames: format.framesPerPacket),
            closed: sessionClock.release, sync: sessionClock.sync(lead: lead))
        let volume = try await volume(client)
        let told = await client.audioLatency
        var latency = 0
        if case .ntp(let usual) = sessionClock.anchor { latency = told > 0 ? told : usual }
        var evidence = sessionClock.evidence
        evidence.silentCombination = AirPlay2SilentCombination.sentence(format, way, endpoint: endpoint)
        return AirPlayRouteSession.Parts(
            wire: AirPlay2Wire(client: client, endpoint: endpoint, audioLatency: latency, anchoring: nil), lane: lane,
            plan: streamPlan, descriptor: descriptor(streamPlan, volume.readback), volume: volume.state,
            failures: failures.stream, evidence: evidence)
    }

    /// Where the device keeps seconds of audio itself, told once when to play it.
    func buffered(
        _ client: AirPlay2Client, _ facts: AirPlay2Facts, _ session: AirPlay2SessionAnswer,
        _ sessionClock: AirPlaySessionClock, _ opened: Opened
    ) async throws -> AirPlayRouteSession.Parts {
        guard case .ptp(let clockID, let time) = sessionClock.anchor else {
            throw RouterError(.internal, "a buffered stream was begun without PTP", scope: .route)
        }
        let format = try format(.aacLC, offered: client.info.bufferedFormats)
        guard let word = format.codecWord else {
            throw RouterError(.internal, "no buffered stream holds \(format.codec)", scope: .route)
        }
        let key = await client.streamKey()
        let answer = try await client.start(
            [.audio(.buffered(format, key: key, connectionID: UInt64(UInt32.random(in: 1 ... .max))))],
            peers: peers(facts, session, sessionClock))
        guard let dataPort = answer.stream(.buffered)?.dataPort else {
            throw AirPlay2Error.incompleteAnswer(method: "SETUP", key: "dataPort")
        }
        let writer = try await client.openBuffered(port: dataPort)
        opened.writer = writer
        let lead = plan.leadMilliseconds * format.sampleRate / 1000
        let streamPlan = AirPlayStreamPlan(
            format: AudioPacketFormat(
                codec: .aac, sampleRate: format.sampleRate, channels: 2, framesPerPacket: format.framesPerPacket),
            leadFrames: lead,
            startFrames: startFrames(facts, lead: lead, sampleRate: format.sampleRate, isBuffered: true),
            metadataKinds: facts.metadataKinds, feedback: true)
        let lane = BufferedLane(
            writer: writer,
            packetizer: BufferedAudioPacketizer(
                cipher: AirPlay2AudioCipher(key: key), ssrc: word, firstSequence: UInt32.random(in: 0...0xFFFF)),
            firstTimestamp: UInt32.random(in: .min ... .max), plan: streamPlan, closed: sessionClock.release)
        let volume = try await volume(client)
        return AirPlayRouteSession.Parts(
            wire: AirPlay2Wire(
                client: client, endpoint: endpoint, audioLatency: 0,
                anchoring: AirPlay2Wire.Anchoring(clockID: clockID, time: time, hostClock: clock)), lane: lane,
            plan: streamPlan, descriptor: descriptor(streamPlan, volume.readback), volume: volume.state,
            // Nothing goes by datagrams.
            failures: AsyncStream { $0.finish() }, evidence: sessionClock.evidence)
    }

    func descriptor(_ plan: AirPlayStreamPlan, _ readback: VolumeDescriptor.Readback) -> RouteSessionDescriptor {
        RouteSessionDescriptor(
            endpoint: endpoint,
            delivery: .push(plan.requirements),
            capabilities: endpoint.capabilities,
            volume: VolumeDescriptor(handling: .adjustable, curve: .airplay, readback: readback))
    }

    /// Frames, at most `lead`, that the first packets of a run need; all of them where a person said how many.
    private func startFrames(
        _ facts: AirPlay2Facts, lead: Int, sampleRate: Int, isBuffered: Bool = false
    ) -> Int {
        guard endpoint.facts["latency"] == nil else { return lead }
        return AirPlayStartLead(
            model: facts.model, manufacturer: endpoint.facts["manufacturer"], isBuffered: isBuffered
        ).frames(sampleRate: sampleRate, lead: lead)
    }

    /// As the device says it: when asked, else at the beginning.
    func volume(
        _ client: AirPlay2Client
    ) async throws -> (state: VolumeState?, readback: VolumeDescriptor.Readback) {
        if let told = try await client.volume() { return (AirPlayRouteSession.volumeState(told), .polled) }
        guard let initial = client.info.initialVolume else { return (nil, .none) }
        return (AirPlayRouteSession.volumeState(initial), .events)
    }

    private func peers(
        _ facts: AirPlay2Facts, _ session: AirPlay2SessionAnswer, _ sessionClock: AirPlaySessionClock
    ) -> AirPlay2Client.Peers? {
        guard let addresses = sessionClock.addresses else { return nil }
        guard facts.features?.contains(.extendedPeers) == true, let peer = sessionClock.peer else {
            return .addresses(addresses)
        }
        return .extended([session.timingPeer, peer].compactMap(\.self))
    }

    /// The form that the person wishes, or the nearest that the device takes.
    func format(
        _ codec: AirPlayAudioFormat.Codec, offered: AudioFormatBits?
    ) throws(RouterError) -> AirPlayAudioFormat {
        let wished = AirPlayAudioFormat(
            codec, sampleRate: plan.sampleRate, bitDepth: codec == .appleLossless ? plan.bitDepth : 16)
        guard let offered, !offered.isEmpty else { return wished }
        guard let choice = offered.choice(codec, sampleRate: wished.sampleRate, bitDepth: wished.bitDepth) else {
            throw RouterError(
                .unsupported, "\(endpoint.name) takes no \(codec == .appleLossless ? "Apple Lossless" : "AAC")",
                hint: "Use another protocol with --via", scope: .route)
        }
        return choice
    }
}
