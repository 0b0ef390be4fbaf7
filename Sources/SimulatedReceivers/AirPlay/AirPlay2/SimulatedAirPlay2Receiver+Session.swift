import AirPlay
import HomeKitPairing
import Logging
import NIOCore
import RouteBackend

/// What a session does: ports, streams, and the sound of them.
extension SimulatedAirPlay2Receiver {
    /// Buffered streams that are full are looked at again after this long.
    private static let patience: Int64 = 20_000_000

    func perform(
        _ deed: AirPlay2ServerMachine.Deed, _ connection: inout AirPlay2Connection,
        _ answer: inout AirPlay2ServerMachine.Answer
    ) async throws {
        let mine = session.flatMap { $0.connection == connection.id ? $0 : nil } ?? controls[connection.id]
        switch deed {
        case .setUpSession(let request): answer.response = try await setUp(request, connection)
        case .setUpStreams(let requests):
            guard let mine else { throw ChannelError.inappropriateOperationForState }
            var answers: [PropertyList] = []
            for request in requests { answers.append(try await setUp(request, in: mine, &connection)) }
            answer.response = AirPlay2ServerMachine.response(.dictionary(["streams": .array(answers)]))
        case .record(let info):
            mine?.realtime?.expect(info)
            mine?.recordedAt = clock.now()
            mine?.isMute = connection.machine.isMute
            tell("record")
        case .setPeers(let addresses):
            seen.peers = addresses
            if let mine, let slave { await slave.follow(clockID: mine.masterID, addresses: masters(addresses)) }
            tell("peers", ["addresses": .array(addresses.map { .string($0) })])
        case .flush(let info):
            // What was heard until now was heard.
            tick(connection.id)
            mine?.realtime?.flush(info)
            mine?.sounds = false
            seen.flushes.append(SimulatedRAOPRecord.Flush(sequence: info.sequence, rtpTime: info.timestamp))
            tell("flush")
        case .anchor(let request): anchor(request, mine)
        case .flushBuffered(let request):
            tick(connection.id)
            mine?.buffered?.flush(request)
            mine?.sounds = false
            seen.bufferedFlushes.append(
                .init(
                    fromSequence: request.fromSequence, untilSequence: request.untilSequence,
                    untilTimestamp: request.untilTimestamp))
            tell("flushBuffered", ["until": .integer(Int(request.untilSequence))])
        case .take(let parameter):
            if case .volume(let volume) = parameter { self.volume = volume }
            seen.take(parameter)
            let news = parameter.news
            tell(news.word, news.details)
        case .command(let list):
            seen.commands.append(list)
            if seen.commands.count > SimulatedAirPlay2Record.keptCommands { seen.commands.removeFirst() }
            tell("command", ["type": .string(list["type"]?.string ?? "")])
        case .audioMode(let mode): seen.audioModes.append(mode)
        case .feedback: seen.feedbacks += 1
        case .tearDownStreams(let ids):
            tick(connection.id)
            if let mine { for id in ids { await endStream(id, of: mine) } }
            tell("teardown", ["streams": .array(ids.map { .integer($0) })])
        case .tearDown:
            seen.teardowns += 1
            await endSession(of: connection.id)
            tell("teardown")
        case .challenged: seen.challenges += 1
        case .wasBusy: seen.busyAnswers += 1
        }
    }

    // MARK: Setting up

    private func setUp(_ request: AirPlay2SessionRequest, _ connection: AirPlay2Connection) async throws -> RTSPResponse
    {
        let sender = connection.channel.remoteAddress?.ipAddress ?? ""
        let faults = configuration.faults
        var ports: RAOPDatagramPorts?
        let kind: AirPlay2SenderClock.Kind
        switch request.timing {
        case .ntp(let port):
            kind = .ntp(try? SocketAddress(ipAddress: sender, port: port))
            seen.sessions.append(describe(request, .ntp, connection))
        case .ptp(let addresses, let identity):
            kind = .ptp
            await slave?.follow(clockID: identity, addresses: masters(addresses))
            seen.sessions.append(describe(request, .ptp, connection))
        case .none:
            kind = .none
            seen.sessions.append(describe(request, .none, connection))
        }
        if !request.isRemoteControlOnly {
            ports = try RAOPDatagramPorts.open(host: configuration.host, clock: clock)
        }
        let id = connection.id
        let events = SimulatedEventChannel(host: configuration.host, secret: connection.secret) { [weak self] news in
            await self?.took(news, of: id)
        }
        let session = AirPlay2Session(
            connection: id, ports: ports, clock: AirPlay2SenderClock(kind, asks: !faults.ignoresTiming),
            events: events, secret: connection.secret, sender: sender, buttons: configuration.buttons)
        if case .ptp(_, let identity) = request.timing { session.masterID = identity }
        if request.isRemoteControlOnly { controls[id] = session } else { self.session = session }
        let eventPort = try await openEvents(session)
        if let ports { session.tasks.append(spawn { await $0.play(id, ports) }) }
        tell(
            "session",
            [
                "clock": .string(seen.sessions.last?.clock.rawValue ?? ""),
                "encrypted": .bool(connection.secret != nil),
                "sender": .string(request.name ?? ""),
            ])
        let isNTP = seen.sessions.last?.clock == .ntp
        return AirPlay2ServerMachine.response(
            connection.machine.sessionAnswer(
                eventPort: eventPort, timingPort: isNTP ? ports?.timingPort ?? 0 : 0, identity: book.identifier))
    }

    /// Peers are given with ourselves among them.
    private func masters(_ addresses: [String]) -> [String] { addresses.filter { $0 != configuration.host } }

    private func describe(
        _ request: AirPlay2SessionRequest, _ clock: SimulatedAirPlay2Record.Clock, _ connection: AirPlay2Connection
    ) -> SimulatedAirPlay2Record.Session {
        SimulatedAirPlay2Record.Session(
            clock: clock, isRemoteControlOnly: request.isRemoteControlOnly, name: request.name,
            deviceID: request.deviceID, isEncrypted: connection.secret != nil)
    }

    /// The event port listens when this returns, or will, where it is late on purpose.
    private func openEvents(_ session: AirPlay2Session) async throws -> Int {
        let events = session.events
        let delay = Int64(configuration.faults.eventPortDelay * 1e9)
        let reserved = delay > 0 ? try await SimulatedEventChannel.reservePort(configuration.host) : 0
        let (opened, continuation) = AsyncStream.makeStream(of: Int.self)
        let clock = clock
        session.tasks.append(
            spawn { receiver in
                if delay > 0 { try? await clock.sleep(nanoseconds: delay) }
                do {
                    try await events.run(port: reserved) { continuation.yield($0) }
                } catch {
                    if !(error is CancellationError) { receiver.logger.debug("events ended: \(error)") }
                }
                continuation.finish()
            })
        if delay > 0 { return reserved }
        for await port in opened { return port }
        throw ChannelError.inappropriateOperationForState
    }

    private func setUp(
        _ request: AirPlay2StreamRequest, in session: AirPlay2Session, _ connection: inout AirPlay2Connection
    ) async throws -> PropertyList {
        let dataPort: Int
        var controlPort: Int?
        var data: (stream: SimulatedDataStream, server: AirPlay2Session.Work)?
        switch request.kind {
        case .realtime(let format, let key, let control):
            guard let decoder = AirPlay2SoundDecoder(format, framesPerPacket: request.framesPerPacket) else {
                throw ChannelError.operationUnsupported
            }
            try prepareRecording(format)
            let isPTP = if case .ptp = session.clock.kind { true } else { false }
            session.realtime = AirPlay2RealtimeStream(
                decoder: decoder, key: key, faults: configuration.faults, controlAddress: session.address(control),
                latencyFrames: isPTP ? configuration.ptpLatencyFrames : configuration.ntpLatencyFrames,
                firstFrame: recordedFrames)
            guard let ports = session.ports else { throw ChannelError.inappropriateOperationForState }
            (dataPort, controlPort) = (ports.audioPort, ports.controlPort)
        case .buffered(let format, let key):
            try prepareRecording(format)
            session.buffered = AirPlay2BufferedStream(
                format, framesPerPacket: request.framesPerPacket, key: key, configuration: configuration,
                firstFrame: recordedFrames)
            dataPort = try await openBuffered(session)
            controlPort = session.ports?.controlPort
        case .data(let seed, _, _):
            guard let speaker = configuration.dataSpeaker else { throw ChannelError.operationUnsupported }
            let opened = try await openData(
                SimulatedDataStream(host: configuration.host, secret: session.secret, seed: seed, speaker: speaker))
            dataPort = opened.port
            data = (opened.stream, opened.server)
        }
        let id = connection.machine.add(request)
        switch request.streamKind {
        case .realtime: session.realtimeID = id
        case .buffered: session.bufferedID = id
        case .data: session.data[id] = data
        }
        seen.streams.append(
            SimulatedAirPlay2Record.Stream(
                kind: request.streamKind, audioFormat: request.audioFormat, codecType: request.codecType,
                framesPerPacket: request.framesPerPacket, latencyMin: request.latencyMin,
                latencyMax: request.latencyMax))
        tell(
            "stream",
            [
                "type": .integer(request.streamKind.rawValue),
                "audioFormat": .string("0x" + String(request.audioFormat, radix: 16)),
            ])
        return connection.machine.streamAnswer(id, request, dataPort: dataPort, controlPort: controlPort)
    }

    private func openData(
        _ stream: SimulatedDataStream
    ) async throws -> (stream: SimulatedDataStream, server: AirPlay2Session.Work, port: Int) {
        let (opened, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = spawn { receiver in
            do {
                try await stream.run { continuation.yield($0) }
            } catch {
                if !(error is CancellationError) { receiver.logger.debug("a data stream ended: \(error)") }
            }
            continuation.finish()
        }
        for await port in opened { return (stream, server, port) }
        throw ChannelError.inappropriateOperationForState
    }

    /// Something happens to what is at the end of the data streams, such as another title that an Apple TV plays.
    public func change<Speaker: SimulatedDataSpeaker>(
        _ type: Speaker.Type, _ body: @Sendable (inout Speaker) -> [UInt8]
    ) async {
        for data in dataStreams { await data.change(type, body) }
    }

    /// In the order in which they were set up, those of the session that plays first.
    private var dataStreams: [SimulatedDataStream] {
        let sessions = (session.map { [$0] } ?? []) + controls.sorted { $0.key < $1.key }.map(\.value)
        return sessions.flatMap { $0.data.sorted { $0.key < $1.key }.map(\.value.stream) }
    }

    /// What is at the end of the first data stream, as it is now, or was at the end of the last that there was.
    public func speaker<Speaker: SimulatedDataSpeaker>(as type: Speaker.Type) async -> Speaker? {
        guard let first = dataStreams.first else { return lastSpeaker as? Speaker }
        return await first.speaker(as: type)
    }

    // MARK: Buffered sound

    private func openBuffered(_ session: AirPlay2Session) async throws -> Int {
        let server = try await ClientListener<ByteBuffer, ByteBuffer>.bind(host: configuration.host, port: 0)
        let id = session.connection
        session.bufferedServer = spawn { receiver in
            // A sender has one connection.
            await server.run(oneAtATime: true) { client, _ in await receiver.read(client, id) }
        }
        return server.port
    }

    private func read(_ client: NIOAsyncChannel<ByteBuffer, ByteBuffer>, _ connection: Int) async {
        do {
            try await client.executeThenClose { inbound, _ in
                var bytes: [UInt8] = []
                for try await chunk in inbound {
                    bytes.append(contentsOf: chunk.readableBytesView)
                    var used = 0
                    while let (packet, count) = try AirPlay2BufferedPacket.decode(bytes[used...]) {
                        used += count
                        try await self.take(packet, connection)
                    }
                    bytes.removeFirst(used)
                }
            }
        } catch {
            if !(error is CancellationError) { logger.debug("a buffered connection ended: \(error)") }
        }
    }

    /// Keeps a packet, once there is room for it: until then the sender has to wait.
    private func take(_ packet: AirPlay2BufferedPacket, _ connection: Int) async throws {
        while let stream = session?.buffered, session?.connection == connection, stream.isFull {
            try await clock.sleep(nanoseconds: Self.patience)
        }
        guard let session, session.connection == connection else { return }
        session.buffered?.take(packet, &seen)
    }

    private func anchor(_ request: AirPlay2AnchorRequest, _ session: AirPlay2Session?) {
        guard let session else { return }
        tick(session.connection)
        session.buffered?.anchor(request, arrival: clock.now())
        switch request {
        case .pause:
            session.sounds = false
            seen.anchors.append(.init(rate: 0))
            tell("anchor", ["rate": 0])
        case .play(let rtpTime, let time, let identity):
            seen.anchors.append(.init(rate: 1, rtpTime: rtpTime, senderNanoseconds: time, clock: identity))
            tell("anchor", ["rate": 1, "rtp": .integer(Int(rtpTime)), "sender_ns": .integer(Int(time))])
        }
    }

    // MARK: Ending

    private func endStream(_ id: Int, of session: AirPlay2Session) async {
        if session.realtimeID == id {
            session.realtime = nil
            session.realtimeID = nil
        } else if session.bufferedID == id {
            session.buffered = nil
            session.bufferedID = nil
            session.bufferedServer?.cancel()
            await session.bufferedServer?.value
            session.bufferedServer = nil
        } else if let data = session.data.removeValue(forKey: id) {
            data.server.cancel()
            await data.server.value
        }
    }

    func endSession(of connection: Int) async {
        let ending: AirPlay2Session
        if let control = controls.removeValue(forKey: connection) {
            ending = control
        } else if let session, session.connection == connection {
            tick(connection)
            self.session = nil
            ending = session
        } else {
            return
        }
        if let data = ending.data.values.first { lastSpeaker = await data.stream.anySpeaker }
        await ending.ports?.close()
        for task in ending.tasks + (ending.bufferedServer.map { [$0] } ?? []) + ending.data.values.map(\.server) {
            task.cancel()
            await task.value
        }
    }

    /// Work of a session, ended with it.
    private func spawn(
        _ work: @escaping @Sendable (isolated SimulatedAirPlay2Receiver) async -> Void
    ) -> AirPlay2Session.Work {
        Task { await work(self) }
    }

    // MARK: Sound

    private func play(_ connection: Int, _ ports: RAOPDatagramPorts) async {
        let clock = clock
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await packet in ports.packets { await self.take(packet, connection) }
            }
            group.addTask {
                while (try? await clock.sleep(nanoseconds: 10_000_000)) != nil {
                    await self.askTheSlave(connection)
                    await self.tick(connection)
                }
            }
            group.addTask {
                // Apart from the sound: a sender that is looked for by mDNS takes its time.
                while (try? await clock.sleep(nanoseconds: 50_000_000)) != nil {
                    await self.pressDueButtons(connection)
                }
            }
        }
    }

    private func take(_ packet: RAOPDatagramPorts.Packet, _ connection: Int) {
        guard let session, session.connection == connection else { return }
        switch packet.role {
        case .audio: session.realtime?.takeAudio(packet.bytes, isAnswer: false, &seen)
        case .control: session.realtime?.takeControl(packet, session.clock, &seen)
        case .timing: if session.clock.take(packet) { seen.timingExchanges += 1 }
        }
    }

    private func askTheSlave(_ connection: Int) async {
        guard let slave, let session, session.connection == connection, case .ptp = session.clock.kind else { return }
        let estimate = await slave.isSettled ? await slave.estimate : nil
        session.clock.masterOffset = estimate?.offset
    }

    private func tick(_ connection: Int) {
        guard let session, session.connection == connection, let ports = session.ports else { return }
        let now = clock.now()
        session.clock.tick(at: now, ports)
        let offset = session.clock.offset(at: now)
        if let stream = session.realtime { hear(stream.tick(at: now, offset: offset, ports, &seen), session) }
        if let stream = session.buffered { hear(stream.tick(at: now, offset: offset, &seen), session) }
        if let limit = configuration.faults.closesAfterSeconds, let recordedAt = session.recordedAt,
            now - recordedAt > Int64(limit * 1e9)
        {
            session.recordedAt = nil
            dropConnections()
        }
    }

    private func hear(_ rendering: FrameRendering<Int32>, _ session: AirPlay2Session) {
        guard !session.isMute else { return }
        keep(rendering)
        for mark in rendering.marks {
            let fields: [String: JSONValue] = [
                "frame": .integer(mark.frame), "rtp": .integer(Int(mark.rtpTime)),
                "heard_ns": .integer(Int(mark.hostNanoseconds)),
            ]
            if !session.sounds { tell("sound", fields) }
            session.sounds = true
            seen.clockMarks.append(
                SimulatedRAOPRecord.ClockMark(
                    frame: mark.frame, rtpTime: mark.rtpTime, hostNanoseconds: mark.hostNanoseconds))
            tell("clock", fields)
        }
        if rendering.lostFrames > 0 { tell("lost", ["frames": .integer(rendering.lostFrames)]) }
    }

    // MARK: Buttons

    private func pressDueButtons(_ connection: Int) async {
        guard let session, session.connection == connection, let recordedAt = session.recordedAt else { return }
        let elapsed = Double(clock.now() - recordedAt) / 1e9
        let due = session.buttons.filter { $0.seconds <= elapsed }
        session.buttons.removeAll { $0.seconds <= elapsed }
        for timed in due { await press(timed.button) }
    }

    private func took(_ news: SimulatedEventChannel.News, of connection: Int) {
        switch news {
        case .connected:
            seen.eventConnections += 1
            tell("eventConnected")
        case .answered(let status, let repeatsSequence):
            seen.eventAnswers.append(.init(status: status, repeatsSequence: repeatsSequence))
            tell("eventAnswered", ["status": .integer(status)])
        case .disconnected: tell("eventDisconnected")
        }
    }
}
