/// What a receiver takes of an offer, and where: the body of ANSWER (`Protocols/cast` section 12).
public struct CastAnswer: Sendable, Hashable {
    /// UDP, for RTP and RTCP of all streams.
    public var port: Int
    /// Of the offer's streams, those that are taken.
    public var indexes: [Int]
    /// The receiver's own for each of these streams, in the same order.
    public var ssrcs: [UInt32]
    /// `audio` and `video`, each with `maxBitRate`, `maxDelay`…: null where nothing is said.
    public var constraints: CastJSON
    /// What the device shows pictures on.
    public var display: CastJSON
    /// Every other field: `receiverRtcpEventLog`, `receiverRtcpDscp`, `rtpExtensions`…
    public var more: [String: CastJSON]

    public init(
        port: Int, indexes: [Int], ssrcs: [UInt32], constraints: CastJSON = .null, display: CastJSON = .null,
        more: [String: CastJSON] = [:]
    ) {
        self.port = port
        self.indexes = indexes
        self.ssrcs = ssrcs
        self.constraints = constraints
        self.display = display
        self.more = more
    }

    private static let known: Set<String> = ["udpPort", "sendIndexes", "ssrcs", "constraints", "display"]

    public init(json: CastJSON) throws(CastAnswerError) {
        guard let port = json["udpPort"].int, (1...65535).contains(port) else { throw .port }
        let indexes = json["sendIndexes"].elements.prefix(CastOffer.maximumStreams).compactMap(\.int)
        let ssrcs = json["ssrcs"].elements.prefix(CastOffer.maximumStreams).compactMap {
            $0.int.flatMap(UInt32.init(exactly:))
        }
        guard !indexes.isEmpty, Set(indexes).count == indexes.count else { throw .streams }
        guard ssrcs.count == indexes.count else { throw .ssrcs }
        self.init(
            port: port, indexes: indexes, ssrcs: ssrcs, constraints: json["constraints"], display: json["display"],
            more: (json.object ?? [:]).filter { !Self.known.contains($0.key) })
    }

    public var json: CastJSON {
        var object = more
        object["udpPort"] = .number(Double(port))
        object["sendIndexes"] = .array(indexes.map { .number(Double($0)) })
        object["ssrcs"] = .array(ssrcs.map { .number(Double($0)) })
        if !constraints.isNull { object["constraints"] = constraints }
        if !display.isNull { object["display"] = display }
        return .object(object)
    }

    /// The receiver's SSRC for a stream of the offer; nil where it is not taken.
    public func ssrc(index: Int) -> UInt32? {
        indexes.firstIndex(of: index).flatMap { ssrcs.indices.contains($0) ? ssrcs[$0] : nil }
    }
}

/// Why there is no answer to go by.
public enum CastAnswerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No port, or none from 1 to 65,535.
    case port
    /// No stream taken, or one twice.
    case streams
    /// Not one SSRC for each stream.
    case ssrcs
    /// The receiver says no.
    case refused(code: Int?, description: String?)

    public var description: String {
        switch self {
        case .port: "its ANSWER names no UDP port"
        case .streams: "its ANSWER takes no stream"
        case .ssrcs: "its ANSWER has not one SSRC for each stream"
        case .refused(let code, let description):
            "it refused the OFFER"
                + [code.map { " (code \($0))" }, description.map { ": \($0)" }].compactMap { $0 }.joined()
        }
    }
}
