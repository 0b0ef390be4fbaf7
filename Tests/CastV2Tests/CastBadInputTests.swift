import CastV2
import Logging
import RouterTestKit
import Testing

private let second: Int64 = 1_000_000_000

/// What no device should send: it changes nothing, breaks nothing and grows nothing.
@Suite(.timeLimit(.minutes(1))) struct CastBadInputTests {
    private static let namespaces = [
        CastNamespace.connection, CastNamespace.heartbeat, CastNamespace.receiver, CastNamespace.media,
        CastNamespace.multizone, CastNamespace.discovery, CastNamespace.setup, CastNamespace.deviceAuthentication,
        "urn:x-cast:com.example.custom",
    ]

    private static let malformed: [(name: String, payload: CastMessage.Payload)] = [
        ("nothing", .text("")),
        ("no JSON", .text("RECEIVER_STATUS")),
        ("half an object", .text(#"{"type":"RECEIVER_STATUS","requestId":1,"#)),
        ("a list", .text(#"[{"type":"CLOSE"}]"#)),
        ("a number", .text("1")),
        ("null", .text("null")),
        ("an object without a type", .text(#"{"requestId":1}"#)),
        ("a type that is null", .text(#"{"type":null,"requestId":1}"#)),
        ("a type that is an object", .text(#"{"type":{"type":"CLOSE"},"requestId":1}"#)),
        ("an unknown type", .text(#"{"type":"SOMETHING_NEW","requestId":1,"status":[1,2]}"#)),
        ("an id that is null", .text(#"{"type":"MEDIA_STATUS","requestId":null,"status":null}"#)),
        ("an id that is a list", .text(#"{"type":"RECEIVER_STATUS","requestId":[1],"status":7}"#)),
        ("a huge id", .text(#"{"type":"INVALID_REQUEST","requestId":1e300}"#)),
        ("an id beyond 64 bits", .text(#"{"type":"INVALID_REQUEST","requestId":99999999999999999999999}"#)),
        ("a negative id", .text(#"{"type":"INVALID_REQUEST","requestId":-1}"#)),
        ("nested deeply", .text(String(repeating: #"{"a":"#, count: 13_000))),
        ("nested lists", .text(String(repeating: "[", count: 60_000))),
        ("64 KiB of text", .text(String(repeating: "x", count: 65_000))),
        ("zeroes", .text("\u{0}\u{0}\u{0}")),
        ("binary", .binary([0, 1, 2, 255])),
        ("no bytes", .binary([])),
        ("64 KiB of bytes", .binary([UInt8](repeating: 0xff, count: 65_000))),
    ]

    /// A machine with one request of each kind in flight.
    private func machine() -> (CastChannelStateMachine, Set<CastRequestID>) {
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "t"), now: 0)
        _ = machine.opened(now: 0)
        let requests: [CastRequest] = [
            .receiver(.getStatus), .receiver(.launch(CastLaunch(appID: "A"))), .receiver(.stop(sessionID: "s")),
            .receiver(.setVolume(level: 1)), .receiver(.getAppAvailability(appIDs: ["A"])),
            .media(.getStatus, transport: "app", session: "s"),
            .media(.pause(mediaSessionID: 1), transport: "app", session: nil),
            .multizone(.getStatus), .multizone(.setVolume(deviceID: "d", level: 1)), .deviceInformation,
            .eurekaInformation,
        ]
        let ids = Set(requests.map { machine.request($0, now: 0).id })
        return (machine, ids)
    }

    @Test("C7 malformed messages end no request and close nothing", arguments: malformed.indices)
    func malformedMessages(index: Int) {
        let (name, payload) = Self.malformed[index]
        var (machine, ids) = machine()
        for namespace in Self.namespaces {
            for (source, destination) in [("receiver-0", "me"), ("app", "me"), ("app", "*"), ("", "")] {
                let message = CastMessage(
                    sourceID: source, destinationID: destination, namespace: namespace, payload: payload)
                for action in machine.received(message, now: 1) {
                    switch action {
                    case .deliver, .hand: break
                    default: Issue.record("\(name) in \(namespace): \(action)")
                    }
                }
            }
        }
        #expect(machine.pendingRequests == ids.count)
        #expect(machine.phase == .open)
    }

    @Test("C7 a reply that comes twice, and replies to ids that nobody gave, end nothing a second time")
    func repliesTwice() {
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "t"), now: 0)
        _ = machine.opened(now: 0)
        let (id, _) = machine.request(.receiver(.setVolume(level: 1)), now: 0)
        func answers(_ requestID: Int) -> Int {
            let message = CastMessage(
                sourceID: "receiver-0", destinationID: "me", namespace: CastNamespace.receiver,
                payload: .text(#"{"type":"RECEIVER_STATUS","requestId":\#(requestID),"status":{}}"#))
            return machine.received(message, now: 1).filter { if case .finish = $0 { true } else { false } }.count
        }
        #expect([id + 1, 0, -1, Int.max, Int.min].map(answers) == [0, 0, 0, 0, 0])
        #expect([id, id, id].map(answers) == [1, 0, 0])
    }

    @Test("C7 a status list with several entries, of which some are nonsense") func severalEntries() {
        let text = #"""
            {"type":"MEDIA_STATUS","requestId":"7","status":[null,{"mediaSessionId":"1","playerState":"idle","idleReason":
            "INTERRUPTED"},7,{"mediaSessionId":2,"playerState":"PLAYING","currentTime":null,"volume":null,"media":[]},[]]}
            """#
        let message = CastMessage(
            sourceID: "app", destinationID: "*", namespace: CastNamespace.media, payload: .text(text))
        guard case .mediaStatus(let updates, 7) = CastInbound(message) else {
            Issue.record("not read")
            return
        }
        var tracker = CastMediaTracker()
        tracker.apply(updates, now: 0)
        #expect(tracker.current?.mediaSessionID == 2)
        #expect(tracker[1]?.hasEnded == true)
    }

    @Test("C7 no more requests in flight than the limit, and room again when one has ended") func requestLimit() {
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "t"), now: 0)
        _ = machine.opened(now: 0)
        for _ in 0..<CastLimits.requestsInFlight { _ = machine.request(.deviceInformation, now: 0) }
        let (id, actions) = machine.request(.deviceInformation, now: 0)
        #expect(actions == [.finish(id, .failed(.tooManyRequests))])
        #expect(machine.pendingRequests == CastLimits.requestsInFlight)
        _ = machine.timePassed(now: 8 * second)
        #expect(machine.pendingRequests == 0)
        #expect(machine.request(.deviceInformation, now: 9 * second).actions.count == 1)
    }

    // MARK: Closing in every state

    enum Moment: String, CaseIterable, Sendable {
        case opening, launching, joining, loading, playing, stopping, listening
    }

    @Test("C5 a device that closes leaves nothing behind, whenever it does", arguments: Moment.allCases, [true, false])
    func closes(moment: Moment, politely: Bool) async throws {
        let word: [Moment: String] = [
            .opening: "GET_STATUS", .launching: "LAUNCH", .joining: "CONNECT>app", .loading: "LOAD", .playing: "PAUSE",
            .stopping: "STOP", .listening: "?",
        ]
        let device = try await ScriptedCastDevice(
            app: moment == .launching ? nil : .init(namespaces: ["urn:x-cast:a"])
        ) { message, json, device in
            let type = json["type"].string ?? "?"
            guard [type, "\(type)>\(message.destinationID)"].contains(word[moment] ?? "") else { return false }
            if politely { device.close("receiver-0", reason: 1) } else { device.hangUp() }
            return true
        }
        let clock = ManualClock()
        let session: CastSession
        do {
            session = try await CastSession.connect(device, clock: clock)
        } catch CastConnectionError.closedByPeer where moment == .opening && !politely {
            // It hung up before the connection was said to be open.
            #expect(clock.sleepers == 0)
            await device.stop()
            return
        }
        // A device that closes at once may be gone before this.
        let channel = try? await session.channel("urn:x-cast:a")
        #expect(channel != nil || moment == .opening)
        var failures: [CastRequestResult] = []
        do {
            _ = try await session.launchOrJoin(appID: "CC1AD845")
            let media = CastMediaInformation(contentID: "u", contentType: "audio/mp4")
            if moment == .loading {
                failures.append(await session.media(.load(CastLoad(media: media))).result())
            }
            if moment == .playing { failures.append(await session.media(.pause(mediaSessionID: 1)).result()) }
            if moment == .stopping { failures.append(await session.stopApp()) }
            if moment == .listening { try await channel?.send(text: "?") }
        } catch let failure as CastRequestFailure {
            failures.append(.failed(failure))
        }
        // Joining waits for no answer, listening for none either: the end comes by itself.
        if ![.joining, .listening].contains(moment) {
            #expect(failures == [.failed(.connectionLost(.closedByPeer))])
        }
        if let channel { for await _ in channel.events {} }
        var last: CastSessionState?
        for await state in await session.states() { last = state }
        #expect(last?.end == .deviceClosed(politely ? .transportClosed : nil))
        #expect(await session.requestsInFlight == 0)
        await session.end(stopApp: true)
        #expect(clock.sleepers == 0)
        await device.stop()
    }

    @Test("C5 a TCP port that closes, and TLS that breaks off, leave nothing behind", arguments: [true, false])
    func closesWhileConnecting(atOnce: Bool) async throws {
        let server = try await ScriptedReceiver(tls: false) { bytes, reply in
            if bytes.isEmpty == atOnce { reply.close() }
        }
        let clock = ManualClock()
        await #expect(throws: CastConnectionError.closedByPeer) {
            try await CastSession.connect(
                CastSession.Configuration(host: "127.0.0.1", port: server.port), clock: CastClock(clock),
                logger: Logger(label: "test"))
        }
        #expect(clock.sleepers == 0)
        await server.stop()
    }

    @Test("C7 malformed messages on the wire, and then an ordinary one, on one connection") func onTheWire()
        async throws
    {
        let device = try await ScriptedCastDevice(app: .init())
        let session = try await CastSession.connect(device)
        _ = try await session.launchOrJoin(appID: "CC1AD845")
        for namespace in Self.namespaces {
            for (_, payload) in Self.malformed {
                device.push(
                    CastMessage(sourceID: "app", destinationID: "me", namespace: namespace, payload: payload))
            }
        }
        guard case .completed(.mediaStatus) = await session.media(.getStatus).result() else {
            Issue.record("no answer any more")
            return
        }
        #expect(await session.current.connection == .open)
        await session.end(stopApp: false)
        await device.stop()
    }
}

/// Random input of a seed that is printed, over what is pure.
@Suite struct CastFuzzTests {
    /// SplitMix64, so that a seed gives the same run everywhere.
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    @Test(
        "frames that were tampered with: an error or a message, in any lumps, and never more kept than a frame",
        arguments: 1...20)
    func decoder(seed: UInt64) throws {
        var random = Random(state: seed)
        var bytes: [UInt8] = []
        for index in 0..<30 {
            bytes += try CastFraming.encode(
                CastMessage(
                    sourceID: "s\(index)", destinationID: "*", namespace: CastNamespace.media,
                    payload: index % 3 == 0
                        ? .binary((0..<Int.random(in: 0...2000, using: &random)).map { UInt8(truncatingIfNeeded: $0) })
                        : .text(#"{"type":"MEDIA_STATUS","status":[]}"#)))
        }
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        func run(_ lump: (inout Random) -> Int) -> ([CastMessage], CastFramingError?) {
            var decoder = CastFrameDecoder()
            var messages: [CastMessage] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let lump = rest.prefix(lump(&random))
                rest = rest.dropFirst(lump.count)
                decoder.append(lump)
                do throws(CastFramingError) {
                    while let message = try decoder.next() { messages.append(message) }
                } catch { return (messages, error) }
                #expect(decoder.bufferedBytes < CastFraming.maximumBody + CastFraming.prefixLength)
            }
            return (messages, nil)
        }
        let whole = run { _ in bytes.count }
        let drips = run { _ in 1 }
        let lumps = run { Int.random(in: 1...700, using: &$0) }
        #expect(whole.0 == drips.0 && whole.0 == lumps.0)
        #expect(whole.1 == drips.1 && whole.1 == lumps.1)
    }

    @Test("any order of events: each request ends once, nothing is left over, nothing grows", arguments: 1...30)
    func machine(seed: UInt64) {
        var random = Random(state: seed &* 7919)
        var machine = CastChannelStateMachine(sourceID: "me", sender: CastSender(userAgent: "t"), now: 0)
        var now: Int64 = 0
        var open: Set<CastRequestID> = []
        var disconnects = 0
        func take(_ actions: [CastChannelStateMachine.Action]) {
            for action in actions {
                switch action {
                case .finish(let id, _):
                    let removed = open.remove(id)
                    #expect(removed != nil, "request \(id) ended twice, seed \(seed)")
                case .disconnect: disconnects += 1
                case .send(let message): #expect(throws: Never.self) { try CastFraming.check(message) }
                case .deliver, .hand, .launchNeedsConsent: break
                }
            }
        }
        for _ in 0..<400 {
            now += Int64.random(in: 0...second / 4, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<35:
                let (id, actions) = machine.request(request(&random), now: now)
                open.insert(id)
                take(actions)
            case 35..<85: take(machine.received(message(&random), now: now))
            case 85..<90: take(machine.timePassed(now: now))
            case 90: take(machine.opened(now: now))
            case 91..<93: take(machine.connect(to: ["app", "", "x"].randomElement(using: &random) ?? "", now: now))
            case 93..<95: take(machine.disconnect(from: "app", now: now))
            case 95..<97: take(machine.cancel(Int.random(in: 0...40, using: &random)))
            case 97: take(machine.appVanished("app"))
            case 98: take((try? machine.say(.text("x"), in: "urn:x-cast:c", to: "app", now: now)) ?? [])
            default: if Int.random(in: 0..<20, using: &random) == 0 { take(machine.transportClosed(.network("x"))) }
            }
            #expect(machine.pendingRequests == open.count)
            #expect(machine.pendingRequests <= CastLimits.requestsInFlight)
            if case .closed = machine.phase {
                #expect(machine.nextDeadline == nil && open.isEmpty)
            } else {
                #expect(machine.nextDeadline != nil || machine.phase == .opening)
            }
        }
        take(machine.end(now: now))
        #expect(open.isEmpty)
        #expect(disconnects == 1)
    }

    private func request(_ random: inout Random) -> CastRequest {
        let media = CastMediaInformation(contentID: "u", contentType: "audio/mp4")
        let requests: [CastRequest] = [
            .receiver(.getStatus), .receiver(.launch(CastLaunch(appID: "A"))), .receiver(.stop(sessionID: "s")),
            .receiver(.stop(sessionID: nil)), .receiver(.setVolume(level: .random(in: -1...2, using: &random))),
            .receiver(.setMuted(true)), .receiver(.getAppAvailability(appIDs: ["A"])), .multizone(.getStatus),
            .multizone(.setVolume(deviceID: "d", level: 0.5)), .multizone(.setMuted(deviceID: "d", true)),
            .deviceInformation, .eurekaInformation, .media(.getStatus, transport: "app", session: "s"),
            .media(.load(CastLoad(media: media)), transport: "app", session: "s"),
            .media(.pause(mediaSessionID: 1), transport: "", session: nil),
            .media(.seek(mediaSessionID: 1, position: 1, resume: nil), transport: "other", session: nil),
        ]
        return requests.randomElement(using: &random) ?? .deviceInformation
    }

    private func message(_ random: inout Random) -> CastMessage {
        let types = [
            "RECEIVER_STATUS", "MEDIA_STATUS", "LAUNCH_STATUS", "LAUNCH_ERROR", "LOAD_FAILED", "LOAD_CANCELLED",
            "INVALID_REQUEST", "INVALID_PLAYER_STATE", "ERROR", "MULTIZONE_STATUS", "DEVICE_UPDATED", "CLOSE",
            "CONNECTED", "PING", "PONG", "GET_DEVICE_INFO", "eureka_info", "QUEUE_CHANGE", "", "DEVICE_REMOVED",
        ]
        let statuses = [
            "null", "[]", "{}", #""USER_ALLOWED""#, #""USER_NOT_ALLOWED""#, #""USER_PENDING_AUTHORIZATION""#,
            #"{"applications":[{"appId":"A","sessionId":"s","transportId":"app"}]}"#, #"{"applications":null}"#,
            #"[{"mediaSessionId":1,"playerState":"IDLE","idleReason":"ERROR"}]"#, #"{"devices":[{"deviceId":"d"}]}"#,
        ]
        let id = Int.random(in: -1...60, using: &random)
        let type = types.randomElement(using: &random) ?? ""
        let status = statuses.randomElement(using: &random) ?? ""
        let number = Bool.random(using: &random) ? "\(id)" : "\"\(id)\""
        let text =
            #"{"type":"\#(type)","requestId":\#(number),"request_id":\#(id),"launchRequestId":\#(id),"reasonCode":\#(id),"status":\#(status),"device":{"deviceId":"d","volume":{"level":0.5,"muted":true}},"reason":"R"}"#
        let namespaces = [
            CastNamespace.connection, CastNamespace.heartbeat, CastNamespace.receiver, CastNamespace.receiver,
            CastNamespace.media, CastNamespace.media, CastNamespace.multizone, CastNamespace.discovery,
            CastNamespace.setup, CastNamespace.deviceAuthentication, "urn:x-cast:c", "",
        ]
        // The platform's own CLOSE ends it all, and would do so in no time.
        let isClose = type == "CLOSE" && Int.random(in: 0..<20, using: &random) > 0
        return CastMessage(
            sourceID: isClose ? "app" : ["receiver-0", "app", "other", ""].randomElement(using: &random) ?? "",
            destinationID: ["me", "me", "*", "you", ""].randomElement(using: &random) ?? "",
            namespace: namespaces.randomElement(using: &random) ?? "",
            payload: Int.random(in: 0..<10, using: &random) == 0 ? .binary(Array(text.utf8)) : .text(text))
    }
}
