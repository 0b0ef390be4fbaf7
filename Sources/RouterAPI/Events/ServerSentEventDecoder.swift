/// One event of a stream (WHATWG HTML, section 9.2).
public struct ServerSentEvent: Sendable, Hashable {
    /// `message` where the stream names none.
    public var name: String
    public var data: [UInt8]
    /// The last `id` that the stream has given, with this event or before.
    public var id: String?

    public init(name: String = "message", data: [UInt8], id: String? = nil) {
        self.name = name
        self.data = data
        self.id = id
    }
}

/// Bytes of a stream become events, however they are cut. A pure value.
public struct ServerSentEventDecoder: Sendable {
    /// An event was larger than `maximumBytes`: the stream cannot be gone on with.
    public struct TooLarge: Error, Equatable {}

    /// Of one event, with its field names: a snapshot with a queue of 100,000 items has about half of it.
    public static let maximumBytes = 128 << 20

    private let maximum: Int
    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var name = ""
    private var id: String?
    private var afterReturn = false
    private var isFirstLine = true

    public init(maximumBytes: Int = ServerSentEventDecoder.maximumBytes) { maximum = maximumBytes }

    /// The events that these bytes complete. Throws `TooLarge`.
    public mutating func push(_ bytes: some Sequence<UInt8>) throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            if afterReturn {
                afterReturn = false
                if byte == 0x0A { continue }
            }
            guard byte == 0x0A || byte == 0x0D else {
                guard line.count + data.count < maximum else { throw TooLarge() }
                line.append(byte)
                continue
            }
            afterReturn = byte == 0x0D
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    private mutating func endLine() -> ServerSentEvent? {
        defer { line.removeAll(keepingCapacity: line.count < 1 << 16) }
        if isFirstLine {
            isFirstLine = false
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
        }
        guard !line.isEmpty else { return dispatch() }
        // A comment: what keeps the connection alive.
        guard line[0] != UInt8(ascii: ":") else { return nil }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[min(colon + 1, line.endIndex)...]
        if value.first == 0x20 { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            if hasData { data.append(0x0A) }
            hasData = true
            data += value
        case "id":
            if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        default: break
        }
        return nil
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer {
            data = []
            hasData = false
            name = ""
        }
        guard hasData else { return nil }
        return ServerSentEvent(name: name.isEmpty ? "message" : name, data: data, id: id)
    }
}
