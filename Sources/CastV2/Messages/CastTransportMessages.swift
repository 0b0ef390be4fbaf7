/// Messages of `tp.connection` and `tp.heartbeat` (`Protocols/cast` sections 3 and 4).
public enum CastTransportMessage: Sendable, Hashable {
    /// Opens the virtual connection from source to destination; everything else on that pair comes after it.
    case connect(CastSender, CastConnectionType)
    case close(CastCloseReason?)
    case ping
    case pong

    public var namespace: String {
        switch self {
        case .connect, .close: CastNamespace.connection
        case .ping, .pong: CastNamespace.heartbeat
        }
    }

    public var json: CastJSON {
        switch self {
        case .connect(let sender, let type): sender.connect(type)
        case .close(nil): ["type": "CLOSE"]
        case .close(let reason?): ["type": "CLOSE", "reasonCode": .number(Double(reason.rawValue))]
        case .ping: ["type": "PING"]
        case .pong: ["type": "PONG"]
        }
    }

    public func message(from source: String, to destination: String) -> CastMessage {
        let text =
            switch self {
            // Not made anew each time: on a connection where nothing happens, nothing else is sent.
            case .ping: #"{"type":"PING"}"#
            case .pong: #"{"type":"PONG"}"#
            case .connect, .close: json.text
            }
        return CastMessage(
            sourceID: source, destinationID: destination, namespace: namespace, payload: .text(text))
    }
}

/// How much a virtual connection counts (`Protocols/cast` section 3).
public enum CastConnectionType: Int, Sendable, Hashable, CaseIterable {
    /// The app lives at least as long as this connection.
    case strong = 0
    /// The app may leave when only weak connections are left.
    case weak
    /// The app is not told of this sender.
    case invisible
}

/// Why a virtual connection was closed, as the one who closed it says (`Protocols/cast` section 3).
public enum CastCloseReason: Int, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    case unknown = 0
    /// The transport below is going away.
    case transportClosed
    case aborted
    /// We sent something that cannot be.
    case invalidMessage
    /// Nothing was said for too long.
    case idle
    /// By the end that sends the CLOSE.
    case closedBySelf
    /// By the end that gets it.
    case closedByPeer

    public var description: String {
        switch self {
        case .unknown: "it gave no reason"
        case .transportClosed: "its transport closed"
        case .aborted: "it was aborted"
        case .invalidMessage: "it got a message that it did not take"
        case .idle: "nothing was said for too long"
        case .closedBySelf: "it closed by itself"
        case .closedByPeer: "it says that we closed it"
        }
    }
}

/// Who a sender is, as CONNECT tells (`Protocols/cast` section 3).
public struct CastSender: Sendable, Hashable {
    /// How it calls itself.
    public var userAgent: String
    /// What it says of itself beside the name, `senderInfo`; nil says nothing, which every device takes.
    public var information: Information?
    /// The versions of the virtual connection's protocol that it offers, 0 to 3. With none, the device tells none.
    public var protocolVersions: [Int]

    /// Fields of `senderInfo`; the numbers are Google's own and not explained anywhere.
    public struct Information: Sendable, Hashable {
        public var sdkType: Int?
        public var version: String?
        public var browserVersion: String?
        public var platform: Int?
        public var systemVersion: String?
        public var connectionType: Int?

        public init(
            sdkType: Int? = nil, version: String? = nil, browserVersion: String? = nil, platform: Int? = nil,
            systemVersion: String? = nil, connectionType: Int? = nil
        ) {
            self.sdkType = sdkType
            self.version = version
            self.browserVersion = browserVersion
            self.platform = platform
            self.systemVersion = systemVersion
            self.connectionType = connectionType
        }

        var json: CastJSON {
            var fields: [String: CastJSON] = [:]
            fields.put("sdkType", sdkType)
            fields.put("version", version)
            fields.put("browserVersion", browserVersion)
            fields.put("platform", platform)
            fields.put("systemVersion", systemVersion)
            fields.put("connectionType", connectionType)
            return .object(fields)
        }
    }

    public init(userAgent: String, information: Information? = nil, protocolVersions: [Int] = []) {
        self.userAgent = userAgent
        self.information = information
        self.protocolVersions = protocolVersions
    }

    func connect(_ type: CastConnectionType) -> CastJSON {
        var fields: [String: CastJSON] = [
            "type": "CONNECT", "origin": [:], "userAgent": .string(userAgent),
        ]
        // Strong is what a missing one means; the shortest CONNECT is the one that every device was tried with.
        if type != .strong { fields["connType"] = .number(Double(type.rawValue)) }
        fields.put("senderInfo", information?.json)
        if let highest = protocolVersions.max() {
            fields["protocolVersion"] = .number(Double(highest))
            fields["protocolVersionList"] = .array(protocolVersions.map { .number(Double($0)) })
        }
        return .object(fields)
    }
}
