import AirPlay
import NIOCore
import NIOPosix
import RouteBackend

/// How a receiver tells a sender by DACP that somebody pressed a button on it: the sender is found by mDNS under the
/// number that it gave in its requests (`Protocols/dacp`).
struct SimulatedRemote: Sendable, Hashable {
    /// Of the header `DACP-ID`.
    var remoteID: String
    /// Of the header `Active-Remote`: the sender lets nobody else in.
    var token: String

    /// How far a press got.
    enum Outcome: Sendable, Hashable {
        /// The status of the answer.
        case answered(Int)
        /// Nobody announces himself under this number.
        case notAnnounced
        case unreachable

        /// Whether the sender did as it was told.
        var isTaken: Bool {
            if case .answered(let status) = self { return (200..<300).contains(status) }
            return false
        }
    }

    /// Nil where the request says neither.
    init?(_ request: RTSPRequest) {
        guard let id = request.headers["DACP-ID"], let token = request.headers["Active-Remote"] else { return nil }
        remoteID = id
        self.token = token
    }

    private static let type = "_dacp._tcp"
    private static let patience: Int64 = 3_000_000_000

    /// Asks for `path` under `/ctrl-int/1/`.
    func press(_ command: String, browser: any ServiceBrowsing, clock: any HostClock) async -> Outcome {
        guard let place = await find(browser, clock) else { return .notAnnounced }
        do {
            return .answered(try await ask(command, place.host, place.port))
        } catch {
            return .unreachable
        }
    }

    private func find(_ browser: any ServiceBrowsing, _ clock: any HostClock) async -> (host: String, port: Int)? {
        let name = "iTunes_Ctrl_\(remoteID)".lowercased()
        return await withTaskGroup(of: (host: String, port: Int)?.self) { group in
            group.addTask {
                for await event in browser.browse([Self.type]) {
                    guard case .resolved(let record) = event, record.key.name.lowercased() == name,
                        let host = record.addresses.first
                    else { continue }
                    return (host, record.port)
                }
                return nil
            }
            group.addTask {
                try? await clock.sleep(nanoseconds: Self.patience)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }

    private func ask(_ command: String, _ host: String, _ port: Int) async throws -> Int {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.nanoseconds(Self.patience))
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        var request = RTSPRequest(method: "GET", uri: "/ctrl-int/1/\(command)", version: .http11)
        request.headers["Host"] = "\(host):\(port)"
        request.headers["Active-Remote"] = token
        request.headers["Connection"] = "close"
        let bytes = request.encoded()
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: bytes))
            var buffer: [UInt8] = []
            for try await chunk in inbound {
                buffer.append(contentsOf: chunk.readableBytesView)
                if let (message, _) = try RTSPMessageDecoder().decode(buffer[...]), case .response(let answer) = message
                {
                    return answer.status
                }
            }
            throw ChannelError.eof
        }
    }
}
