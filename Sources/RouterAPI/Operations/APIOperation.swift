import RouteModel

/// One thing that can be asked of the daemon: a row of the route table, from which the server finds what is meant, the
/// client knows where to send it, and the document is made.
public struct APIOperation: Sendable {
    public struct Parameter: Sendable {
        public enum Place: String, Sendable { case path, query, header }

        public var name: String
        public var place: Place
        public var schema: JSONSchema
        public var required: Bool
        public var summary: String

        public init(
            _ name: String, _ place: Place, _ schema: JSONSchema, required: Bool = false, _ summary: String
        ) {
            self.name = name
            self.place = place
            self.schema = schema
            self.required = required || place == .path
            self.summary = summary
        }

        /// A name of 1 to 256 characters.
        public init(_ name: String, _ place: Place, _ summary: String) {
            self.init(name, place, .string(lengths: 1...256), summary)
        }
    }

    public typealias Payload = any (Codable & Sendable).Type

    public var id: OperationID
    public var method: String
    /// With names in braces for what varies.
    public var path: String
    public var summary: String
    public var parameters: [Parameter]
    /// Nil: no body is read.
    public var request: Payload?
    /// Nil: 204, or text of `contentType`.
    public var response: Payload?
    public var status: Int
    public var contentType: String
    /// Bytes of the body at most.
    public var bodyLimit: Int

    init(
        _ id: OperationID, _ method: String, _ path: String, _ summary: String, _ parameters: [Parameter] = [],
        takes request: Payload? = nil, gives response: Payload? = nil, status: Int? = nil,
        contentType: String = "application/json", bodyLimit: Int = 1 << 20
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.request = request
        self.response = response
        self.status = status ?? (response == nil && contentType == "application/json" ? 204 : 200)
        self.contentType = contentType
        self.bodyLimit = bodyLimit
    }

    /// The path with values in place of its names, percent-encoded.
    public func path(_ values: [String]) -> String {
        var values = values[...]
        return path.split(separator: "/", omittingEmptySubsequences: false).map { part in
            guard part.hasPrefix("{"), let value = values.popFirst() else { return String(part) }
            return RequestText.encoded(value)
        }.joined(separator: "/")
    }
}

/// The names of operations, as the document has them.
public enum OperationID: String, Sendable, Hashable, CaseIterable {
    case getCapabilities, getStatus, getDocument, getMetrics, getLogs, followEvents, getWork
    case listRoutes, forgetDevice, setDiscovery, listRooms, createRoom, replaceRoom, removeRoom
    case listGroups, saveGroup, removeGroup
    case explainPlay, play, listSessions, getSession, endSession, joinRooms, leaveRooms, performCommand
    case getQueue, editQueue, getQueueChanges, transfer
    case listSavedQueues, saveQueue, removeSavedQueue, listHistory, announce
    case listRejoinable, rejoin
    case startPairing, finishPairing, cancelPairing, listPairings, unpair
    case startScene, listSceneRuns, getSceneRun, cancelScene
    case listSchedules, saveSchedule, removeSchedule
}

/// Percent-encoding of one part of a path or query (RFC 3986, section 2.1).
public enum RequestText {
    public static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let scalar = Unicode.Scalar(byte)
            // A part that is all dots would be taken for a way up by who normalises paths.
            if scalar.properties.isASCIIHexDigit || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
                || "-_~".unicodeScalars.contains(scalar)
            {
                result.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }

    /// Nil for what is not well formed, or no UTF-8.
    public static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }
}
